"""Bodies of requests."""

from __future__ import annotations

from typing import Any

MEASUREMENT = "http://www.opengis.net/def/observationType/OGC-OM/2.0/OM_Measurement"
COUNT = "http://www.opengis.net/def/observationType/OGC-OM/2.0/OM_CountObservation"


def location(longitude: float = 8.4, latitude: float = 49.0, name: str = "roof") -> dict[str, Any]:
    return {
        "name": name,
        "description": "where it stands",
        "encodingType": "application/geo+json",
        "location": {"type": "Point", "coordinates": [longitude, latitude]},
    }


def sensor(name: str = "DS18B20") -> dict[str, Any]:
    return {
        "name": name,
        "description": "a thermometer",
        "encodingType": "application/pdf",
        "metadata": "http://x/y.pdf",
    }


def observed_property(name: str = "Temperature") -> dict[str, Any]:
    return {"name": name, "definition": f"http://example.org/{name}", "description": f"the {name}"}


def datastream(name: str = "air temperature", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": "every minute",
        "observationType": MEASUREMENT,
        "unitOfMeasurement": {"name": "degree Celsius", "symbol": "Cel", "definition": "ucum:Cel"},
        "Sensor": sensor(),
        "ObservedProperty": observed_property(),
    } | more


def thing(name: str = "hut", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": "a hut in the field",
        "properties": {"owner": "me", "rooms": 2},
        "Locations": [location()],
        "Datastreams": [datastream()],
    } | more


def observation(minute: int, result: Any, **more: Any) -> dict[str, Any]:
    return {"phenomenonTime": f"2026-03-01T06:{minute:02}:00Z", "result": result} | more
