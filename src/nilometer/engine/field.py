"""The field at a moment: its phenomena, in sentences.

smoke: 14 sensors, 36 to 187 ug/m3, around 38.1 N 121.9 W, 9,400 km2, since 6 h, moving south-west at 1.2 m/s
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from nilometer.algebra.places import WGS84, Place, distance
from nilometer.algebra.prediction import Course
from nilometer.algebra.table_function import Frame
from nilometer.algebra.table_functions.phenomena import NEAR, growth_of
from nilometer.errors import ConfigurationError
from nilometer.language.print_expressions import identifier
from nilometer.pictures.field_map import Outlook
from nilometer.plan import logical
from nilometer.types import DAY, HOUR, MINUTE, SECOND, floor_to

if TYPE_CHECKING:
    from nilometer.engine.database import Database
    from nilometer.engine.followed import Asked
    from nilometer.engine.query import Query

_COMPASS = ("east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east")
AHEAD = 8
"""How many evaluations ahead `reaches` looks."""
DRAWN = 4
"""How many evaluations ahead a map shows."""
_STILL = 1e-3
"""Slower than this, in metres a second, a phenomenon is not said to move."""


@dataclass(frozen=True)
class Field:
    """The phenomena of one definition at its last evaluation up to a moment: rows of CURRENT. `history` has those of
    all evaluations up to it, in order; `sensors` are the places of all sensors, and `heard` those that had sent."""

    name: str
    tick: int
    slide: int
    rows: list[dict[str, Any]]
    history: list[dict[str, Any]]
    sensors: dict[int | str, Place]
    coordinates: str | None
    unit: str | None
    likeness: str
    heard: frozenset[int | str]
    metres: float
    names: dict[int | str, str]
    growth: float
    unplaced: int = 0
    """Sensors that had sent and have no place, where NEIGHBOURS WITHIN needs one: they take no part."""

    @property
    def sentences(self) -> list[str]:
        """A sentence for each phenomenon, or one that says that there is none; and one on sensors without a place."""
        found = [self._sentence(row) for row in self.rows] or [
            f"{self.name}: nothing is going on: {len(self.heard):,} sensors, no group of them {self.likeness}"
        ]
        if self.unplaced:
            sensors = "1 sensor has" if self.unplaced == 1 else f"{self.unplaced:,} sensors have"
            found.append(
                f"{self.name}: {sensors} no place, and {'takes' if self.unplaced == 1 else 'take'} no part"
            )
        return found

    def _sentence(self, row: Mapping[str, Any]) -> str:
        unit = "" if self.unit is None else f" {self.unit}"
        parts = [f"{row['size']:,} sensors"]
        if row["low"] is not None:
            parts.append(f"{row['low']:,.4g} to {row['high']:,.4g}{unit}")
        if row["location"] is not None:
            parts.append(f"around {place_text(row['location'], self.coordinates, row['area'])}")
        if row["area"]:
            parts.append(area_text(row["area"], self.coordinates))
        parts.append(
            f"since {length_text(row['time'] - row['born'])}" if row["time"] > row["born"] else "new"
        )
        speed = math.hypot(row["velocity_x"] or 0.0, row["velocity_y"] or 0.0)
        if speed > _STILL:
            parts.append(f"moving {direction(row['velocity_x'], row['velocity_y'])} at {speed:.2g} m/s")
        arrivals = self.arrivals(row, AHEAD) if speed > _STILL else []
        reached = (
            f"; it reaches {self.called(arrivals[0][1])} in about {length_text(arrivals[0][0] * self.slide)}"
            if arrivals
            else ""
        )
        return f"{self.name}: {', '.join(parts)}{reached}"

    def called(self, sensor: int | str) -> str:
        """The name of a sensor, or else its id."""
        return self.names.get(sensor, str(sensor))

    def course(self, row: Mapping[str, Any]) -> Course | None:
        """How a phenomenon of the history goes on, as PREDICT says; None if it has no place or no velocity."""
        if row["location"] is None or row["velocity_x"] is None:
            return None
        return Course(
            (row["location"]["x"], row["location"]["y"]),
            row["region"],
            [each["area"] or 0.0 for each in self.lives[row["id"]] if each["time"] <= row["time"]],
            (row["velocity_x"], row["velocity_y"]),
            row["size"],
            self.slide / SECOND,
            self.coordinates,
            self.metres,
            self.growth,
        )

    def arrivals(self, row: Mapping[str, Any], most: int) -> list[tuple[int, int | str]]:
        """After how many evaluations, at most so many, it reaches which sensor, as ARRIVALS says: the first first, then
        the nearest."""
        course = self.course(row)
        if course is None:
            return []
        places = {sensor: place for sensor, place in self.sensors.items() if sensor in self.heard}
        found = course.reaches(places, row["members"], most)

        def order(each: tuple[int, int | str]) -> tuple[int, float, str]:
            steps, sensor = each
            return steps, distance(self.coordinates, course.location, places[sensor]), self.called(sensor)

        return sorted(found, key=order)

    def outlook(self, row: Mapping[str, Any]) -> Outlook | None:
        """Where a phenomenon of the history will be after DRAWN evaluations, and whom it reaches until then, for a map."""
        course = self.course(row)
        if course is None or math.hypot(*course.velocity) <= _STILL:
            return None
        location, region, _ = course.after(DRAWN)
        reached = [
            (f"{self.called(sensor)}, {length_text(steps * self.slide)}", self.sensors[sensor])
            for steps, sensor in self.arrivals(row, DRAWN)
        ]
        return Outlook(length_text(DRAWN * self.slide), location, region, reached)

    @cached_property
    def lives(self) -> dict[str, list[dict[str, Any]]]:
        """The history of each phenomenon."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self.history:
            found.setdefault(row["id"], []).append(row)
        return found


Look = Callable[["Query"], "Asked"]
"""How the rows of CURRENT are found, and the time of the last reading."""


def describe_field(
    database: Database, at: int | None = None, name: str | None = None, look: Look | None = None
) -> list[Field]:
    """The field at a moment (None: at the last reading), for one phenomenon or for all that are declared. `look`: how
    the rows are found; default: by a run over all data at hand."""
    declared = database.catalog.phenomena()
    wanted = [each for each in declared if name is None or each.name.lower() == name.lower()]
    if not wanted:
        known = ", ".join(each.name for each in declared)
        raise ConfigurationError(
            "no phenomenon is declared" if name is None else f"no phenomenon '{name}'",
            detail=f"declared are {known}" if known else None,
            hint="declare one: CREATE PHENOMENON smoke ON air.pm25 ABOVE 35 RANGE 3 HOURS",
        )
    return [_field(database, each.name, at, look or all_data) for each in wanted]


def all_data(query: Query) -> Asked:
    """The rows of all data at hand."""
    from nilometer.engine.followed import Asked
    from nilometer.plan import physical

    (stream,) = physical.streams_of(query.physical).values()
    times = f"SELECT id, MIN(time) AS first, MAX(time) AS last FROM {identifier(stream.name)} GROUP BY id"
    sent = query.database.sql(times).run("gateway").given
    rows = query.run("gateway").given
    assert isinstance(rows, pl.DataFrame), "the gateway gives frames"
    assert isinstance(sent, pl.DataFrame), "the gateway gives frames"
    return Asked(rows, sent)


def _field(database: Database, name: str, at: int | None, look: Look) -> Field:
    query = database.sql(f"SELECT * FROM CURRENT({identifier(name)})")
    node = next(each for each in logical.walk_plan(query.logical) if isinstance(each, logical.TableFunction))
    leaf = next(each for each in logical.walk_plan(node.input) if isinstance(each, logical.Acquire))
    frame = node.call.window
    assert isinstance(frame, Frame)
    asked = look(query)
    tick = floor_to((asked.latest or 0) if at is None else at, frame.slide)
    # A frame has times in microseconds.
    rows = [row for row in asked.rows.to_dicts() if row["time"] <= tick]
    places = _places(database, node.call.columns, leaf, tick)
    value = node.input.schema[node.call.columns[0]]
    place = node.input.schema[node.call.columns[1]].unit if len(node.call.columns) > 1 else None
    word = str(node.call["LIKENESS"])
    given = node.call[word]
    bounds = given if isinstance(given, tuple) else (given,)
    shown = " and ".join(f"{each:g}" for each in bounds if isinstance(each, float))
    likeness = f"{word.lower()} {shown}".strip() + ("" if value.unit is None else f" {value.unit}")
    now = [row for row in rows if row["time"] == tick]
    sensors = database.catalog.sensors(leaf.stream.name)
    names = {sensor.id: str(called) for sensor in sensors if (called := dict(sensor.attributes).get("name"))}
    metres = node.call["METRES"]
    scale = metres if isinstance(metres, float) else 1.0
    heard = frozenset(asked.sent.filter(pl.col("first") <= tick).get_column("id"))
    return Field(
        name,
        tick,
        frame.slide,
        now,
        rows,
        places,
        place,
        value.unit,
        likeness,
        heard,
        scale,
        names,
        growth_of(node.call),
        len(heard - places.keys()) if node.call[NEAR] is not None else 0,
    )


def _places(
    database: Database, columns: tuple[str, ...], leaf: logical.Acquire, tick: int
) -> dict[int | str, Place]:
    """Where the sensors are: as declared, or where the last reading up to the evaluation says."""
    declared = database.catalog.sensors(leaf.stream.name)
    alias, name = columns[1].split(".", 1) if len(columns) > 1 else ("", "")
    if not name or (alias == leaf.alias and leaf.stream.column(name) is None):
        return {sensor.id: sensor.location for sensor in declared if sensor.location is not None}
    text = f"SELECT time, id, {identifier(name)} AS place FROM {identifier(alias)}"
    read = database.sql(text).run("gateway").given
    assert isinstance(read, pl.DataFrame), "the gateway gives frames"
    known = read.filter(pl.col("time") <= tick).sort("time", maintain_order=True)
    last = known.group_by("id", maintain_order=True).last().drop_nulls("place")
    return {sensor: (place["x"], place["y"]) for sensor, place in last.select("id", "place").iter_rows()}


# ---- words -----------------------------------------------------------------------------------------------------------


def place_text(
    place: Sequence[float] | Mapping[str, float], coordinates: str | None, area: float | None = None
) -> str:
    """The middle of an area, as exactly as its size asks for.

    >>> (
    ...     place_text((-121.94, 38.12), "WGS84"),
    ...     place_text((3.0, 4.25), "m"),
    ...     place_text((8.54, 47.381), "WGS84", 3e6),
    ... )
    ('38.1 N 121.9 W', '(3, 4.25) m', '47.38 N 8.54 E')
    """
    x, y = place.values() if isinstance(place, Mapping) else place
    if coordinates == WGS84:
        digits = 1 if not area else 1 + sum(area < size for size in (1e8, 1e6, 1e4))
        return f"{abs(y):.{digits}f} {'N' if y >= 0 else 'S'} {abs(x):.{digits}f} {'E' if x >= 0 else 'W'}"
    return f"({x:.4g}, {y:.4g})" + ("" if coordinates is None else f" {coordinates}")


def area_text(area: float, coordinates: str | None) -> str:
    """
    >>> area_text(9_400_000_000.0, "WGS84"), area_text(12.0, None)
    ('9,400 km2', '12')
    """
    if coordinates is None:
        return f"{area:,.4g}"
    return f"{area / 1e6:,.0f} km2" if area >= 1e6 else f"{area:,.0f} m2"


def length_text(microseconds: int) -> str:
    """
    >>> length_text(6 * HOUR), length_text(90 * SECOND), length_text(60 * HOUR), length_text(100 * MINUTE)
    ('6 h', '90 s', '2.5 d', '100 min')
    """
    for unit, size, least in (("d", DAY, 2), ("h", HOUR, 2), ("min", MINUTE, 2)):
        if microseconds >= least * size:
            digits = 3 if microseconds >= 10 * size else 2
            return f"{microseconds / size:.{digits}g} {unit}"
    return f"{microseconds / SECOND:.3g} s"


def direction(x: float, y: float) -> str:
    """
    >>> direction(-1.0, -1.1), direction(0.0, 2.0)
    ('south-west', 'north')
    """
    return _COMPASS[round(math.atan2(y, x) / (math.pi / 4)) % 8]
