"""A field as GeoJSON: a feature for each phenomenon, with its region and its sentence."""

from __future__ import annotations

from typing import Any

from nilometer.algebra.geojson import geometry_of
from nilometer.engine.field import Field
from nilometer.types import format_time


def field_geojson(field: Field) -> dict[str, Any]:
    """The phenomena there are, as a FeatureCollection (RFC 7946)."""
    features = []
    for row, sentence in zip(field.rows, field.sentences, strict=False):  # another sentence may follow
        properties = {name: value for name, value in row.items() if name != "region"}
        properties |= {name: format_time(row[name]) for name in ("time", "born")}
        features.append(
            {
                "type": "Feature",
                "id": row["id"],
                "geometry": geometry_of(row["region"]),
                "properties": properties | {"sentence": sentence},
            }
        )
    return {
        "type": "FeatureCollection",
        "name": field.name,
        "time": format_time(field.tick),
        "coordinates": field.coordinates,
        "sentences": field.sentences,
        "unplaced": field.unplaced,
        "features": features,
    }
