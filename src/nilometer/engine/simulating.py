"""A query, its placement and a duration -> a simulated run over the data at hand, or over made-up readings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nilometer.engine.answers import Answer
from nilometer.plan import physical
from nilometer.types import floor_to

if TYPE_CHECKING:
    import polars as pl

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
    first reading on; if all are empty, readings are made up from the seed."""
    from nilometer.engine.gateway import DatabaseSources
    from nilometer.sensornet.simulation import BEGIN, RecordedReadings, SyntheticReadings, simulate

    logs = _logs(query)
    begin = BEGIN
    if logs:
        streams = physical.streams_of(query.physical)
        starts = []
        for name, rows in logs.items():
            time = streams[name].column("time")
            assert time is not None
            starts.append(floor_to(int(rows.get_column(time.name).drop_nulls()[0]), streams[name].every or 1))
        begin = min(starts)
    return simulate(
        placement,
        duration,
        conditions,
        readings=RecordedReadings(logs) if logs else SyntheticReadings(conditions.seed),
        extents=DatabaseSources(query.database, query.physical),
        begin=begin,
        take=lambda rows: take(Answer(query.schema, rows)),
        watch=watch,
    )


def _logs(query: Query) -> dict[str, pl.DataFrame]:
    """The readings of each stream that has some."""
    import polars as pl

    from nilometer.edge.gateway import Batch

    found: dict[str, pl.DataFrame] = {}
    for name, stream in physical.streams_of(query.physical).items():
        parts = [
            e.rows for e in query.database.data.entries(stream) if isinstance(e, Batch) and e.rows.height
        ]
        if parts:
            found[name] = pl.concat(parts)
    return found
