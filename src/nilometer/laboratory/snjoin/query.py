"""The continuous join and where it runs: what `run_join` is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

from nilometer.errors import ConfigurationError
from nilometer.laboratory.radio_network import Radio, Topology
from nilometer.laboratory.snjoin.clusters import NO_HEAD, Clusters
from nilometer.types import SECOND


@dataclass(frozen=True, slots=True)
class JoinQuery:
    """The variable-arity join of all streams on equal values within `window`, all in microseconds (SNJoin,
    Definition 1).

    `epsilon` is the longest time from a reading's timestamp to its arrival at its head, by the head's clock;
    `period` how often a head sends its due tuples on their way together; `delay` the longest time from when a
    tuple is due at its own head until the LAST head of its probing sequence is reached, which the period is
    part of (section 5.1; not a single hop, reference/algorithms.md 1.4 c).
    """

    window: int
    epsilon: int
    delay: int
    period: int = SECOND

    def __post_init__(self) -> None:
        if min(self.window, self.epsilon) < 0 or self.period < 1:
            raise ConfigurationError(
                "a join with a negative window, lateness or period", hint="give 0 or more"
            )
        if self.delay < self.period:
            raise ConfigurationError(
                "probes take at least as long as they wait to be sent",
                detail=f"delay {self.delay} is below the period {self.period}",
                hint="give the time until the last head is reached, the period included",
            )

    @property
    def retention(self) -> int:
        """How far behind its horizon a head keeps readings: for the window of a tuple that took as long as it
        may (section 5.1)."""
        return self.window + max(self.epsilon, self.delay)


@dataclass(frozen=True, eq=False)
class Deployment:
    """A network with clusters in it. Every sensor is a stream of its node's number; the sink belongs to no
    cluster."""

    topology: Topology
    clusters: Clusters
    sink: int
    radio: Radio = field(default_factory=Radio)

    def __post_init__(self) -> None:
        if len(self.clusters.head_of) != self.topology.nodes:
            raise ConfigurationError("clusters of another network", hint="cluster the nodes of this topology")
        if not 0 <= self.sink < self.topology.nodes or self.clusters.head_of[self.sink] != NO_HEAD:
            raise ConfigurationError(
                f"the sink {self.sink} is no node, or one that belongs to a cluster",
                hint="leave it out of the clustering",
            )
