"""Measures a stream's newest readings, and keeps what was found in `.nilometer/statistics/<stream>.json`.

The laws: measuring costs the same however long the log is, because only the newest `SAMPLE` readings are looked at.
Statistics never change an answer, only the order in which it is computed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from nilometer.catalog.measured import PLACE, MeasuredColumn, MeasuredStream, file_of
from nilometer.live.books import ledger_of
from nilometer.log import LogDirectory
from nilometer.log.local_files import LocalFiles
from nilometer.log.writer import resources
from nilometer.operators.logic import POSITION

if TYPE_CHECKING:
    from nilometer.catalog import Stream

SAMPLE = 100_000
"""The most readings that are measured: the newest ones."""

COMMON = 32
"""The most values of a column that are counted one by one."""

PARTS = 64
"""The parts of equal size into which the histogram divides the other values."""


def measure(stream: Stream, rows: pl.DataFrame, received: int, garbled: int) -> MeasuredStream:
    """Measure readings with the stream's columns."""
    rows = rows.tail(SAMPLE)
    time, source = (next(c.name for c in stream.columns if c.name.lower() == name) for name in ("time", "id"))
    times = rows.get_column(time).cast(pl.Int64)
    gaps = (
        pl.DataFrame({"id": rows.get_column(source), "time": times})
        .drop_nulls("time")
        .sort("id", "time")
        .select(pl.col("time").diff().over("id").alias("gap"))
        .get_column("gap")
        .drop_nulls()
    )
    gaps = gaps.filter(gaps > 0)
    return MeasuredStream(
        stream.name,
        rows.height,
        rows.get_column(source).n_unique() if rows.height else 0,
        _whole(times.min()),
        _whole(times.max()),
        _whole(gaps.quantile(0.5, "nearest")),
        _whole(gaps.quantile(0.99, "nearest")),
        received,
        garbled,
        tuple(
            _column(rows.get_column(column.name))
            for column in stream.columns
            if column.name != time
            and column.name in rows.columns
            and rows.get_column(column.name).dtype in _MEASURABLE
        ),
    )


_MEASURABLE = (pl.Int64, pl.Float64, pl.String, pl.Boolean)


def _column(values: pl.Series) -> MeasuredColumn:
    total = max(1, values.len())
    present = values.drop_nulls()
    counts = (
        present.to_frame("value").group_by("value").len().sort(["len", "value"], descending=[True, False])
    )
    # A value is common if it is twice as frequent as values are on average.
    often = counts.head(COMMON).filter(pl.col("len") > max(1, 2 * present.len() / max(1, counts.height)))
    if counts.height <= COMMON:
        often = counts
    common = tuple((value, count / total) for value, count in often.iter_rows())
    bounds: tuple[float, ...] = ()
    if present.dtype in (pl.Int64, pl.Float64):
        others = present.filter(~present.is_in(often.get_column("value").implode())).sort()
        if others.len():
            places = [round(part * (others.len() - 1) / PARTS) for part in range(PARTS + 1)]
            bounds = tuple(float(value) for value in others.gather(places).to_list())
    return MeasuredColumn(values.name, values.null_count() / total, counts.height, bounds, common)


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) else None


def measure_log(directory: Path, stream: Stream) -> MeasuredStream | None:
    """Measure the log of a stream; None if there is none."""
    log = LogDirectory(directory).log(stream)
    if not log.exists:
        return None
    rows = log.tail(SAMPLE)
    ledger = ledger_of(log)
    return measure(stream, rows.drop(POSITION, strict=False), ledger.received, ledger.garbled)


def keep(directory: Path, measured: MeasuredStream) -> None:
    """Keep statistics, for the plans of later queries."""
    files = LocalFiles(directory / PLACE)
    with resources(files.place):
        files.replace(file_of(measured.stream), measured.as_json())
