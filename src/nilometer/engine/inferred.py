"""One data file without declarations -> a pushed stream named after it, with the file's columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.catalog import Stream, stream_columns
from nilometer.errors import DataError, NilometerError
from nilometer.types import SECOND, TIME, Column, Kind

if TYPE_CHECKING:
    import polars as pl

    from nilometer.engine.database import Database

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


def open_file(database: Database, path: Path) -> None:
    """Declare a stream for the file and make the file its log; notes which columns it uses as time and id."""
    from nilometer.ingest.readers import FileForm, described_columns, read_raw

    raw = read_raw(path)
    columns = described_columns(raw)
    bare = not raw.columns.height and not raw.broken_count
    time, source = _first(columns, TIME_NAMES), _first(columns, ID_NAMES)
    if (time is None and (columns or not bare)) or (
        time is not None and not bare and time.type.kind not in (Kind.TIME, Kind.INT, Kind.FLOAT)
    ):
        raise DataError(
            f"no column of '{path.name}' looks like the time of a reading",
            detail=f"its columns are {', '.join(map(str, columns))}",
            hint="name one 'time' (ISO-8601, or a number since 1970), or declare the stream in a schema.sql beside it",
        )
    renamed = {} if time is None else {time.name: "time"}
    if source is not None and (bare or source.type.kind in (Kind.INT, Kind.STRING)):
        renamed[source.name] = "id"
    declared = tuple(
        Column("time", TIME) if column is time else Column(renamed.get(column.name, column.name), column.type)
        for column in columns
    )
    name = _stream_name(path)
    unit, spelt = None, None
    if time is not None and time.type.kind in (Kind.INT, Kind.FLOAT):
        unit, spelt = _unit(raw.columns[time.name])
    with_id = "id" in renamed.values()
    stream = Stream(name, stream_columns(declared), time_unit=unit, id_declared=with_id)
    database.catalog.add_stream(stream)
    database.data.base = path.parent
    database.data.attach_described(stream, path, FileForm(renamed, nanoseconds=spelt == "nanoseconds"))
    if name != path.name.split(".")[0]:
        database.notes.append(f"{path.name} is the stream {name}")
    taken = " and ".join(f"'{column}' for {role}" for column, role in renamed.items() if column != role)
    if taken:
        database.notes.append(f"{path.name} has no schema: taking {taken}")
    if time is not None and spelt is not None:
        database.notes.append(f"taking '{time.name}' as {spelt} since 1970")


def _unit(times: pl.Series) -> tuple[int | None, str]:
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
    return (None, "microseconds") if whole else (SECOND, "seconds")


def _stream_name(path: Path) -> str:
    """The file's name without its suffixes, as a name that a query can use."""
    from nilometer.language import parse

    plain = re.sub(r"\W", "_", path.name.split(".")[0])
    for name in (plain, f"{plain}_", f"_{plain}"):
        try:
            parse(f"SELECT * FROM {name}")
        except NilometerError:
            continue
        return name
    return "readings"


def _first(columns: tuple[Column, ...], names: tuple[str, ...]) -> Column | None:
    by_name = {column.name.lower(): column for column in columns}
    return next((by_name[name] for name in names if name in by_name), None)
