"""Regions as GeoJSON (RFC 7946): WKT of points, lines and polygons -> geometries.

>>> geometry_of("LINESTRING (3.0 1.0, 5.0 1.0)")
{'type': 'LineString', 'coordinates': [[3.0, 1.0], [5.0, 1.0]]}
>>> geometry_of("MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)), ((5 5, 6 5, 6 6, 5 5)))")["coordinates"][1]
[[[5.0, 5.0], [6.0, 5.0], [6.0, 6.0], [5.0, 5.0]]]
"""

from __future__ import annotations

import json
import re
from typing import Any

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
