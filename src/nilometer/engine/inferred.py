"""Data files without declarations -> a pushed stream named after them, with the files' columns.

Files in which nothing looks like a time are a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nilometer.catalog import Stream, Table, stream_columns
from nilometer.catalog.form import Form
from nilometer.engine.as_inspected import open_as_inspected
from nilometer.errors import DataError, NilometerError
from nilometer.types import MICROSECOND, SECOND, STRING, TIME, Column, Kind

if TYPE_CHECKING:
    import polars as pl

    from nilometer.engine.database import Database
    from nilometer.ingest.readers import FileSet
    from nilometer.ingest.readers.reading import RawFile

TIME_NAMES = ("time", "timestamp", "ts", "datetime", "date_time", "event_time", "phenomenontime", "date")
ID_NAMES = (
    "id",
    "sensor_id",
    "sensorid",
    "sensor",
    "moteid",
    "mote_id",
    "device_id",
    "deviceid",
    "device",
    "station",
    "site_id",
)


_UNITS = (
    (1e17, "nanoseconds", 1),
    (1e14, "microseconds", 1),
    (1e11, "milliseconds", 1_000),
    (1e8, "seconds", SECOND),
)
"""The least number at which a present-day time has that unit, and the unit in microseconds (nanoseconds are
divided)."""
_DAYS = 30_000, 60_000
"""Spreadsheets' numbers of days from 1982 to 2064."""


def open_files(database: Database, files: FileSet, name: str | None = None, *, alike: bool = False) -> None:
    """Declare a stream for the files and make them its log; notes which columns it uses as time and id. Files
    without a time are a table. Both are named after the files unless a name is given. If the files must be
    `alike`, different columns are refused, otherwise noted."""
    from nilometer.ingest.readers import FileForm, unified_columns
    from nilometer.ingest.readers.files import has_leading_zeros

    if _is_unusual(files):
        open_as_inspected(database, files, name)
        return
    survey = _Survey(files, alike)
    columns = unified_columns(survey.raws())
    database.notes += survey.differences
    bare = survey.sample is None
    if _is_nested(files, survey.sample):
        open_as_inspected(database, files, name)
        return
    time, source = time_column(columns, survey.sample), id_column(columns)
    if time is not None and survey.sample is not None:
        _refuse_days(files, time, survey.sample)
    readable = time is not None and time.type.kind in (Kind.TIME, Kind.INT, Kind.FLOAT)
    if columns and (not readable or _has_dates(survey.sample, time)) and _has_formatted_times(survey.sample):
        open_as_inspected(database, files, name)
        return
    if time is None and columns:
        _open_table(database, files, columns, name)
        return
    if not bare and not readable:
        raise _no_time(files, columns)
    renamed = {} if time is None else {time.name: "time"}
    if source is not None and (bare or source.type.kind in (Kind.INT, Kind.STRING)):
        renamed[source.name] = "id"
    if source is not None and survey.sample is not None and source.name in survey.sample.columns:
        named = has_leading_zeros(survey.sample.columns[source.name])
        source = Column(source.name, STRING) if named else source
    declared = tuple(
        Column("time", TIME)
        if time is not None and column.name == time.name
        else Column(
            renamed.get(column.name, column.name),
            source.type if source is not None and column.name == source.name else column.type,
        )
        for column in columns
    )
    given = name
    name = name or stream_name(files.stem)
    unit, spelt = None, None
    if time is not None and time.type.kind in (Kind.INT, Kind.FLOAT):
        sample = survey.sample
        unit, spelt = unit_of(sample.columns[time.name]) if sample is not None else (None, "microseconds")
    with_id = "id" in renamed.values()
    # A query may use the names of the file, too.
    form = Form(origins=tuple((role, column) for column, role in renamed.items() if column != role))
    stream = Stream(name, stream_columns(declared), time_unit=unit, id_declared=with_id, form=form)
    database.catalog.add_stream(stream)
    database.data.attach_described(stream, files, FileForm(renamed, nanoseconds=spelt == "nanoseconds"))
    if given is None and name != files.name.split(".")[0]:
        database.notes.append(f"{files.name} is the stream {name}")
    taken = " and ".join(f"'{column}' for {role}" for column, role in renamed.items() if column != role)
    if taken:
        database.notes.append(f"{files.name} has no schema: taking {taken}")
    if time is not None and spelt is not None:
        database.notes.append(f"taking '{time.name}' as {spelt} since 1970")


def _no_time(files: FileSet, columns: tuple[Column, ...]) -> DataError:
    return DataError(
        f"no column of '{files.name}' looks like the time of a reading",
        detail=f"its columns are {', '.join(map(str, columns))}",
        hint=f"'nilometer inspect {files.source}' proposes a declaration; or name a column 'time' (ISO-8601, or a"
        " number since 1970)",
    )


def _is_unusual(files: FileSet) -> bool:
    """Whether a CSV file is written in a way that the reader does not find by itself: another delimiter, no header,
    lines before it, decimal commas, another encoding."""
    from nilometer.engine.inspecting.dialect import dialect_of_bytes
    from nilometer.ingest.readers.files import format_of, head

    first = files.paths[0]
    return format_of(first) == "csv" and bool(dialect_of_bytes(head(first)).options())


def _is_nested(files: FileSet, sample: RawFile | None) -> bool:
    """Whether the values of JSON stand inside others, as in messages of brokers."""
    import polars as pl

    from nilometer.ingest.readers.files import format_of

    if sample is None or format_of(files.paths[0]) != "json":
        return False
    texts = [values.drop_nulls() for values in sample.columns if values.dtype == pl.String]
    return any(values.len() and bool(values.str.starts_with("{").all()) for values in texts)


def _refuse_days(files: FileSet, time: Column, sample: RawFile) -> None:
    """Refuse dates that are numbers of days, as spreadsheets count them since 1899-12-30."""
    from nilometer.ingest.readers import read_numbers

    if "date" not in time.name.lower() or time.type.kind not in (Kind.INT, Kind.FLOAT):
        return
    numbers = read_numbers(sample.columns[time.name])
    if numbers.len() and bool(numbers.is_between(*_DAYS).all()):
        raise DataError(
            f"the dates of '{files.name}' are numbers of days, such as {numbers.drop_nulls()[0]:g} in '{time.name}'",
            hint="in the spreadsheet, format the column as a date with the time of day, and save again; numbers"
            " since 1970 need a declaration",
        )


def _has_dates(sample: RawFile | None, time: Column | None) -> bool:
    """Whether the times are whole days, as texts."""
    if sample is None or time is None or time.name not in sample.columns.columns:
        return False
    values = sample.columns[time.name]
    return str(values.dtype) == "String" and bool(values.str.contains(r"^\s*\d{4}-\d{2}-\d{2}\s*$").all())


def _has_formatted_times(sample: RawFile | None) -> bool:
    """Whether times are there that only a FORMAT can read: a TIME FORMAT, or a CLOCK beside the dates."""
    from nilometer.engine.inspecting.times import find_times

    times = None if sample is None else find_times(sample.columns)
    return times is not None and (times.format is not None or times.clock is not None)


def _open_table(database: Database, files: FileSet, columns: tuple[Column, ...], name: str | None) -> None:
    """Declare a table that is stored in the files."""
    given, name = name, name or stream_name(files.stem)
    database.catalog.add_table(Table(name, columns, str(files.source.absolute())))
    called = "" if given is not None and given.lower() == files.stem.lower() else f" {name}"
    database.notes.append(f"no column of {files.name} looks like a time: it is the table{called}")


@dataclass
class _Survey:
    """Reads the files one after the other. `sample` is the first that has rows; `differences` says which files
    have other columns than the first one."""

    files: FileSet
    alike: bool
    sample: RawFile | None = None
    differences: list[str] = field(default_factory=list)

    def raws(self) -> Iterator[RawFile]:
        """Yield each file."""
        from nilometer.ingest.readers import read_raw

        first: tuple[str, tuple[str, ...]] | None = None
        for path in self.files.paths:
            raw = read_raw(path)
            if self.sample is None and (raw.columns.height or raw.broken_count):
                self.sample = raw
            names = raw.names or tuple(raw.columns.columns)
            if first is not None and names:
                self._compare(first, (self.files.label(path), names))
            first = first or ((self.files.label(path), names) if names else None)
            yield raw

    def _compare(self, first: tuple[str, tuple[str, ...]], other: tuple[str, tuple[str, ...]]) -> None:
        (model, expected), (label, names) = first, other
        lacks = [name for name in expected if name not in names]
        adds = [name for name in names if name not in expected]
        if (lacks or adds) and self.alike:
            source = self.files.source
            raise DataError(
                f"'{source}' has no schema.sql, and its files have different columns",
                detail=f"{model} has {', '.join(expected)}; {label} has {', '.join(names)}",
                hint=f"name the files of each stream, as in --data air='{source}/air*.csv', or declare the streams"
                " in a schema.sql",
            )
        parts = [f"has no {', '.join(lacks)}"] if lacks else []
        parts += [f"has also {', '.join(adds)}"] if adds else []
        if parts:
            what = "what a file does not have is NULL"
            self.differences.append(f"{label} {' and '.join(parts)}, unlike {model}: {what}")


def unit_of(times: pl.Series) -> tuple[int | None, str]:
    """The unit of numeric times, by their size: present-day times are 1e9 seconds, 1e12 milliseconds ...
    after 1970. Small whole numbers are microseconds, as in a declared stream; small fractions are seconds."""
    from nilometer.ingest.readers import read_numbers

    numbers = read_numbers(times)
    middle = numbers.abs().median()
    size = middle if isinstance(middle, float) else 0.0
    for least, spelt, unit in _UNITS:
        if size >= least:
            return unit, spelt
    whole = bool((numbers.drop_nulls() == numbers.drop_nulls().floor()).all())
    return (MICROSECOND, "microseconds") if whole else (SECOND, "seconds")


def stream_name(stem: str) -> str:
    """The file's name without its suffixes, as a name that a query can use."""
    from nilometer.language import parse

    plain = re.sub(r"\W", "_", stem)
    for name in (plain, f"{plain}_", f"_{plain}"):
        try:
            parse(f"SELECT * FROM {name}")
        except NilometerError:
            continue
        return name
    return "readings"


def time_column(columns: tuple[Column, ...], sample: RawFile | None) -> Column | None:
    """The column that holds the times: by its name, or the only one of times. A column with such a name may hold
    some values that are no times: their rows are garbled."""
    named = _first(columns, TIME_NAMES)
    if (
        named is not None
        and named.type.kind is Kind.STRING
        and sample is not None
        and _mostly_times(sample, named)
    ):
        return Column(named.name, TIME)
    times = [column for column in columns if column.type.kind is Kind.TIME]
    if named is None or named.type.kind is Kind.STRING:
        return times[0] if len(times) == 1 else named
    return named


def _mostly_times(sample: RawFile, column: Column) -> bool:
    from nilometer.ingest.readers.values import read_values

    values = sample.columns.get_column(column.name, default=None)
    if values is None:
        return False
    return bool(read_values(values, TIME).values.null_count() * 2 < values.len())


def id_column(columns: tuple[Column, ...]) -> Column | None:
    """The column that tells sensors apart: by its name, or the only one whose name ends in `id`."""
    named = _first(columns, ID_NAMES)
    ending = [
        column
        for column in columns
        if re.search(r"(_|\b)[iI][dD]$|[a-z]I[Dd]$", column.name)
        and column.type.kind in (Kind.INT, Kind.STRING)
    ]
    return named or (ending[0] if len(ending) == 1 else None)


def _first(columns: tuple[Column, ...], names: tuple[str, ...]) -> Column | None:
    """The column with the first of the names that is there; a blank counts as `_`."""
    by_name = {re.sub(r"\W+", "_", column.name.strip().lower()): column for column in reversed(columns)}
    return next((by_name[name] for name in names if name in by_name), None)
