"""The continuous join and its deployment: the arguments of `run_join`."""

from __future__ import annotations

from dataclasses import dataclass, field

from nilometer.errors import ConfigurationError
from nilometer.sensornet.clusters.clusters import NO_HEAD, Clusters
from nilometer.sensornet.radio_network import Radio, Topology
from nilometer.types import SECOND


@dataclass(frozen=True, slots=True)
class JoinQuery:
    """The variable-arity join of all streams on equal values within `window`, all in microseconds (SNJoin,
    Definition 1). Values may differ by `within`. Where readings have windows of their own, `window` is the longest.

    `epsilon` is the longest time from a reading's timestamp to its arrival at its head, by the head's clock.
    `period` is the interval at which a head sends its due tuples together. `delay` is the longest time from
    when a tuple is due at its own head until it reaches the LAST head of its probing sequence; it includes
    the period (section 5.1; not a single hop, reference/algorithms.md 1.4 c). `value_bytes` is the size of a value on
    the air.
    """

    window: int
    epsilon: int
    delay: int
    period: int = SECOND
    within: float = 0.0
    value_bytes: int = 4

    def __post_init__(self) -> None:
        if min(self.window, self.epsilon, self.within) < 0 or self.period < 1:
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
        """How far behind its horizon a head keeps readings: long enough for the window of a tuple with the
        longest allowed delay (section 5.1)."""
        return self.window + max(self.epsilon, self.delay)


@dataclass(frozen=True, eq=False)
class Deployment:
    """A network with clusters. Every sensor is a stream with its node's number; the sink belongs to no
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
