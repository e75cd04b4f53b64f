"""The payloads of summary topics -> summaries in the columns of a stream's log, and garbled ones.

A summary stands for the readings of a sensor after `from`, up to and including `time`:

    {"from": "2026-01-01T00:00:00Z", "time": "2026-01-01T00:10:00Z", "of": "1a2b3c4d", "count": 10,
     "columns": {"pm25": {"count": 10, "sum": 412.5, "low": 0.0, "min": 40.0, "max": 42.5}}}

Times are ISO-8601 or microseconds. An `id` counts only where the topic names no sensor: nobody speaks for others. The
law: each payload is one row or one garbled reading.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from nilometer.algebra.summary import FROM, OF, PARTS, READINGS
from nilometer.catalog.extents import Stream
from nilometer.dataflow.sources import summary_dtypes
from nilometer.ingest.payloads.messages import Garbled
from nilometer.plan.summaries import summary_columns
from nilometer.types import INT_MAXIMUM, INT_MINIMUM, Kind, parse_time

MOST = 1_000_000_000
"""The most readings that a summary may stand for. A sensor that lies can spoil its own sums, but not the books."""


def read_summaries(
    messages: Sequence[tuple[bytes, str | None, str]], stream: Stream
) -> tuple[pl.DataFrame, tuple[Garbled, ...]]:
    """The summaries in messages (payload, sensor by the topic, source), and the messages that have none."""
    kinds = summary_columns(stream)
    columns: dict[str, list[Any]] = {name: [] for name in kinds}
    garbled: list[Garbled] = []
    for payload, sensor, source in messages:
        try:
            row = _row(json.loads(payload), sensor, stream)
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError, AttributeError) as error:
            reason = str(error) if type(error) is ValueError else "a summary that cannot be read"
            garbled.append(Garbled(payload, reason, source))
            continue
        for name, values in columns.items():
            values.append(row.get(name))
    dtypes = summary_dtypes(stream)
    return pl.DataFrame({n: pl.Series(n, v, dtype=dtypes[n]) for n, v in columns.items()}), tuple(garbled)


def _row(said: dict[str, Any], sensor: str | None, stream: Stream) -> dict[str, Any]:
    names = {column.name.lower(): column for column in stream.columns}
    begin, end, count = _time(said["from"]), _time(said["time"]), said["count"]
    if not begin < end or not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ValueError("a summary of no time or of no readings")
    if count > min(end - begin, MOST):
        # The books add these numbers up.
        raise ValueError(f"a summary of {count} readings in {end - begin} microseconds")
    identity = said.get("id") if sensor is None else sensor
    if identity is None:
        raise ValueError("a summary without an id")
    row: dict[str, Any] = {
        names["time"].name: end,
        names["id"].name: int(identity) if stream.id_type.kind is Kind.INT else str(identity),
        FROM: begin,
        OF: str(said["of"]),
        READINGS: count,
    }
    for name, parts in said.get("columns", {}).items():
        column = names.get(name.lower())
        if column is None or f"{column.name}#count" not in summary_columns(stream):
            raise ValueError(f"a summary of '{name}', which is no number of the stream")
        whole = column.type.kind is Kind.INT
        found = {"low": 0.0 if "sum" in parts else None} | {
            part: parts.get(part) for part in PARTS if part in parts
        }
        if not 0 <= found["count"] <= count:
            raise ValueError(f"a summary of {found['count']} values of '{name}' in {count} readings")
        for part, value in found.items():
            if value is None:
                continue
            integer = part == "count" or (whole and part != "low")
            row[f"{column.name}#{part}"] = _integer(value) if integer else _real(value)
    return row


def _integer(value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON knows one kind of number
    if isinstance(value, bool) or not isinstance(value, int) or not INT_MINIMUM <= value <= INT_MAXIMUM:
        raise ValueError(f"{value!r} in a summary is not an INT")
    return value


def _real(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} in a summary is not a FLOAT")
    return float(value)


def _time(value: object) -> int:
    if isinstance(value, str):
        return parse_time(value)
    return _integer(value)
