"""Delivery between peers: each message once and in order, or the news that the other has failed or begun anew.

    send -> [session, sequence] -> the wire (may lose, double, delay, reorder) -> received -> in order

A sender numbers the messages to a receiver and sends each again until it is acknowledged; at most 64 are under way, as
in `log/producers.py`. A receiver keeps what came early, drops what it has, and says which life it lives (`incarnation`).
The laws: a receiver sees the messages of one session in order, without gaps and doubles. A sender learns of every
message that was not acknowledged when the other failed, or was acknowledged by an earlier life of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from nilometer.overlay.messages import Message
from nilometer.overlay.ring import Contact
from nilometer.types import SECOND

WINDOW = 64
"""The most messages under way to one receiver."""


@dataclass(frozen=True)
class Packet:
    """A message on the wire; without one, it only acknowledges. `acknowledges` is (session, all sequences below this
    have come); `incarnation` is the life of the sender."""

    sender: Contact
    incarnation: int
    session: int
    sequence: int
    message: Message | None
    acknowledges: tuple[int, int] | None = None


@dataclass(frozen=True)
class Patience:
    """How long a message waits before it is sent again, and how often that is."""

    again: int = SECOND // 2
    times: int = 6


@dataclass
class _Outgoing:
    peer: Contact
    session: int
    following: int = 1
    waiting: deque[Message] = field(default_factory=deque)
    flying: dict[int, tuple[Message, int, int]] = field(default_factory=dict)
    life: int | None = None


@dataclass
class _Incoming:
    incarnation: int
    session: int
    expected: int = 1
    early: dict[int, Message] = field(default_factory=dict)


class Delivery:
    """The channels of one peer. `packets` are to be sent, `failures` to be told."""

    def __init__(self, me: Contact, incarnation: int, patience: Patience | None = None) -> None:
        self.me, self.incarnation = me, incarnation
        self.patience = patience or Patience()
        self.packets: list[tuple[Contact, Packet]] = []
        self.failures: list[tuple[Contact, list[Message]]] = []
        self.sent = self.again = self.doubles = 0
        self._sessions = 0
        self._out: dict[str, _Outgoing] = {}
        self._in: dict[str, _Incoming] = {}
        self._now = 0

    def send(self, now: int, peer: Contact, message: Message) -> None:
        """Deliver a message."""
        self._now = max(now, self._now)
        channel = self._out.get(peer.address)
        if channel is None:
            self._sessions += 1
            channel = self._out[peer.address] = _Outgoing(peer, self._sessions)
        channel.waiting.append(message)
        self._fill(channel)

    def received(self, now: int, packet: Packet) -> list[Message]:
        """A packet has come; returns the messages that are due."""
        self._now = max(now, self._now)
        sender = packet.sender
        known = self._in.get(sender.address)
        if known is not None and packet.incarnation < known.incarnation:
            self.doubles += 1
            return []  # a ghost of an earlier life
        if packet.acknowledges is not None:
            self._acknowledged(sender, packet)
        if packet.message is None:
            return []
        life = (packet.incarnation, packet.session)
        if known is None or life > (known.incarnation, known.session):
            known = self._in[sender.address] = _Incoming(*life)
        elif life < (known.incarnation, known.session):
            self.doubles += 1
            return []
        due: list[Message] = []
        if packet.sequence < known.expected or packet.sequence in known.early:
            self.doubles += 1
        elif packet.sequence < known.expected + 2 * WINDOW:
            known.early[packet.sequence] = packet.message
            while known.expected in known.early:
                due.append(known.early.pop(known.expected))
                known.expected += 1
        self._emit(sender, Packet(self.me, self.incarnation, 0, 0, None, (known.session, known.expected)))
        return due

    def tick(self, now: int) -> None:
        """Send again what was not acknowledged; give up on those who never answer."""
        self._now = max(now, self._now)
        for channel in list(self._out.values()):
            late = [
                (sequence, flying)
                for sequence, flying in channel.flying.items()
                if self._now - flying[1] >= self.patience.again
            ]
            if any(flying[2] >= self.patience.times for _, flying in late):
                self.give_up(channel.peer)
                continue
            for sequence, (message, _, tries) in late:
                self.again += 1
                channel.flying[sequence] = (message, self._now, tries + 1)
                self._emit(channel.peer, self._packet(channel, sequence, message))

    def give_up(self, peer: Contact) -> None:
        """The peer has failed: its channel ends, and all that it has not acknowledged is returned."""
        channel = self._out.pop(peer.address, None)
        if channel is not None:
            left = [flying[0] for _, flying in sorted(channel.flying.items())]
            self.failures.append((peer, [*left, *channel.waiting]))

    @property
    def under_way(self) -> int:
        """How many messages are not yet acknowledged."""
        return sum(len(channel.flying) + len(channel.waiting) for channel in self._out.values())

    def unacknowledged(self) -> Iterator[Message]:
        """The messages that their receivers may not have."""
        for channel in self._out.values():
            for message, _, _ in channel.flying.values():
                yield message
            yield from channel.waiting

    def _acknowledged(self, sender: Contact, packet: Packet) -> None:
        channel = self._out.get(sender.address)
        if channel is None or packet.acknowledges is None:
            return
        session, expected = packet.acknowledges
        if channel.life is not None and packet.incarnation > channel.life:
            self.give_up(sender)  # what an earlier life acknowledged is gone with it
            return
        if session != channel.session:
            return
        channel.life = packet.incarnation
        for sequence in [one for one in channel.flying if one < expected]:
            del channel.flying[sequence]
        self._fill(channel)

    def _fill(self, channel: _Outgoing) -> None:
        while channel.waiting and len(channel.flying) < WINDOW:
            message = channel.waiting.popleft()
            sequence, channel.following = channel.following, channel.following + 1
            channel.flying[sequence] = (message, self._now, 1)
            self.sent += 1
            self._emit(channel.peer, self._packet(channel, sequence, message))

    def _packet(self, channel: _Outgoing, sequence: int, message: Message) -> Packet:
        return Packet(self.me, self.incarnation, channel.session, sequence, message)

    def _emit(self, peer: Contact, packet: Packet) -> None:
        self.packets.append((peer, packet))
