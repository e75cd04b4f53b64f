"""One data file without declarations -> a pushed stream of its name, with the columns that it has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.catalog import Stream, Table, stream_columns
from nilometer.errors import DataError
from nilometer.types import TIME, Column, Kind

if TYPE_CHECKING:
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


def open_file(database: Database, path: Path) -> None:
    """Declare a stream for the file and let the file be its log; says which columns it takes for time and id."""
    from nilometer.edge.readers import describe_table, read_table

    url = str(path.resolve())
    columns = describe_table(url, path.name)
    time, source = _first(columns, TIME_NAMES), _first(columns, ID_NAMES)
    if time is None or time.type.kind not in (Kind.TIME, Kind.INT):
        raise DataError(
            f"no column of '{path.name}' looks like the time of a reading",
            detail=f"its columns are {', '.join(map(str, columns))}",
            hint="name one 'time' (ISO-8601, or microseconds), or declare the stream in a schema.sql beside it",
        )
    renamed = {time.name: "time"}
    if source is not None and source.type.kind in (Kind.INT, Kind.STRING):
        renamed[source.name] = "id"
    declared = tuple(
        Column("time", TIME) if column is time else Column(renamed.get(column.name, column.name), column.type)
        for column in columns
    )
    name = re.sub(r"\\W", "_", path.name.split(".")[0]) or "readings"
    stream = Stream(name, stream_columns(declared), id_declared="id" in renamed.values())
    database.catalog.add_stream(stream)
    database.data.base = path.parent
    if set(renamed) == set(renamed.values()):
        database.attach(name, path)
    else:
        database.data.append(stream, read_table(Table(name, columns, url)).rename(renamed))
        taken = " and ".join(f"'{column}' for {role}" for column, role in renamed.items() if column != role)
        database.notes.append(f"{path.name} has no schema: taking {taken}")


def _first(columns: tuple[Column, ...], names: tuple[str, ...]) -> Column | None:
    by_name = {column.name.lower(): column for column in columns}
    return next((by_name[name] for name in names if name in by_name), None)
