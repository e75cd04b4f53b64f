"""Regions that need shapely: concave hulls, and hulls with a margin."""

from __future__ import annotations

from collections.abc import Sequence

from nilometer.algebra.places import Place
from nilometer.algebra.regions import from_plane, middle, to_plane


def shaped(
    places: Sequence[Place],
    coordinates: str | None,
    metres: float,
    concave: float | None,
    buffer: float | None,
) -> tuple[str | None, float | None]:
    """The region as WKT, and its area. It is drawn on the plane that touches the middle of the places, in metres;
    `buffer` has the unit of the coordinates, metres for WGS84."""
    import shapely

    origin = middle(places, coordinates)
    if origin is None:
        return None, None
    flat = shapely.MultiPoint([to_plane(place, origin, coordinates, metres) for place in places])
    ratio = 1.0 if concave is None else concave
    shape = shapely.concave_hull(flat, ratio=ratio) if ratio < 1 else shapely.convex_hull(flat)
    if buffer:
        shape = shapely.buffer(shape, buffer * metres, quad_segs=8)
    back = shapely.transform(
        shapely.normalize(shape),
        lambda points: [from_plane((x, y), origin, coordinates, metres) for x, y in points],
    )
    return str(back.wkt), float(shape.area)
