"""Reads sensors from a CSV or GeoJSON file.

- CSV: a header with `id`, optionally `stream`, a place (`x` and `y`, `lon` and `lat`, `longitude` and
  `latitude`, or `location`). Any further columns are static attributes, typed by their content.
- GeoJSON: each Point is a sensor, with `id` and `stream` among its properties. The other properties are
  attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nilometer.catalog.extents import Sensor
from nilometer.catalog.near_misses import join_names
from nilometer.catalog.text_files import CsvFile, CsvRow, Feature, is_integer, read_csv, read_geojson, typed
from nilometer.errors import CatalogError

PLACES = (("x", "y"), ("lon", "lat"), ("longitude", "latitude"))
"""The pairs of columns that give a place, the eastward one first."""

Origins = Mapping[str, tuple[str, ...]]
"""`id`, `location` or an attribute's name -> the columns of the file."""

_POINT = re.compile(r"(?:POINT)?\s*\(?\s*([^\s,()]+)(?:\s*,\s*|\s+)([^\s,()]+)\s*\)?", re.IGNORECASE)


def read_sensors(
    path: str | Path, stream: str | None = None, origins: Origins = MappingProxyType({})
) -> list[Sensor]:
    """The sensors in the file; with `stream`, those of that stream (all of them if the file names no streams).
    `origins` gives the file's columns for `id`, `stream`, `location` and attributes that have other names there."""
    path = Path(path)
    if path.suffix.lower() in (".geojson", ".json"):
        sensors = _from_geojson(path, stream, origins)
    else:
        file = read_csv(path)
        place = _given_place(file, origins)
        sensors = _from_csv(_renamed(file, origins), stream, place, file.rows)
    if stream is not None:
        found = list(dict.fromkeys(sensor.stream for sensor in sensors))
        sensors = [sensor for sensor in sensors if sensor.stream.lower() == stream.lower()]
        if found and not sensors:
            raise CatalogError(
                f"{path.name} has no sensor of '{stream}'",
                detail=f"it has sensors of {join_names(found, 'and')}",
            )
    if not sensors:
        raise CatalogError(f"{path.name} has no sensors", hint="write one row a sensor")
    return sensors


# ---- CSV -------------------------------------------------------------------------------------------------------------


def _given_place(file: CsvFile, origins: Origins) -> tuple[str, ...] | None:
    """The columns that the statement names for the location."""
    given = next((columns for name, columns in origins.items() if name.lower() == "location"), None)
    if given is None:
        return None
    file.require(*(column.lower() for column in given))
    return tuple(column.lower() for column in given)


def _renamed(file: CsvFile, origins: Origins) -> CsvFile:
    """The file with its columns named as the statement says."""
    file.require(*(columns[0].lower() for name, columns in origins.items() if name.lower() != "location"))
    names = _names(file.columns.values(), origins)
    rows = [
        CsvRow(
            row.path, row.line, {new.lower(): row.cells.get(old.lower(), "") for new, old in names.items()}
        )
        for row in file.rows
    ]
    return CsvFile(file.path, {new.lower(): new for new in names}, rows)


def _names(found: Iterable[str], origins: Origins) -> dict[str, str]:
    """The name of each column -> its name in the file. A column that was given another name, or whose name was
    given to another one, is left out."""
    given = {name: columns[0] for name, columns in origins.items() if name.lower() != "location"}
    taken = {name.lower() for name in (*given, *given.values())}
    return given | {name: name for name in found if name.lower() not in taken}


def _from_csv(
    file: CsvFile, stream: str | None, named: tuple[str, ...] | None, unnamed: list[CsvRow]
) -> list[Sensor]:
    """`named` are the columns of the location in the `unnamed` rows, which are those of the file itself."""
    file.require("id")
    if stream is None and "stream" not in file.columns:
        raise _no_stream(file.path)
    place = _place_columns(file) if named is None else named
    streams = [stream if "stream" not in file.columns else row.required("stream") for row in file.rows]
    identifiers = _identifiers([row.required("id") for row in file.rows], [str(name) for name in streams])
    attributes = [name for name in file.columns if name not in ("id", "stream", *place)]
    values = {name: typed([row.cells.get(name, "") for row in file.rows]) for name in attributes}
    sensors = []
    seen: dict[tuple[str, int | str], int] = {}
    for index, (row, name, identifier) in enumerate(zip(file.rows, streams, identifiers, strict=True)):
        first = seen.setdefault((str(name).lower(), identifier), row.line)
        if first != row.line:
            row.fail(
                "id", f"the same sensor as in line {first}", "give every sensor of a stream an id of its own"
            )
        given = [(file.columns[column], values[column][index]) for column in attributes]
        present = tuple((column, value) for column, value in given if value is not None)
        where = _place(row if named is None else unnamed[index], place)
        sensors.append(Sensor(identifier, str(name), where, present))
    return sensors


def _identifiers(texts: list[str], streams: list[str]) -> list[int | str]:
    """Ids as INT if all ids of the stream are whole numbers."""
    named = {name for text, name in zip(texts, streams, strict=True) if not is_integer(text)}
    return [text if name in named else int(text) for text, name in zip(texts, streams, strict=True)]


def _place_columns(file: CsvFile) -> tuple[str, ...]:
    for pair in PLACES:
        present = [column for column in pair if column in file.columns]
        if len(present) == 1:
            missing = pair[1 - pair.index(present[0])]
            raise CatalogError(
                f"{file.path.name}, line 1: there is a column '{present[0]}' but no '{missing}'",
                hint=f"add '{missing}', or give '{present[0]}' another name if it is no coordinate",
            )
        if present:
            return pair
    return ("location",) if "location" in file.columns else ()


def _place(row: CsvRow, columns: tuple[str, ...]) -> tuple[float, float] | None:
    match columns:
        case (across, along):
            x, y = row.number(across), row.number(along)
            if x is None and y is None:
                return None
            if x is None or y is None:
                row.fail(across if x is None else along, "a coordinate is missing", "give both or neither")
            if along.startswith("lat") and abs(y) > 90:
                row.fail(
                    along, "a latitude is between -90 and 90", f"were '{across}' and '{along}' exchanged?"
                )
            return x, y
        case (only,):
            return _location(row, only)
        case _:
            return None


def _location(row: CsvRow, column: str) -> tuple[float, float] | None:
    text = row.cells.get(column, "")
    if not text:
        return None
    match = _POINT.fullmatch(text)
    try:
        return (float(match[1]), float(match[2])) if match else row.fail(column, "not a place", _HOW)
    except ValueError:
        row.fail(column, "not a place", _HOW)


_HOW = "write two numbers, as in 120.0 44.5 or POINT(120.0 44.5)"


def _no_stream(path: Path) -> CatalogError:
    return CatalogError(
        f"{path.name} does not say whose sensors these are",
        hint="add a column 'stream', or name it: COPY SENSORS OF river FROM ...",
    )


# ---- GeoJSON ---------------------------------------------------------------------------------------------------------


def _from_geojson(path: Path, stream: str | None, origins: Origins) -> list[Sensor]:
    if any(name.lower() == "location" for name in origins):
        raise CatalogError(
            f"{path.name} is GeoJSON: the location of a sensor is its Point",
            hint="leave out location FROM ...",
        )
    sensors = []
    seen: dict[tuple[str, Any], int] = {}
    _, features = read_geojson(path)
    for feature in features:
        if feature.geometry not in ("Point", None):
            feature.fail(f"a sensor is a Point, not a {feature.geometry}")
        if origins:
            values = {name.lower(): value for name, value in feature.properties.items()}
            names = _names(feature.properties, origins)
            feature = replace(
                feature, properties={new: values.get(old.lower()) for new, old in names.items()}
            )
        properties = {name.lower(): value for name, value in feature.properties.items()}
        identifier, name = properties.get("id"), properties.get("stream", stream)
        if isinstance(identifier, bool) or not isinstance(identifier, int | str):
            feature.fail(
                "it has no usable id",
                "there is none" if identifier is None else f"id is {identifier!r}",
                "give it a property 'id', a whole number or a string",
            )
        if not isinstance(name, str):
            raise _no_stream(path)
        first = seen.setdefault((name.lower(), identifier), feature.number)
        if first != feature.number:
            feature.fail(f"the same sensor as feature {first}", f"id is {identifier!r}")
        place = feature.positions[0] if feature.positions else None
        sensors.append(Sensor(identifier, name, place, _attributes(feature)))
    return sensors


def _attributes(feature: Feature) -> tuple[tuple[str, Any], ...]:
    attributes = []
    for name, value in feature.properties.items():
        if name.lower() in ("id", "stream") or value is None:
            continue
        if not isinstance(value, bool | int | float | str):
            feature.fail(
                f"property '{name}' is no plain value",
                f"found {value!r}",
                "use numbers, strings, true and false",
            )
        attributes.append((name, value))
    return tuple(attributes)
