"""What SensorThings says of a stream, a column, and a sensor, from the catalog alone."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nilometer.algebra.places import WGS84
from nilometer.catalog import Stream
from nilometer.server.sensorthings.latest import FIRST
from nilometer.server.sensorthings.sources import Source
from nilometer.server.sensorthings.times import Span
from nilometer.types import Column, Kind, format_duration

GEOJSON = "application/geo+json"
_OM = "http://www.opengis.net/def/observationType/OGC-OM/2.0/"
TYPES = {
    Kind.FLOAT: _OM + "OM_Measurement",
    Kind.INT: _OM + "OM_Measurement",
    Kind.BOOLEAN: _OM + "OM_TruthObservation",
    Kind.STRING: _OM + "OM_Observation",
}
COUNT = _OM + "OM_CountObservation"


def thing(source: Source, identity: str) -> dict[str, Any]:
    """A sensor of a stream."""
    sensor = source.sensors[identity]
    attributes = {} if sensor is None else dict(sensor.attributes)
    return {
        "name": identity,
        "description": f"sensor {identity} of the stream {source.stream.name}",
        "properties": {"stream": source.stream.name, "declared": sensor is not None, **attributes},
    }


def place(source: Source, identity: str) -> dict[str, Any] | None:
    """Where a sensor is; in GeoJSON if the stream's coordinates are longitude and latitude."""
    sensor = source.sensors.get(identity)
    if sensor is None or sensor.location is None:
        return None
    globe = source.stream.coordinates == WGS84
    return {
        "name": identity,
        "description": f"the place of sensor {identity} of the stream {source.stream.name}",
        "encodingType": GEOJSON if globe else "application/json",
        "properties": {"coordinates": source.stream.coordinates or "a plane without a unit"},
        "shape": {"type": "Point", "coordinates": list(sensor.location)},
    }


def location(source: Source, identity: str) -> dict[str, Any] | None:
    """A Location."""
    found = place(source, identity)
    return None if found is None else {**_without(found), "location": found["shape"]}


def feature(source: Source, identity: str) -> dict[str, Any] | None:
    """A FeatureOfInterest: what is observed is where the sensor is."""
    found = place(source, identity)
    return None if found is None else {**_without(found), "feature": found["shape"]}


def _without(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "shape"}


def sensor(stream: Stream) -> dict[str, Any]:
    """The procedure: how a stream's readings are made."""
    kind = f"sensed every {format_duration(stream.every)}" if stream.every is not None else "pushed"
    return {
        "name": stream.name,
        "description": f"the stream {stream.name}, {kind}",
        "encodingType": "application/json",
        "metadata": f"/api/v1/streams/{quote(stream.name, safe='')}",
        "properties": {},
    }


def observed_property(stream: Stream, column: Column) -> dict[str, Any]:
    """A column."""
    unit = "" if column.unit is None else f" in {column.unit}"
    return {
        "name": column.name,
        "definition": f"urn:nilometer:stream:{quote(stream.name, safe='')}:{quote(column.name, safe='')}",
        "description": f"the column {column.name} of the stream {stream.name}{unit}",
        "properties": {"type": str(column.type)},
    }


def unit_of(column: Column) -> dict[str, Any]:
    """The unit of measurement; UCUM's code is the symbol."""
    if column.unit is None:
        return {"name": None, "symbol": None, "definition": None}
    definition = f"http://www.opengis.net/def/uom/UCUM/0/{quote(column.unit, safe='')}"
    return {"name": column.unit, "symbol": column.unit, "definition": definition}


def datastream(source: Source, column: Column, identity: str) -> dict[str, Any]:
    """A column of a sensor."""
    at = place(source, identity)
    when = observed_time(source, column.name, source.ids[identity])
    return {
        "name": f"{source.stream.name} {column.name} {identity}",
        "description": f"{column.name} of sensor {identity} of the stream {source.stream.name}",
        "observationType": TYPES[column.type.kind],
        "unitOfMeasurement": unit_of(column),
        "observedArea": None if at is None or at["encodingType"] != GEOJSON else at["shape"],
        "phenomenonTime": when,
        "resultTime": when,
        "properties": {},
    }


def observed_time(source: Source, measure: str, identity: Any) -> str | None:
    """From the first to the last observation, as an interval."""
    first = source.latest.fact(measure, identity, FIRST)
    if first is None:
        return None
    last = source.latest.fact(measure, identity, source.latest.time)
    return interval(first, last)


def interval(first: int, last: int) -> str:
    """An interval, also where it has no length."""
    return f"{Span(first, first)}/{Span(last, last)}"
