"""Guesses about a file whose declaration names no column for the time. Each guess is told in a note."""

from __future__ import annotations

import polars as pl

from nilometer.ingest.readers.reading import RawFile
from nilometer.ingest.readers.values import fits
from nilometer.types import FLOAT, TIME

TIME_NAMES = ("time", "timestamp", "ts", "datetime", "date_time", "event_time", "phenomenontime", "date")


def guessed_time(raw: RawFile, taken: frozenset[str]) -> str | None:
    """The column of a file that holds its times: one with a usual name, or the only one that holds times and no
    numbers. `taken` are the file's columns that have another use."""
    free = [name for name in raw.columns.columns if name not in taken]
    named = {name.strip().lower(): name for name in reversed(free)}
    for name in TIME_NAMES:
        if name in named and fits(raw.columns[named[name]], TIME):
            return named[name]
    times = [name for name in free if _holds_times(raw.columns[name])]
    return times[0] if len(times) == 1 else None


def _holds_times(values: pl.Series) -> bool:
    if values.dtype == pl.Date or isinstance(values.dtype, pl.Datetime):
        return True
    texts = values.dtype == pl.String and values.null_count() < len(values)
    return texts and fits(values, TIME) and not fits(values, FLOAT)
