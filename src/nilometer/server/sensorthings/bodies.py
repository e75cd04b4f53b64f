"""The JSON of a request -> checked properties and links of an entity."""

from __future__ import annotations

from typing import Any

from nilometer.errors import ConfigurationError
from nilometer.server.sensorthings import times
from nilometer.server.sensorthings.derived import GEOJSON
from nilometer.server.sensorthings.geometry import is_geojson
from nilometer.server.sensorthings.kinds import DATASTREAMS, FEATURES, LOCATIONS, OBSERVATIONS, Kind
from nilometer.server.sensorthings.names import Id

TEXTS = ("name", "description", "encodingType", "observationType", "definition")
OLD_GEOJSON = "application/vnd.geo+json"


def properties_of(kind: Kind, body: Any, *, partial: bool = False) -> dict[str, Any]:
    """The properties of a body, checked. `partial`: mandatory ones may be missing."""
    if not isinstance(body, dict):
        raise ConfigurationError(f"{_a(kind.singular)} is a JSON object")
    found: dict[str, Any] = {}
    for name, value in body.items():
        if "@" in name or kind.link(name) is not None or name == "id":
            continue
        if name not in kind.properties:
            known = ", ".join((*kind.properties, *(link.name for link in kind.links)))
            raise ConfigurationError(f"{kind.singular} has no '{name[:60]}'", hint=f"it has {known}")
        found[name] = _checked(kind, name, value)
    for name in () if partial else kind.mandatory:
        if name not in found or (found[name] is None and kind is not OBSERVATIONS):
            raise ConfigurationError(
                f"{_a(kind.singular)} needs '{name}'", hint=f"it needs {', '.join(kind.mandatory)}"
            )
    if kind in (LOCATIONS, FEATURES) and kind.geometry in found:
        encoding = found.get("encodingType")
        if encoding in (GEOJSON, OLD_GEOJSON) and not is_geojson(found[kind.geometry]):
            raise ConfigurationError(
                f"'{kind.geometry}' is no GeoJSON", detail=str(found[kind.geometry])[:200]
            )
    return found


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'AEIOU' else 'a'} {word}"


def _checked(kind: Kind, name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in TEXTS and not isinstance(value, str):
        raise ConfigurationError(f"'{name}' is a text", detail=f"found {str(value)[:80]}")
    if name in kind.objects and not isinstance(value, dict):
        raise ConfigurationError(f"'{name}' is a JSON object", detail=f"found {str(value)[:80]}")
    if name in kind.times:
        try:
            if not isinstance(value, str):
                raise ValueError("a time is a text")
            return str(times.parse(value))
        except ValueError as error:
            raise ConfigurationError(
                f"'{name}' is no time: {error}", hint="write 2026-03-01T06:00:00Z, or start/end"
            ) from None
    if name == "unitOfMeasurement" and set(value) - {"name", "symbol", "definition"}:
        raise ConfigurationError("unitOfMeasurement has name, symbol and definition")
    if kind is DATASTREAMS and name == "observedArea" and not is_geojson(value):
        raise ConfigurationError("'observedArea' is no GeoJSON")
    return value


def reference(value: Any) -> Id | None:
    """The id in `{"@iot.id": 5}`, whatever else is there; None if the value is an entity to be made."""
    if not isinstance(value, dict) or "@iot.id" not in value:
        return None
    identity = value["@iot.id"]
    if isinstance(identity, bool) or not isinstance(identity, int | str):
        raise ConfigurationError("@iot.id is a number or a text")
    return identity
