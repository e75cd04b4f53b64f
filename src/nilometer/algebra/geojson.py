"""Regions as GeoJSON (RFC 7946): WKT of points, lines and polygons -> geometries.

>>> geometry_of("LINESTRING (3.0 1.0, 5.0 1.0)")
{'type': 'LineString', 'coordinates': [[3.0, 1.0], [5.0, 1.0]]}
>>> geometry_of("MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)), ((5 5, 6 5, 6 6, 5 5)))")["coordinates"][1]
[[[5.0, 5.0], [6.0, 5.0], [6.0, 6.0], [5.0, 5.0]]]
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

Place = tuple[float, float]
_TYPES = {"POINT": "Point", "LINESTRING": "LineString", "POLYGON": "Polygon", "MULTIPOLYGON": "MultiPolygon"}
_PAIR = re.compile(r"(-?[0-9.e+-]+) (-?[0-9.e+-]+)")


def geometry_of(wkt: str | None) -> dict[str, Any] | None:
    """The geometry of a region; None without one."""
    if wkt is None:
        return None
    kind, _, body = wkt.partition(" ")
    listed = _PAIR.sub(lambda pair: f"[{float(pair[1])!r}, {float(pair[2])!r}]", body)
    coordinates = json.loads(listed.replace("(", "[").replace(")", "]"))
    return {"type": _TYPES[kind], "coordinates": coordinates[0] if kind == "POINT" else coordinates}


def rings(wkt: str | None) -> list[list[Place]]:
    """The outer rings of a polygon or multipolygon; points and lines have none.

    >>> rings("POLYGON ((0.0 0.0, 2.0 0.0, 1.0 1.0, 0.0 0.0))")
    [[(0.0, 0.0), (2.0, 0.0), (1.0, 1.0), (0.0, 0.0)]]
    """
    shape = geometry_of(wkt)
    if shape is None or "Polygon" not in shape["type"]:
        return []
    polygons = [shape["coordinates"]] if shape["type"] == "Polygon" else shape["coordinates"]
    return [[(x, y) for x, y in polygon[0]] for polygon in polygons]


def within(place: Place, ring: list[Place]) -> bool:
    """Whether a place lies within a closed ring, by the number of edges to its right.

    >>> within((1.0, 0.5), rings("POLYGON ((0 0, 2 0, 1 1, 0 0))")[0])
    True
    """
    x, y = place
    inside = False
    for (x1, y1), (x2, y2) in pairwise(ring):
        if (y1 > y) != (y2 > y) and x < x1 + (y - y1) / (y2 - y1) * (x2 - x1):
            inside = not inside
    return inside
