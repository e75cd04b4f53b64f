"""Finds the column of times, and how its times are written: ISO-8601, numbers since 1970, or another format."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import polars as pl

from nilometer.engine.inferred import TIME_NAMES, unit_of
from nilometer.ingest.readers.times import parse_iso_times
from nilometer.ingest.readers.values import read_numbers, read_values
from nilometer.types import DAY, TIME, format_time

_DATES = (
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%d/%m/%y",
    "%m/%d/%y",
)
_CLOCKS = (" %H:%M:%S", " %H:%M:%S%.f", " %H:%M", " %I:%M:%S %p", " %I:%M %p", "T%H:%M:%S", "T%H:%M", "")
FORMATS = (
    *(date + clock for date in _DATES for clock in _CLOCKS),
    "%Y%m%d%H%M%S",
    "%Y%m%d%H%M",
    "%Y%m%d %H%M",
)
"""The formats that are tried, the more usual first."""
TRIED = 1_000
"""The number of values with which a format is tried."""
_CLOCK = r"^\s*\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?(\s*[AaPp][Mm])?\s*$"
SHORT_NAMES = ("t", "at", "when", "utc", "unix", "epoch")
"""Names of columns whose numbers are times if they are of present days."""
LEAST = 0.9
"""The share of a column's values that must be times."""
AMBIGUOUS = "day and month cannot be told apart: no day is beyond the 12th"
_UNITS = {"seconds": "s", "milliseconds": "ms", "microseconds": "us"}
_ANCIENT, _DISTANT = 15 * 365 * DAY, 80 * 365 * DAY


@dataclass(frozen=True)
class Times:
    """The column of times, in microseconds. `unit` is that of numbers (s, ms, us); `format` is that of texts that
    are not ISO-8601. `clock` is the column with the times of day, where this one has the dates only."""

    column: str
    values: pl.Series
    unit: str | None = None
    format: str | None = None
    remarks: tuple[str, ...] = ()
    clock: str | None = None


def find_times(columns: pl.DataFrame) -> Times | None:
    """The times of the data; None if no column looks like times. Loggers often write dates and times of day into
    two columns."""
    times = _find_times(columns)
    if times is None or times.unit is not None or columns[times.column].dtype != pl.String:
        return times
    if bool((times.values.drop_nulls() % DAY != 0).any()):
        return times
    for clock in columns.columns:
        texts = columns[clock]
        if clock == times.column or texts.dtype != pl.String or not texts.drop_nulls().len():
            continue
        if not _enough(texts.set(~texts.str.contains(_CLOCK), None), texts):
            continue
        joined = pl.concat_str(pl.col(times.column), pl.col(clock), separator=" ").alias(times.column)
        both = _times(columns.select(joined).to_series(), told=False)
        if both is not None:
            return replace(both, clock=clock)
    return times


def _find_times(columns: pl.DataFrame) -> Times | None:
    short = [name for name in columns.columns if name.lower() in SHORT_NAMES]
    named = [name for wanted in TIME_NAMES for name in columns.columns if name.lower() == wanted]
    like = [name for name in columns.columns if any(part in name.lower() for part in ("time", "date", "ts"))]
    found = {}
    for name in dict.fromkeys((*named, *like, *columns.columns)):
        nameless = re.fullmatch(r"column_\d+", name) is not None
        times = _times(columns[name], told=name in named or name in like or name in short or nameless)
        if name in short and times is not None and times.unit is not None and times.remarks:
            continue  # numbers of another size: `t` may be a temperature
        if times is not None and not (nameless and times.remarks and times.unit):
            if name in named:
                return times
            found[name] = times
    if not found:
        return None
    name, times = next(iter(found.items()))
    others = [other for other in found if other != name]
    if others:
        choice = f"{', '.join(others)} could be the time, too"
        return Times(name, times.values, times.unit, times.format, (*times.remarks, choice))
    return times


def _times(column: pl.Series, *, told: bool) -> Times | None:
    """The column as times; numbers only if its name says that they are times."""
    present = column.drop_nulls()
    if not present.len():
        return None
    if column.dtype.is_temporal():
        return Times(column.name, read_values(column, TIME).values)
    if column.dtype == pl.String:
        iso = parse_iso_times(column.str.strip_chars())
        if _enough(iso, column):
            return Times(column.name, iso, remarks=_zone(column, iso))
    numbers = read_numbers(column)
    if _enough(numbers, column) and told and column.dtype != pl.Boolean:
        return _epoch(column, numbers)
    return _formatted(column) if column.dtype == pl.String else None


def _enough(values: pl.Series, column: pl.Series) -> bool:
    return column.len() - values.null_count() >= LEAST * (column.len() - column.null_count())


def _zone(column: pl.Series, iso: pl.Series) -> tuple[str, ...]:
    sound = column.filter(iso.is_not_null()).str.strip_chars()
    zoned = int(sound.str.contains(r"(?:[Zz]|[+-]\d{2}:?\d{2}|[+-]\d{2})$").sum())
    if zoned == sound.len():
        return ()
    dated = sound.str.contains(r"^\d{4}-\d{2}-\d{2}$")
    if not zoned and bool(dated.all()):
        return ("the times are whole days",)
    if zoned:
        return (f"{sound.len() - zoned} of {sound.len()} times name no time zone, and are taken as UTC",)
    return (
        "the times name no time zone, and are taken as UTC; TIMEZONE 'Europe/Zurich' in FORMAT says otherwise",
    )


def _epoch(column: pl.Series, numbers: pl.Series) -> Times | None:
    factor, spelt = unit_of(column)
    if spelt == "nanoseconds":
        values = (numbers / 1_000).round().cast(pl.Int64)
        return Times(column.name, values, "ns", remarks=("the times are nanoseconds since 1970",))
    size = numbers.abs().median()
    if not isinstance(size, float) or size < 1e8:
        return None  # a small number counts from somewhere else
    values = (numbers * (factor or 1)).round().cast(pl.Int64)
    middle = values.median()
    remarks = []
    if isinstance(middle, float) and not _ANCIENT < middle < _DISTANT:
        remarks.append(
            f"the times are around {format_time(int(middle))[:10]}, if they are {spelt} since 1970"
        )
    return Times(column.name, values, _UNITS[spelt], remarks=tuple(remarks))


def _is_ancient(times: pl.Series) -> bool:
    """Whether most times are of a year below 1000."""
    return int((times.dt.year() < 1000).sum()) * 2 > times.len()


def _formatted(column: pl.Series) -> Times | None:
    texts = column.str.strip_chars()
    tried = texts.drop_nulls().head(TRIED)
    fitting = [
        format_
        for format_ in FORMATS
        if tried.len() - tried.str.to_datetime(format_, strict=False, time_unit="us").null_count()
        >= LEAST * tried.len()
    ]
    parsed = [(format_, texts.str.to_datetime(format_, strict=False, time_unit="us")) for format_ in fitting]
    # %Y takes a year of two digits as one of antiquity.
    parsed = [(format_, times) for format_, times in parsed if not _is_ancient(times)]
    if not parsed:
        return None
    best = min(times.null_count() for _, times in parsed)
    left = [(format_, times) for format_, times in parsed if times.null_count() == best]
    format_, times = left[0]
    remarks = [
        "the times name no time zone, and are taken as UTC; TIMEZONE 'Europe/Zurich' in FORMAT says otherwise"
    ]
    if len({other[:2] for other, _ in left} & {"%d", "%m"}) == 2:
        remarks.append(AMBIGUOUS)
    return Times(column.name, times.cast(pl.Int64), format=format_, remarks=tuple(remarks))
