"""Messages -> the same messages at their targets, later, with every meter told what they took.

Every message arrives, node by node: a node has one radio, which sends what it was given in the order in which it
was given it, and one message at a time. So a message takes as long as its packets take over its route, and as
long as it waits on the way for those before it: delay grows with load, and without bound where a radio is given
more than it can send. (Nodes do not wait for each other's radios: no collisions, no shared channel.) Meters see the path node by node, so that energy can be charged to those who sent and received; a network from
which nodes have gone is built from `Topology.without`, and `reroute` puts it in place of the old one.
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
    """What one node sends to another: `kind` is what it is counted as, `size` its bytes without packet
    headers."""

    source: int
    target: int
    kind: str
    size: int
    payload: Content


@dataclass(frozen=True, slots=True)
class Trip:
    """A message that arrived: the nodes it passed, the expected transmissions of one packet over all links, and
    how long it took, of which it waited so long for radios."""

    message: Message[object]
    path: tuple[int, ...]
    transmissions: float
    delay: int
    waited: int = 0

    @property
    def hops(self) -> int:
        """How many links it passes."""
        return len(self.path) - 1


class Meter(Protocol):
    """Is told every message, when it has arrived."""

    def carried(self, trip: Trip) -> None:
        """Take note of it."""


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
        """The routes from this node, found when they are first asked for."""
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
        """How long a message of that size takes if it waits for nobody."""
        links = self.links(source, target)
        return sum(self.radio.airtime(size, link) + self.radio.latency for link in links)

    def send(self, message: Message[Payload], receive: Callable[[Payload], None]) -> None:
        """Hand the payload to the receiver when the message has arrived; one to oneself arrives at once and
        costs nothing."""
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
        """Send what is sent from now on through this topology."""
        self.topology = topology
        self._routes.clear()
        self._paths.clear()
        self._links.clear()
