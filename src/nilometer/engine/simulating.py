"""A query, a network and a duration -> a simulated run over the available data, or over generated
readings."""

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
    """The duration in microseconds, rounded up to whole periods; the place (`network` and `quality`, as for
    `Query.placement`); and the conditions that the motes meet."""

    duration: int
    network: str | Network | None = None
    quality: QualityOfService | None = None
    conditions: Conditions = field(default_factory=Conditions)


@dataclass(frozen=True)
class Simulation:
    """A run that is ready to start: the query is placed, and the readings are there. The motes sense what the
    logs of the query's streams hold, from their first reading on. If all logs are empty, readings are
    generated from the seed."""

    query: Query
    placement: Placement
    duration: int
    conditions: Conditions
    at_hand: LogsAtHand

    @property
    def end(self) -> int:
        """The end of the run: after whole periods, in microseconds from its start."""
        period = round(self.placement.estimate.period * 1e6)
        return -(-self.duration // period) * period

    @property
    def notes(self) -> list[str]:
        """Remarks for the user about the readings."""
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
        """Simulate. `take` gets the answers as they come; without it they are kept in the result. `watch`
        gets the progress."""
        begin, logs = self.at_hand.begin(), dict(self.at_hand.logs)
        # The interval may come from the expectations and not from the declaration.
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
    """Place the query and find its readings. Refuses a stream without readings if another has some."""
    placement = query.placement(options.network, options.quality)
    return prepare_placed(query, placement, options.duration, options.conditions)


def prepare_placed(
    query: Query, placement: Placement, duration: int, conditions: Conditions | None = None
) -> Simulation:
    """The same for a query that is already placed."""
    at_hand = logs_at_hand(query)
    at_hand.check(placement)
    return Simulation(query, placement, duration, conditions or Conditions(), at_hand)
