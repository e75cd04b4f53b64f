"""A simulated network of peers: virtual time, seeded loss, doubles, delays (and so reordering), outages, partitions.

    network = Network(seed=1, faults=Faults(loss=0.1));  network.add(...);  network.run(until)

The peers are the same as on TCP (peer.py). The law: the same seed gives the same run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random
from typing import Any

from nilometer.overlay.delivery import Packet
from nilometer.overlay.peer import Peer, Settings
from nilometer.overlay.ring import Contact
from nilometer.types import MILLISECOND, SECOND

Event = Callable[[], Any]


@dataclass(frozen=True)
class Faults:
    """What the network does to packets. Delays are in microseconds."""

    loss: float = 0.0
    doubles: float = 0.0
    delay: tuple[int, int] = (1 * MILLISECOND, 20 * MILLISECOND)


class Network:
    """Peers by name, and the packets between them."""

    def __init__(self, seed: int = 0, faults: Faults | None = None, tick: int = SECOND // 4) -> None:
        self.now = 0
        self.random = Random(seed)
        self.faults = faults or Faults()
        self.peers: dict[str, Peer] = {}
        self.packets = self.dropped = 0
        self._tick = tick
        self._events: list[tuple[int, int, Event]] = []
        self._numbers = 0
        self._sides: dict[str, int] = {}

    def add(
        self, me: Contact, settings: Settings | None = None, *, via: str | None = None, **parts: Any
    ) -> Peer:
        """A new peer, or one that begins anew; it joins through another, or is the first."""
        peer = Peer(me, self.now + 1, settings, **parts)
        self.peers[me.address] = peer
        if via is None:
            peer.begin()
        else:
            peer.join(self.peers[via].me)
        self._let_tick(peer)
        self._carry(peer)
        return peer

    def settled(self, contacts: list[Contact], settings: Settings | None = None, **parts: Any) -> list[Peer]:
        """A ring of peers that has stabilised."""
        peers = []
        for me in contacts:
            peer = Peer(me, 1, settings, **parts)
            peer.chord.settle(contacts)
            peer.notices.pulled = True
            self.peers[me.address] = peer
            self._let_tick(peer)
            peers.append(peer)
        return peers

    def crash(self, address: str) -> None:
        """A peer ends without a word."""
        del self.peers[address]

    def part(self, addresses: list[str]) -> None:
        """Cut these peers off from the others."""
        self._sides = dict.fromkeys(addresses, 1)

    def heal(self) -> None:
        """All peers reach all others again."""
        self._sides = {}

    def at(self, moment: int, event: Event) -> None:
        """Do something at a moment."""
        self._numbers += 1
        heappush(self._events, (moment, self._numbers, event))

    def run(self, until: int) -> None:
        """Let time pass."""
        while self._events and self._events[0][0] <= until:
            self.now, _, event = heappop(self._events)
            event()
        self.now = until

    def carry(self) -> None:
        """Take up what peers have to send after calls from outside."""
        for peer in list(self.peers.values()):
            self._carry(peer)

    def _let_tick(self, peer: Peer) -> None:
        def tick() -> None:
            if self.peers.get(peer.me.address) is peer:
                peer.tick(self.now)
                self._carry(peer)
                self.at(self.now + self._tick, tick)

        self.at(self.now + self.random.randrange(self._tick), tick)

    def _carry(self, peer: Peer) -> None:
        for receiver, packet in peer.take():
            self.packets += 1
            if self.random.random() < self.faults.loss:
                self.dropped += 1
                continue
            self._fly(receiver, packet)
            if self.random.random() < self.faults.doubles:
                self._fly(receiver, packet)

    def _fly(self, receiver: Contact, packet: Packet) -> None:
        def arrive() -> None:
            peer = self.peers.get(receiver.address)
            apart = self._sides.get(receiver.address, 0) != self._sides.get(packet.sender.address, 0)
            if peer is not None and not apart:
                peer.receive(self.now, packet)
                self._carry(peer)

        low, high = self.faults.delay
        self.at(self.now + self.random.randint(low, high), arrive)
