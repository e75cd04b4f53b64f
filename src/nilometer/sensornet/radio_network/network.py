"""Carries messages to their targets in virtual time, and tells every meter what they took.

Every message arrives, unless `Losses` are given or a node on its way is dead; who sent a message that is lost is
told, for the books, and nobody in the network is. A node has one radio, which sends one message at a time, in the
order in which it got them. So the delay of a message is the time of its packets over its route plus the time it waits for messages
before it. Delay grows with load, and without bound where a radio gets more than it can send. Nodes do not
wait for each other's radios: there are no collisions and no shared channel.

Meters see the path node by node, so that energy can be charged to those who sent and received. If nodes leave
the network, `Topology.without` gives the new topology, and `reroute` replaces the old one; `kill` does both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from nilometer.sensornet.events import Events
from nilometer.sensornet.radio_network.radio import Radio
from nilometer.sensornet.radio_network.routing import Routes, find_routes
from nilometer.sensornet.topology import Topology

Payload = TypeVar("Payload")
Content = TypeVar("Content", covariant=True)


@dataclass(frozen=True, slots=True)
class Message(Generic[Content]):
    """A message from one node to another. `kind` is the category under which it is counted, `size` its bytes
    without packet headers."""

    source: int
    target: int
    kind: str
    size: int
    payload: Content


@dataclass(frozen=True, slots=True)
class Trip:
    """A message that arrived, or was lost: the nodes it passed, the transmissions of one packet over each link, the
    time it took, and the part of that time for which it waited for radios. Without losses, transmissions are the
    expected ones. The last node of a message that was lost did not get it."""

    message: Message[object]
    path: tuple[int, ...]
    links: tuple[float, ...]
    delay: int
    waited: int = 0
    arrived: bool = True

    @property
    def hops(self) -> int:
        """The number of links it passes."""
        return len(self.links)

    @property
    def transmissions(self) -> float:
        """The transmissions of one packet over all links."""
        return sum(self.links)


class Losses:
    """Links that lose packets by their quality. A packet is sent again, up to `retries` times, until it is
    acknowledged; without retries there are no acknowledgements."""

    def __init__(self, retries: int, seed: int) -> None:
        self.retries = retries
        self._random = np.random.default_rng((seed, 7))

    def sent(self, packets: int, forward: float, backward: float) -> tuple[int, bool]:
        """How often packets are sent over a link with these qualities, and whether all of them arrive."""
        sendings, every = 0, True
        for _ in range(packets):
            arrived = False
            for _ in range(self.retries + 1):
                sendings += 1
                heard = self._random.random() < forward
                arrived = arrived or heard
                if heard and self._random.random() < backward:
                    break
            every = every and arrived
        return sendings, every

    def arrives(self, forward: float) -> float:
        """The probability that a packet arrives over a link."""
        return 1.0 - (1.0 - forward) ** (self.retries + 1)


class Meter(Protocol):
    """Is told every message once it has arrived."""

    def carried(self, trip: Trip) -> None:
        """Record a message."""


@dataclass(frozen=True, slots=True)
class _Sending:
    """A message that waits for a radio: `begin` gives the time on the air, then `sent` or, if it is not sent, `dropped`
    is called."""

    begin: Callable[[], int]
    sent: Callable[[], None]
    dropped: Callable[[], None]


class Network:
    """The nodes' radios and the routes between them. `dead` are the nodes that send and hear nothing any more."""

    def __init__(
        self,
        topology: Topology,
        radio: Radio,
        events: Events,
        meters: tuple[Meter, ...] = (),
        losses: Losses | None = None,
    ) -> None:
        self.topology = topology
        self.radio = radio
        self.events = events
        self.meters = meters
        self.losses = losses
        self.dead: set[int] = set()
        self._routes: dict[int, Routes] = {}
        self._paths: dict[tuple[int, int], tuple[int, ...]] = {}
        self._links: dict[tuple[int, int], tuple[float, ...]] = {}
        self._busy = [False] * topology.nodes
        self._waiting: list[list[_Sending]] = [[] for _ in range(topology.nodes)]

    def routes(self, source: int) -> Routes:
        """The routes from a node, computed on first use."""
        found = self._routes.get(source)
        if found is None:
            found = self._routes[source] = find_routes(self.topology, source)
        return found

    def path(self, source: int, target: int) -> tuple[int, ...]:
        """The nodes that a message passes, both ends included."""
        found = self._paths.get((source, target))
        if found is None:
            found = self._paths[source, target] = self.routes(source).path(target)
        return found

    def links(self, source: int, target: int) -> tuple[float, ...]:
        """The expected transmissions of each link of that path."""
        found = self._links.get((source, target))
        if found is None:
            total = self.routes(source).transmissions[list(self.path(source, target))]
            found = self._links[source, target] = tuple(np.diff(total).tolist())
        return found

    def delay(self, source: int, target: int, size: int) -> int:
        """The time that a message of that size takes if no radio is busy."""
        links = self.links(source, target)
        return sum(self.radio.airtime(size, link) + self.radio.latency for link in links)

    def send(
        self,
        message: Message[Payload],
        receive: Callable[[Payload], None],
        lost: Callable[[Payload], None] | None = None,
    ) -> None:
        """Hand the payload to the receiver when the message has arrived, or to `lost` when it is lost. A message to
        the sender itself arrives at once and costs nothing."""
        if message.source == message.target:
            self.events.after(0, lambda: receive(message.payload))
            return
        if not self.routes(message.source).reaches(message.target) and self.dead:
            self._told(Trip(message, (message.source,), (), 0, arrived=False), message.payload, lost)
            return
        path, expected = (
            self.path(message.source, message.target),
            self.links(message.source, message.target),
        )
        sent_at, waited, passed = self.events.now, 0, list[float]()

        def gone(place: int) -> None:
            trip = Trip(
                message, path[: place + 1], tuple(passed), self.events.now - sent_at, waited, arrived=False
            )
            self._told(trip, message.payload, lost)

        def hop(place: int) -> None:
            if path[place] in self.dead:
                gone(place)
                return
            if place == len(expected):
                trip = Trip(message, path, tuple(passed), self.events.now - sent_at, waited)
                self._told(trip, message.payload, receive)
                return
            asked, heard = self.events.now, True

            def begin() -> int:
                nonlocal waited, heard
                waited += self.events.now - asked
                transmissions = expected[place]
                if self.losses is not None:
                    packets = self.radio.packets(message.size)
                    quality = self.topology.quality(path[place], path[place + 1])
                    sendings, heard = self.losses.sent(packets, *quality)
                    transmissions = sendings / packets
                passed.append(transmissions)
                return self.radio.airtime(message.size, transmissions)

            def sent() -> None:
                if heard:
                    self.events.after(self.radio.latency, lambda: hop(place + 1))
                else:
                    gone(place + 1)

            self._enqueue(path[place], _Sending(begin, sent, lambda: gone(place)))

        hop(0)

    def _enqueue(self, node: int, sending: _Sending) -> None:
        """Send now if the radio is free, otherwise after those that wait."""
        self._waiting[node].append(sending)
        if not self._busy[node]:
            self._next(node)

    def _next(self, node: int) -> None:
        """Begin with the message that has waited longest."""
        self._busy[node] = bool(self._waiting[node])
        if self._busy[node]:
            sending = self._waiting[node].pop(0)
            self.events.after(sending.begin(), lambda: self._finished(node, sending))

    def _finished(self, node: int, sending: _Sending) -> None:
        sending.sent()
        self._next(node)

    def _told(self, trip: Trip, payload: Payload, who: Callable[[Payload], None] | None) -> None:
        for meter in self.meters:
            meter.carried(trip)
        if who is not None:
            who(payload)

    def reroute(self, topology: Topology) -> None:
        """Use this topology for all messages sent from now on."""
        self.topology = topology
        self._routes.clear()
        self._paths.clear()
        self._links.clear()

    def kill(self, node: int) -> None:
        """A node dies: it neither sends nor hears, and routes avoid it."""
        self.dead.add(node)
        self.reroute(self.topology.without((node,)))
        waiting, self._waiting[node] = self._waiting[node], []
        for sending in waiting:
            sending.dropped()
