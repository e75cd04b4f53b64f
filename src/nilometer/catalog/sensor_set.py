"""The relation `sensors`, and the static columns that each stream has from its own sensors (STEAM section
3.3).

An attribute has one type in the whole relation. INT and FLOAT together make FLOAT; any other two types clash,
and the sensor's declaration is refused. Names ignore case; the first spelling stays. A sensor's id has its
stream's `id` type.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from nilometer.catalog.extents import Sensor, Stream
from nilometer.catalog.near_misses import near_misses
from nilometer.errors import CatalogError
from nilometer.types import (
    BOOLEAN,
    FLOAT,
    INT,
    INT_MAXIMUM,
    INT_MINIMUM,
    POINT,
    STRING,
    Column,
    Kind,
    Type,
)

SENSORS_URL = "catalog:sensors"
"""The place of the built-in relation: the catalog itself."""

RESERVED = ("id", "time", "tick", "stream", "location")
"""Names that a static attribute cannot have, because they already have a meaning."""


@dataclass
class Attribute:
    """An attribute of the relation: its first spelling, its type (None while all values are NULL), its
    streams."""

    name: str
    type: Type | None = None
    streams: dict[str, None] = field(default_factory=dict)
    example: tuple[Sensor, Any] | None = None

    @property
    def column(self) -> Column:
        """The column of the relation for this attribute."""
        return Column(self.name, self.type or STRING)


@dataclass
class Addition:
    """The effect of declaring some sensors: ids and streams retyped, sensors added."""

    removed: list[Sensor] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    sensors: list[Sensor] = field(default_factory=list)


class SensorSet:
    """All sensors of a catalog, as declared. It grows in place, so that the cost of declaring a sensor does
    not depend on how many there are."""

    def __init__(self, sensors: Iterable[Sensor] = ()) -> None:
        self._all: list[Sensor] = []
        self._by_stream: dict[str, list[Sensor]] = {}
        self._keys: set[tuple[str, int | str]] = set()
        self._attributes: dict[str, Attribute] = {}
        self._text_ids = False
        self._given: dict[str | None, tuple[Sensor, ...]] = {}
        self.extend(sensors)

    def extend(self, sensors: Iterable[Sensor]) -> None:
        """Add sensors that `adding` has checked."""
        self._given.clear()
        for sensor in sensors:
            key = sensor.stream.lower()
            self._all.append(sensor)
            self._by_stream.setdefault(key, []).append(sensor)
            self._keys.add((key, sensor.id))
            self._text_ids |= isinstance(sensor.id, str)
            _collect(sensor, self._attributes)

    def declared(self, stream: str) -> list[Sensor]:
        """The sensors of a stream, exactly as declared."""
        return self._by_stream.get(stream.lower(), [])

    def of(self, stream: str | None) -> tuple[Sensor, ...]:
        """The sensors of a stream, or of all, with attributes named and typed as the columns are."""
        key = None if stream is None else stream.lower()
        if key not in self._given:
            sensors = self._all if key is None else self.declared(key)
            self._given[key] = tuple(replace(s, attributes=tuple(self._typed(s).items())) for s in sensors)
        return self._given[key]

    def _typed(self, sensor: Sensor) -> dict[str, Any]:
        values = {}
        for name, value in sensor.attributes:
            column = self._attributes[name.lower()].column
            values[column.name] = float(value) if column.type == FLOAT and value is not None else value
        return values

    # ---- as columns and rows -------------------------------------------------------------------------------------

    def static_columns(self, stream: Stream) -> tuple[Column, ...]:
        """`location`, unless the stream has a column of that name or no sensor has a place, and the sensors'
        attributes."""
        located = any(sensor.location is not None for sensor in self.declared(stream.name))
        place = (
            (Column("location", POINT, stream.coordinates),)
            if located and stream.column("location") is None
            else ()
        )
        key = stream.name.lower()
        return place + tuple(a.column for a in self._attributes.values() if key in a.streams)

    def relation_columns(self) -> tuple[Column, ...]:
        """The columns of `sensors`."""
        fixed = (
            Column("id", STRING if self._text_ids else INT),
            Column("stream", STRING),
            Column("location", POINT),
        )
        return fixed + tuple(attribute.column for attribute in self._attributes.values())

    def rows(self) -> list[dict[str, Any]]:
        """The rows of `sensors`."""
        columns = self.relation_columns()
        as_text = columns[0].type == STRING
        missing = {column.name: None for column in columns}
        return [
            missing
            | {"id": str(s.id) if as_text else s.id, "stream": s.stream, "location": s.location}
            | self._typed(s)
            for s in self._all
        ]

    # ---- changing ------------------------------------------------------------------------------------------------

    def adding(self, sensors: list[Sensor], streams: dict[str, Stream]) -> Addition:
        """The effect of declaring these sensors; a CatalogError if one is refused."""
        addition = Addition()
        text_ids: set[str] = set()
        for key, stream in streams.items():
            text = any(isinstance(s.id, str) for s in sensors if s.stream.lower() == key)
            if text and stream.id_type == INT and not stream.id_declared:
                wider = replace(
                    stream,
                    columns=tuple(
                        Column("id", STRING) if c.name.lower() == "id" else c for c in stream.columns
                    ),
                )
                retyped = self.retyped(wider)
                addition.streams.append(wider)
                addition.removed += [old for old, _ in retyped]
                addition.sensors += [new for _, new in retyped]
                text_ids.add(key)
            elif stream.id_type == STRING:
                text_ids.add(key)
        freed = {(s.stream.lower(), s.id) for s in addition.removed}
        taken = {(s.stream.lower(), s.id) for s in addition.sensors}
        attributes = {
            key: replace(known, streams=dict(known.streams)) for key, known in self._attributes.items()
        }
        new = []
        for sensor in sensors:
            key = sensor.stream.lower()
            stream = streams[key]
            whole = _checked(replace(sensor, id=str(sensor.id)) if key in text_ids else sensor, stream)
            if isinstance(whole.id, str) and key not in text_ids:
                raise CatalogError(
                    f"sensor {whole.id!r} of '{stream.name}' has an id that is no INT",
                    detail=f"'{stream.name}' declares its column id as INT",
                    hint="give a number, or declare the stream with (id STRING, ...)",
                )
            place = (key, whole.id)
            if place in taken or (place in self._keys and place not in freed):
                raise CatalogError(
                    f"there is a sensor {whole.id!r} of '{stream.name}' already",
                    hint=f"choose another id, or DROP SENSOR {whole.id!r} OF {stream.name} first",
                )
            taken.add(place)
            _collect(whole, attributes)
            new.append(whole)
        addition.sensors += new
        return addition

    def retyped(self, stream: Stream) -> list[tuple[Sensor, Sensor]]:
        """The stream's sensors before and after the change, with ids of its id type."""
        pairs = []
        for sensor in self.declared(stream.name):
            if stream.id_type == STRING:
                pairs.append((sensor, replace(sensor, id=str(sensor.id))))
            elif isinstance(sensor.id, int):
                pairs.append((sensor, sensor))
            else:
                try:
                    number = int(sensor.id)
                except ValueError:
                    number = None
                if number is None or str(number) != sensor.id:
                    raise CatalogError(
                        f"sensor {sensor.id!r} of '{stream.name}' has an id that is no INT",
                        detail=f"'{stream.name}' is being declared with id INT",
                        hint="keep id STRING, or drop the sensor first",
                    )
                pairs.append((sensor, replace(sensor, id=number)))
        return pairs

    def check_stream(self, stream: Stream) -> None:
        """Check that a redeclared stream has no column with the name of one of its sensors' attributes."""
        for sensor in self.declared(stream.name):
            _checked(sensor, stream)

    def find(self, identifier: int | str, stream: str | None, if_exists: bool) -> Sensor | None:
        """The sensor to drop; without a stream, its id must be unique."""
        candidates = self._all if stream is None else self.declared(stream)
        found = [s for s in candidates if str(s.id) == str(identifier)]
        where = "" if stream is None else f" of '{stream}'"
        if len(found) > 1:
            raise CatalogError(
                f"there are {len(found)} sensors {identifier!r}",
                detail="of " + ", ".join(f"'{s.stream}'" for s in found),
                hint=f"say whose: DROP SENSOR {identifier!r} OF {found[0].stream}",
            )
        if not found and not if_exists:
            raise CatalogError(
                f"no sensor {identifier!r}{where}",
                hint=near_misses(str(identifier), [str(s.id) for s in candidates])
                or "SHOW SENSORS lists what there is",
            )
        return found[0] if found else None


def _checked(sensor: Sensor, stream: Stream) -> Sensor:
    """The sensor with its stream's spelling and NaN as NULL; a CatalogError if an attribute is invalid."""
    who = f"sensor {sensor.id!r} of '{stream.name}'"
    if isinstance(sensor.id, int) and not INT_MINIMUM <= sensor.id <= INT_MAXIMUM:
        raise CatalogError(f"{who} has an id beyond 64 bits", hint="use a smaller number, or a string")
    if sensor.location is not None and not all(map(math.isfinite, sensor.location)):
        raise CatalogError(f"{who} has an impossible location", detail=f"location is {sensor.location}")
    seen: set[str] = set()
    attributes = []
    for name, value in sensor.attributes:
        key = name.lower()
        if key in RESERVED or stream.column(name) is not None:
            raise CatalogError(
                f"{who} cannot have an attribute '{name}'",
                detail=f"'{name}' means something already, in '{stream.name}' or in the relation sensors",
                hint="choose another name for the attribute",
            )
        if key in seen:
            raise CatalogError(f"{who} has the attribute '{name}' twice", hint="leave one of the two out")
        seen.add(key)
        _type_of_value(who, name, value)
        attributes.append((name, None if isinstance(value, float) and math.isnan(value) else value))
    place = None if sensor.location is None else (float(sensor.location[0]), float(sensor.location[1]))
    return replace(sensor, stream=stream.name, location=place, attributes=tuple(attributes))


def _type_of_value(who: str, name: str, value: Any) -> Type | None:
    match value:
        case None:
            return None
        case bool():
            return BOOLEAN
        case int() if INT_MINIMUM <= value <= INT_MAXIMUM:
            return INT
        case float() if not math.isinf(value):
            return None if math.isnan(value) else FLOAT
        case str():
            return STRING
    raise CatalogError(
        f"{who} has an attribute '{name}' with an unsupported value",
        detail=f"{name} is {value!r}",
        hint="an attribute is a 64-bit integer, a finite number, a string, TRUE, FALSE or NULL",
    )


def _collect(sensor: Sensor, known: dict[str, Attribute]) -> None:
    """Add the attributes of a sensor to the known ones; a CatalogError if two types clash."""
    for name, value in sensor.attributes:
        attribute = known.setdefault(name.lower(), Attribute(name))
        attribute.streams[sensor.stream.lower()] = None
        found = _type_of_value(f"sensor {sensor.id!r}", name, value)
        if found is None or found == attribute.type:
            continue
        if attribute.type is None:
            attribute.type, attribute.example = found, (sensor, value)
        elif {found.kind, attribute.type.kind} == {Kind.INT, Kind.FLOAT}:
            attribute.type = FLOAT
        else:
            assert attribute.example is not None
            other, example = attribute.example
            raise CatalogError(
                f"attribute '{name}' of sensor {sensor.id!r} of '{sensor.stream}' is {found}, "
                f"but elsewhere it is {attribute.type}",
                detail=f"{value!r} here, {example!r} of sensor {other.id!r} of '{other.stream}'",
                hint="give both the same type, or one of them another name",
            )
