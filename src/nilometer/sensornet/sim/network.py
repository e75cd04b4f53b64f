"""Messages -> the same messages at their targets, later, with every meter told what they took.

Every message arrives, after as long as its packets take over its route; messages do not wait for each other.
Meters see the path node by node, so that energy can be charged to those who sent and received; a network from
which nodes have gone is built from `Topology.without`, and `reroute` puts it in place of the old one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from nilometer.sensornet.sim.events import Events
from nilometer.sensornet.sim.radio import Radio
from nilometer.sensornet.sim.routing import Routes, find_routes
from nilometer.sensornet.sim.topology import Topology

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
    """A message under way: the nodes it passes, the expected transmissions of one packet over all links, and
    how long it takes."""

    message: Message[object]
    path: tuple[int, ...]
    transmissions: float
    delay: int

    @property
    def hops(self) -> int:
        """How many links it passes."""
        return len(self.path) - 1


class Meter(Protocol):
    """Is told every message, when it is sent."""

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

    def delay(self, source: int, target: int, size: int) -> int:
        """How long a message of that size takes."""
        path = self.path(source, target)
        return self.radio.delay(size, len(path) - 1, float(self.routes(source).transmissions[target]))

    def send(self, message: Message[Payload], receive: Callable[[Payload], None]) -> None:
        """Hand the payload to the receiver when the message has arrived; one to oneself arrives at once and
        costs nothing."""
        if message.source == message.target:
            self.events.after(0, lambda: receive(message.payload))
            return
        path = self.path(message.source, message.target)
        transmissions = float(self.routes(message.source).transmissions[message.target])
        delay = self.radio.delay(message.size, len(path) - 1, transmissions)
        trip = Trip(message, path, transmissions, delay)
        for meter in self.meters:
            meter.carried(trip)
        self.events.after(delay, lambda: receive(message.payload))

    def reroute(self, topology: Topology) -> None:
        """Send what is sent from now on through this topology."""
        self.topology = topology
        self._routes.clear()
        self._paths.clear()
