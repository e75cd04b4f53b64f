"""A field whose clusters change while it runs: sensors join, nodes die, and heads are relieved.

HEED forms clusters at the beginning, again every `every` microseconds, `notice` microseconds after a death, and when
a sensor comes that no head covers (SNJoin section 1, "dynamic configuration"). A sensor that some head covers joins
the nearest. Between two formations is an *epoch*: readings with begin < time <= end belong to it. The field tells an
`Operation`, which does the work, about epochs and deaths.

Residual energy decides who becomes a head, so that heads take turns (Younis and Fahmy 2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nilometer.errors import ConfigurationError
from nilometer.kernels.arrays import Booleans, Floats, Integers
from nilometer.sensornet.clusters.clusters import NO_HEAD, Clusters, clusters_of
from nilometer.sensornet.clusters.heed import Heed, form_clusters
from nilometer.sensornet.radio_network import EnergyMeter, Network, Traffic, TrafficMeter
from nilometer.sensornet.topology import distances_from

ANNOUNCEMENT = 4
"""The bytes of a message of HEED: a node, its cost and its state."""

NEVER = 2**62


@dataclass(frozen=True)
class Kill:
    """A node that dies at a time."""

    node: int
    time: int


@dataclass(frozen=True)
class Happening:
    """What happened at a time: `formed` (with the clusters), `died` (with the node) or `joined` (with the node)."""

    time: int
    kind: str
    node: int | None = None
    clusters: Clusters | None = None


class Operation(Protocol):
    """The work over the clusters."""

    def open(self, clusters: Clusters | None, begin: int) -> None:
        """An epoch begins with these clusters (None: nobody is left); the one before ends."""

    def died(self, node: int) -> None:
        """A node has just died. The network knows."""


@dataclass(frozen=True, eq=False)
class FieldPlan:
    """The facts that are known before a run. `sensing` nodes are in clusters, from the time of their `first` reading on; `last` is
    the time of the last reading of all. `capacity` is the energy of a full battery (None: all batteries stay full)."""

    sink: int
    sensing: Booleans
    first: Integers
    last: int
    heed: Heed
    every: int | None = None
    notice: int = 0
    kills: tuple[Kill, ...] = ()
    capacity: Floats | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if any(kill.node == self.sink for kill in self.kills):
            raise ConfigurationError("the sink cannot be killed", hint="kill a node that senses or relays")


class ChangingField:
    """The field of a run. `happenings` is its history."""

    def __init__(
        self, plan: FieldPlan, network: Network, traffic: TrafficMeter, energy: EnergyMeter | None = None
    ) -> None:
        self.plan = plan
        self.network = network
        self.happenings: list[Happening] = []
        self._traffic = traffic
        self._energy = energy
        self._formed = 0
        self._forced: set[int] = set()

    def run(self, operation: Operation) -> None:
        """Run to the end: until no event is left."""
        plan, events = self.plan, self.network.events
        begin = int(plan.first[plan.sensing].min(initial=plan.last)) - 1
        events.at(max(begin, events.now), lambda: self._form(begin, operation))
        if plan.every is not None:
            for time in range(begin + plan.every, plan.last, plan.every):
                events.at(time, lambda time=time: self._form(time, operation))  # type: ignore[misc]
        for kill in plan.kills:
            if begin < kill.time <= plan.last:
                events.at(kill.time, lambda kill=kill: self._kill(kill, operation))  # type: ignore[misc]
        events.run()

    def _kill(self, kill: Kill, operation: Operation) -> None:
        if kill.node in self.network.dead:
            return
        self.network.kill(kill.node)
        self.happenings.append(Happening(kill.time, "died", kill.node))
        operation.died(kill.node)
        again = kill.time + self.plan.notice
        if again < self.plan.last:
            self.network.events.at(again, lambda: self._form(again, operation))

    def _form(self, time: int, operation: Operation) -> None:
        """Form clusters of those who are there, and let those who come find a head."""
        plan, network = self.plan, self.network
        reached = network.routes(plan.sink).hops >= 0
        reached[list(network.dead)] = False
        able = plan.sensing & reached
        # At the beginning nobody has been heard yet: who speaks in the first moments is there. Later formations are for
        # those who were heard, and for the sensor that comes now.
        there = able & (plan.first <= time + 1 + (0 if self._formed else plan.notice))
        if not there.any():
            there = able & (plan.first == plan.first[able].min(initial=NEVER))
        self._formed += 1
        if not there.any():
            operation.open(None, time)
            return
        positions = network.topology.positions
        found = form_clusters(positions, plan.heed, plan.seed + self._formed, self._residual(), there)
        head_of = found.clusters.head_of.copy()
        heads = found.clusters.heads
        for node in np.flatnonzero(able & ~there).tolist():
            away = distances_from(positions, node)[heads]
            comes = int(plan.first[node])
            if away.min() <= plan.heed.cluster_range:
                head_of[node] = heads[int(np.argmin(away))]
            elif comes - 1 not in self._forced and time < comes - 1 < plan.last:
                self._forced.add(comes - 1)
                network.events.at(comes - 1, lambda at=comes: self._form(at - 1, operation))  # type: ignore[misc]
        clusters = clusters_of(head_of)
        self._announced(clusters)
        self.happenings.append(Happening(time, "formed", clusters=clusters))
        operation.open(clusters, time)

    def _residual(self) -> Floats | None:
        """The residual energy of each node, as a share of its battery."""
        if self.plan.capacity is None or self._energy is None:
            return None
        left: Floats = np.clip(1.0 - self._energy.joules / self.plan.capacity, 0.0, 1.0)
        return left

    def _announced(self, clusters: Clusters) -> None:
        """Count HEED's messages: each node says its cost, and then that it is a head, or whose member it is."""
        members = np.flatnonzero(clusters.head_of != NO_HEAD)
        on_air = 2 * len(members) * self.network.radio.bytes_on_air(ANNOUNCEMENT)
        self._traffic.add("cluster", Traffic(2 * len(members), 2 * len(members), on_air, 2.0 * len(members)))
        if self._energy is not None:
            for node in members.tolist():
                self._energy.charge((node, int(clusters.head_of[node])), (1.0,), ANNOUNCEMENT, 2)
