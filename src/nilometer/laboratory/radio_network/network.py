"""Carries messages to their targets in virtual time, and tells every meter what they took.

Every message arrives. A node has one radio, which sends one message at a time, in the order in which it got
them. So the delay of a message is the time of its packets over its route plus the time it waits for messages
before it. Delay grows with load, and without bound where a radio gets more than it can send. Nodes do not
wait for each other's radios: there are no collisions and no shared channel.

Meters see the path node by node, so that energy can be charged to those who sent and received. If nodes leave
the network, `Topology.without` gives the new topology, and `reroute` replaces the old one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from nilometer.laboratory.radio_network.radio import Radio
from nilometer.laboratory.radio_network.routing import Routes, find_routes
from nilometer.sensornet.events import Events
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
    """A message that arrived: the nodes it passed, the expected transmissions of one packet over all links,
    the time it took, and the part of that time for which it waited for radios."""

    message: Message[object]
    path: tuple[int, ...]
    transmissions: float
    delay: int
    waited: int = 0

    @property
    def hops(self) -> int:
        """The number of links it passes."""
        return len(self.path) - 1


class Meter(Protocol):
    """Is told every message once it has arrived."""

    def carried(self, trip: Trip) -> None:
        """Record a message."""


class Network:
    """The nodes' radios and the routes between them."""

    def __init__(
        self, topology: Topology, radio: Radio, events: Events, meters: tuple[Meter, ...] = ()
    ) -> None:
        self.topology = topology
        self.radio = radio
        self.events = events
        self.meters = meters
        self._routes: dict[int, Routes] = {}
        self._paths: dict[tuple[int, int], tuple[int, ...]] = {}
        self._links: dict[tuple[int, int], tuple[float, ...]] = {}
        self._free_at = [events.now] * topology.nodes

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

    def send(self, message: Message[Payload], receive: Callable[[Payload], None]) -> None:
        """Hand the payload to the receiver when the message has arrived. A message to the sender itself
        arrives at once and costs nothing."""
        if message.source == message.target:
            self.events.after(0, lambda: receive(message.payload))
            return
        path, links = (
            self.path(message.source, message.target),
            self.links(message.source, message.target),
        )
        sent_at, waited = self.events.now, 0

        def hop(place: int) -> None:
            nonlocal waited
            if place == len(links):
                trip = Trip(message, path, sum(links), self.events.now - sent_at, waited)
                for meter in self.meters:
                    meter.carried(trip)
                receive(message.payload)
                return
            node, now = path[place], self.events.now
            begin = max(now, self._free_at[node])
            waited += begin - now
            self._free_at[node] = begin + self.radio.airtime(message.size, links[place])
            self.events.at(self._free_at[node] + self.radio.latency, lambda: hop(place + 1))

        hop(0)

    def reroute(self, topology: Topology) -> None:
        """Use this topology for all messages sent from now on."""
        self.topology = topology
        self._routes.clear()
        self._paths.clear()
        self._links.clear()
