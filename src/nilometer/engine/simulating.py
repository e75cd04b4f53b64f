"""A query, its placement and a duration -> a simulated run over the data at hand, or over made-up readings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nilometer.engine.logs_at_hand import logs_at_hand
from nilometer.live.answers import Answer
from nilometer.placement.sources import sources_of
from nilometer.types import floor_to

if TYPE_CHECKING:
    from nilometer.engine.query import Query
    from nilometer.placement import Placement
    from nilometer.sensornet.simulation import Conditions, SimulationResult


def run_in_network(
    query: Query,
    placement: Placement,
    duration: int,
    conditions: Conditions,
    *,
    take: Callable[[Answer], None],
    watch: Callable[[int, int], None] | None = None,
) -> SimulationResult:
    """Simulate; `take` is given the answers as they come. The motes sense what the logs of the query's streams hold, from their
    first reading on; if all are empty, readings are made up from the seed. Refuses a stream without readings beside one that has some."""
    from nilometer.engine.gateway import DatabaseSources
    from nilometer.sensornet.simulation import BEGIN, RecordedReadings, SyntheticReadings, simulate

    at_hand = logs_at_hand(query)
    at_hand.check(placement)
    begin, logs = at_hand.begin(), dict(at_hand.logs)
    interval = sources_of(
        placement.plan, placement.network
    ).interval  # that may have been asked for, not declared
    return simulate(
        placement,
        duration,
        conditions,
        readings=RecordedReadings(logs) if logs else SyntheticReadings(conditions.seed),
        extents=DatabaseSources(query.database, query.physical),
        begin=BEGIN if begin is None else floor_to(begin, interval),
        take=lambda rows: take(Answer(query.schema, rows)),
        watch=watch,
    )
