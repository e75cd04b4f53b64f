"""The Datastreams that clients make, in the catalog: the stream `observations`, and each Datastream as a sensor of it,
with the names of its Thing and ObservedProperty. So SQL can ask and join them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nilometer.catalog import Stream
from nilometer.server.sensorthings import own
from nilometer.server.sensorthings.bodies import OLD_GEOJSON
from nilometer.server.sensorthings.derived import GEOJSON
from nilometer.server.sensorthings.kinds import DATASTREAMS, LOCATIONS, OBSERVED_PROPERTIES, THINGS, Kind
from nilometer.server.sensorthings.model import Model
from nilometer.server.sensorthings.names import Id

if TYPE_CHECKING:
    from nilometer.server.desk import Desk


def ensure_stream(desk: Desk) -> None:
    """Declare the stream of clients' observations, if it is not there."""
    with desk.database() as database:
        found = database.catalog.extent(own.NAME)
    if isinstance(found, Stream):
        own.check(found)
    else:
        desk.execute(own.STATEMENT)


def declare(desk: Desk, model: Model, datastreams: list[int] | None = None) -> None:
    """Bring the sensors of the stream to what the Datastreams say; by default of all."""
    wanted = model.store.numbers(DATASTREAMS.name) if datastreams is None else datastreams
    if not wanted:
        return
    if model.own is None:
        ensure_stream(desk)
    with desk.database() as database:
        sensors = {sensor.id: sensor for sensor in database.catalog.sensors(own.NAME)}
    for identity in wanted:
        there = sensors.get(identity)
        asked = _sensor(model, identity)
        if there is not None:
            if asked is not None and (there.location, dict(there.attributes)) == asked:
                continue
            desk.execute(f"DROP SENSOR {identity} OF {own.NAME}")
        if asked is not None:
            desk.execute(_statement(identity, *asked))


def _sensor(model: Model, identity: int) -> tuple[tuple[float, float] | None, dict[str, Any]] | None:
    """The place and attributes of a Datastream; None if it is gone."""
    found = model.find(DATASTREAMS, identity)
    if found is None:
        return None
    things = model.linked(DATASTREAMS, identity, "Thing")
    places = model.linked(THINGS, things[0], "Locations") if things else []
    location = model.find(LOCATIONS, places[0]) if places else None
    attributes = {
        "datastream": found.properties["name"],
        "thing": _name(model, THINGS, things),
        "property": _name(
            model, OBSERVED_PROPERTIES, model.linked(DATASTREAMS, identity, "ObservedProperty")
        ),
        "unit": found.properties["unitOfMeasurement"].get("symbol"),
    }
    shown = {name: value for name, value in attributes.items() if isinstance(value, str)}
    return None if location is None else _point(location.properties), shown


def _name(model: Model, kind: Kind, ends: list[Id]) -> Any:
    found = model.find(kind, ends[0]) if ends else None
    return None if found is None else found.properties.get("name")


def _point(location: dict[str, Any]) -> tuple[float, float] | None:
    shape = location.get("location")
    if location.get("encodingType") not in (GEOJSON, OLD_GEOJSON) or not isinstance(shape, dict):
        return None
    shape = shape.get("geometry", shape)
    if not isinstance(shape, dict) or shape.get("type") != "Point":
        return None
    longitude, latitude, *_ = shape["coordinates"]
    return float(longitude), float(latitude)


def _statement(identity: int, place: tuple[float, float] | None, attributes: dict[str, Any]) -> str:
    at = "" if place is None else f" AT ({place[0]!r}, {place[1]!r})"
    said = ", ".join(f"{name} = {_quoted(value)}" for name, value in attributes.items())
    return f"CREATE SENSOR {identity} OF {own.NAME}{at}" + (f" WITH {said}" if said else "")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
