"""Shapes: well-known text in expressions, GeoJSON in entities. Shapely (GEOS) compares them, in degrees.

>>> from_text("SRID=4326;POINT (8.4 49)").wkt
'POINT (8.4 49)'
>>> shape_of({"type": "Feature", "geometry": {"type": "Point", "coordinates": [8.4, 49]}}).wkt
'POINT (8.4 49)'
"""

from __future__ import annotations

import json
import re
from typing import Any

import shapely

Shape: Any = shapely.Geometry
"""The class of all shapes. Shapely ships no types."""


def from_text(text: str) -> Any:
    """The shape of a well-known text. Raises ValueError."""
    plain = re.sub(r"^SRID=(\d+);", "", text.strip(), flags=re.IGNORECASE)
    try:
        return shapely.from_wkt(plain)
    except shapely.errors.ShapelyError as error:
        raise ValueError(
            f"{str(error).splitlines()[0]}: write POINT (8.4 49) or POLYGON ((0 0, 1 0, 1 1, 0 0))"
        ) from None


def shape_of(value: Any) -> Any:
    """The shape of a GeoJSON geometry or feature; None if it is none."""
    if isinstance(value, Shape):
        return value
    if not isinstance(value, dict):
        return None
    geometry = value.get("geometry") if value.get("type") == "Feature" else value
    try:
        return shapely.from_geojson(json.dumps(geometry))
    except (shapely.errors.ShapelyError, ValueError, TypeError):
        return None


def is_geojson(value: Any) -> bool:
    """Whether a value is a GeoJSON geometry or feature."""
    return shape_of(value) is not None
