"""Measures the streams of a database, from their logs or from the files at hand, and keeps what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nilometer.catalog.measured import MeasuredColumn, MeasuredStream
from nilometer.types import format_duration, format_time

if TYPE_CHECKING:
    from nilometer.catalog import Stream
    from nilometer.engine.database import Database


def measure_streams(database: Database) -> list[MeasuredStream]:
    """The statistics of every stream that has readings. In a data directory they are kept for later plans."""
    from nilometer.live.statistics import keep

    found = [
        measured for stream in database.catalog.streams() if (measured := measure_stream(database, stream))
    ]
    if database.data.base is not None:
        for measured in found:
            keep(database.data.base, measured)
    return found


def measure_stream(database: Database, stream: Stream) -> MeasuredStream | None:
    """The statistics of a stream; None if it has no readings."""
    import polars as pl

    from nilometer.dataflow import Batch
    from nilometer.live.statistics import measure, measure_log

    data = database.data
    if not data.has(stream):
        return None if data.base is None else measure_log(data.base, stream)
    batches = [entry for entry in data.entries(stream) if isinstance(entry, Batch)]
    if not batches:
        return None
    rows = pl.concat([batch.rows for batch in batches], how="diagonal")
    garbled = sum(batch.garbled for batch in batches)
    return measure(stream, rows, rows.height + garbled, garbled)


def stream_record(found: MeasuredStream) -> dict[str, Any]:
    """The statistics of a stream as a row of a table."""
    garbled = found.garbled / found.received if found.received else 0.0
    return {
        "stream": found.stream,
        "readings": found.readings,
        "sources": found.sources,
        "rate": None if found.rate is None else f"{found.rate:,.4g}/s",
        "interval": None if found.interval is None else format_duration(found.interval),
        "gap 99 %": None if found.gap is None else format_duration(found.gap),
        "garbled": f"{100 * garbled:.3g} %",
        "since": None if found.since is None else format_time(found.since),
        "until": None if found.until is None else format_time(found.until),
    }


def column_record(stream: str, column: MeasuredColumn) -> dict[str, Any]:
    """The statistics of a column as a row of a table."""
    common = ", ".join(f"{value} ({100 * share:.3g} %)" for value, share in column.common[:3])
    return {
        "stream": stream,
        "column": column.name,
        "null": f"{100 * column.nulls:.3g} %",
        "distinct": column.distinct,
        "least": _number(column.quantile(0.0)),
        "median": _number(column.quantile(0.5)),
        "p99": _number(column.quantile(0.99)),
        "greatest": _number(column.quantile(1.0)),
        "common": common or None,
    }


def _number(value: float | None) -> float | None:
    return int(value) if value is not None and value.is_integer() else value
