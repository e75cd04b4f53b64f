"""A query, a network and a duration -> a simulated run over the data at hand, or over made-up readings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nilometer.catalog.near_misses import join_names
from nilometer.engine.gateway import DatabaseSources
from nilometer.engine.logs_at_hand import LogsAtHand, logs_at_hand
from nilometer.live.answers import Answer
from nilometer.placement.sources import sources_of
from nilometer.sensornet.simulation import (
    BEGIN,
    Conditions,
    RecordedReadings,
    SimulationResult,
    SyntheticReadings,
    simulate,
)
from nilometer.types import floor_to

if TYPE_CHECKING:
    from nilometer.catalog.network import Network
    from nilometer.engine.query import Query
    from nilometer.placement import Placement, QualityOfService


@dataclass(frozen=True)
class SimulationOptions:
    """How long, in microseconds, rounded up to whole periods; where (`network` and `quality` are those of `Query.placement`); and what the
    motes meet."""

    duration: int
    network: str | Network | None = None
    quality: QualityOfService | None = None
    conditions: Conditions = field(default_factory=Conditions)


@dataclass(frozen=True)
class Simulation:
    """A run that can begin: the query is placed, and the readings are there. The motes sense what the logs of the query's streams hold, from
    their first reading on; if all are empty, readings are made up from the seed."""

    query: Query
    placement: Placement
    duration: int
    conditions: Conditions
    at_hand: LogsAtHand

    @property
    def end(self) -> int:
        """When it ends: after whole periods, in microseconds from its beginning."""
        period = round(self.placement.estimate.period * 1e6)
        return -(-self.duration // period) * period

    @property
    def notes(self) -> list[str]:
        """What a person should know of the readings."""
        made_up = []
        if not self.at_hand.logs:
            made_up.append(
                f"there are no readings of {join_names(self.at_hand.streams, 'and')}: they are made up, from seed"
                f" {self.conditions.seed}; INT is from 0 to 9, FLOAT from 5 to 16"
            )
        return made_up + self.at_hand.lacks(self.placement, self.duration)

    def run(
        self,
        take: Callable[[Answer], None] | None = None,
        watch: Callable[[int, int], None] | None = None,
    ) -> SimulationResult:
        """Simulate; `take` is given the answers as they come, else they are kept in the result. `watch` is told how far it is."""
        begin, logs = self.at_hand.begin(), dict(self.at_hand.logs)
        # The interval may have been asked for, not declared.
        interval = sources_of(self.placement.plan, self.placement.network).interval
        query = self.query
        return simulate(
            self.placement,
            self.duration,
            self.conditions,
            readings=RecordedReadings(logs) if logs else SyntheticReadings(self.conditions.seed),
            extents=DatabaseSources(query.database, query.physical),
            begin=BEGIN if begin is None else floor_to(begin, interval),
            take=None if take is None else lambda rows: take(Answer(query.schema, rows)),
            watch=watch,
        )


def prepare(query: Query, options: SimulationOptions) -> Simulation:
    """Place the query and look for its readings. Refuses a stream without readings beside one that has some."""
    placement = query.placement(options.network, options.quality)
    return prepare_placed(query, placement, options.duration, options.conditions)


def prepare_placed(
    query: Query, placement: Placement, duration: int, conditions: Conditions | None = None
) -> Simulation:
    """The same where the query has been placed already."""
    at_hand = logs_at_hand(query)
    at_hand.check(placement)
    return Simulation(query, placement, duration, conditions or Conditions(), at_hand)
