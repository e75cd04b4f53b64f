"""The extents of the catalog: sensed and pushed streams, stored tables, and the sensors that feed the streams.

Names follow OGC SensorThings: a `Stream` is a Datastream, its columns are ObservedProperties with a unit of
measurement, a `Sensor` is a Thing with a Location, a tuple is an Observation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from nilometer.catalog.form import PLAIN, Form
from nilometer.types import INT, MINUTE, SECOND, TIME, Column, Type


@dataclass(frozen=True, slots=True)
class Stream:
    """A streamed extent. Durations are microseconds.

    `columns` are all columns in the order of `SELECT *`: `time` and `id` first, unless they were declared
    elsewhere. `every` is the acquisition interval of a sensed stream, and None for a pushed one. `time_unit`
    is the unit of an INT `time` in the data (microseconds per unit), and None if times come as ISO-8601 or
    as numbers whose size tells their unit. `form` says where in the data the columns are.
    `coordinates` are those of its points: WGS84 (longitude and latitude in degrees), a unit of length, or None
    for a plane without a unit.
    """

    name: str
    columns: tuple[Column, ...]
    every: int | None = None
    url: str | None = None
    delay: int = 0
    key: tuple[str, ...] = ()
    expect: int | None = None
    future: int = MINUTE
    time_unit: int | None = None
    id_declared: bool = False
    form: Form = PLAIN
    coordinates: str | None = None

    @property
    def sensed(self) -> bool:
        """Whether tuples are acquired at a declared interval (pulled) rather than pushed."""
        return self.every is not None

    @property
    def interval(self) -> int | None:
        """The expected interval between readings of one sensor, if known."""
        return self.every if self.every is not None else self.expect

    def column(self, name: str) -> Column | None:
        """The column of that name; case does not matter."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)

    @property
    def arriving(self) -> Stream:
        """The stream as its readings arrive: with the columns that the unit before its log takes, if it has one."""
        through = self.form.through
        if through is None:
            return self
        own = tuple(column for column in self.columns if column.name.lower() in ("time", "id"))
        return replace(self, columns=(*own, *through.columns), key=(), form=replace(self.form, through=None))

    @property
    def id_type(self) -> Type:
        """INT or STRING."""
        found = self.column("id")
        return found.type.plain if found else INT


@dataclass(frozen=True, slots=True)
class Table:
    """A stored extent: PostgreSQL, SQLite, Parquet, CSV or JSON lines at `url`; `table` names the table there."""

    name: str
    columns: tuple[Column, ...]
    url: str
    table: str | None = None
    refresh: int | None = None
    form: Form = PLAIN

    def column(self, name: str) -> Column | None:
        """The column of that name; case does not matter."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


Extent = Stream | Table


def future_for(delay: int) -> int:
    """FUTURE of a stream that declares none: half of DELAY, at least a second and at most a minute.

    The watermark is the greatest time minus DELAY, so it stays half of DELAY behind the clock, whatever one sensor's
    clock says: the other half is for the way of everybody else's readings. Without DELAY every disorder is late
    anyway, and nothing is gained by refusing readings.

    >>> future_for(0) // SECOND, future_for(5 * SECOND) / SECOND, future_for(10 * MINUTE) // SECOND
    (60, 2.5, 60)
    """
    return MINUTE if not delay else min(MINUTE, max(SECOND, delay // 2))


@dataclass(frozen=True, slots=True)
class Sensor:
    """A source of a stream: a row of the one `sensors` relation, with static attributes and a location."""

    id: int | str
    stream: str
    location: tuple[float, float] | None = None
    attributes: tuple[tuple[str, Any], ...] = ()


def stream_columns(declared: tuple[Column, ...], id_type: Type = INT) -> tuple[Column, ...]:
    """All columns of a stream: the implicit `time` and `id` come first unless declared; `time` is always
    TIME."""
    names = {column.name.lower() for column in declared}
    implicit = (Column("time", TIME), Column("id", id_type))
    columns = tuple(Column(c.name, TIME) if c.name.lower() == "time" else c for c in declared)
    return tuple(column for column in implicit if column.name not in names) + columns
