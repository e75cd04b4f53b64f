"""Where a group of places is: its middle, its region as WKT, and its area.

The region is the convex hull by Andrew's monotone chain, counter-clockwise from the lowest of the leftmost
vertices, so that its text is the same on every host. One place is a POINT, places on a line a LINESTRING. In WGS84
the hull is drawn on longitude and latitude; places on both sides of the 180th meridian have none. CONCAVE and BUFFER
are shapely's.

>>> hull([(0.0, 0.0), (2.0, 0.0), (1.0, 1.0), (1.0, 0.5)])
[(0.0, 0.0), (2.0, 0.0), (1.0, 1.0)]
>>> region_of([(0.0, 0.0), (2.0, 0.0), (1.0, 1.0)], None)
('POLYGON ((0.0 0.0, 2.0 0.0, 1.0 1.0, 0.0 0.0))', 1.0)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from nilometer.algebra.places import EARTH_RADIUS, WGS84, Place


def middle(places: Sequence[Place], coordinates: str | None) -> Place | None:
    """The mean of the places; on the globe the direction of the mean of their unit vectors. None without places,
    or if they cancel out. `fsum` makes it independent of their order."""
    if not places:
        return None
    if coordinates != WGS84:
        return tuple(math.fsum(axis) / len(places) for axis in zip(*places, strict=True))  # type: ignore[return-value]
    vectors = [unit_vector(place) for place in places]
    x, y, z = (math.fsum(axis) for axis in zip(*vectors, strict=True))
    if math.hypot(x, y, z) < 1e-9 * len(places):
        return None
    return math.degrees(math.atan2(y, x)), math.degrees(math.atan2(z, math.hypot(x, y)))


def unit_vector(place: Place) -> tuple[float, float, float]:
    """The point of the unit sphere at this longitude and latitude."""
    east, north = math.radians(place[0]), math.radians(place[1])
    return math.cos(north) * math.cos(east), math.cos(north) * math.sin(east), math.sin(north)


def region_of(
    places: Iterable[Place],
    coordinates: str | None,
    metres: float = 1.0,
    concave: float | None = None,
    buffer: float | None = None,
) -> tuple[str | None, float | None]:
    """The region of some places as WKT, and its area: in square metres in WGS84 and where `metres`, the length of
    the coordinates' unit, is known (else 1). (None, None) without places or across the 180th meridian."""
    distinct = sorted(set(places))
    if not distinct or (coordinates == WGS84 and distinct[-1][0] - distinct[0][0] > 180):
        return None, None
    if buffer or (concave is not None and len(distinct) > 3):
        from nilometer.algebra.shapely_regions import shaped

        return shaped(distinct, coordinates, metres, concave, buffer)
    ring = hull(distinct)
    return wkt(ring), ring_area(ring, coordinates) * (1.0 if coordinates == WGS84 else metres * metres)


def hull(places: Sequence[Place]) -> list[Place]:
    """The corners of the convex hull of places: one, the two ends of a line, or a ring without the first corner
    again. Corners on the edges are left out."""
    distinct = sorted(set(places))
    if len(distinct) < 3:
        return distinct
    lower, upper = _chain(distinct), _chain(distinct[::-1])
    return lower[:-1] + upper[:-1]


def _chain(places: Sequence[Place]) -> list[Place]:
    chain: list[Place] = []
    for place in places:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], place) <= 0:
            chain.pop()
        chain.append(place)
    return chain


def _turn(a: Place, b: Place, c: Place) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def wkt(ring: Sequence[Place]) -> str:
    """The text of a point, a line or a polygon; numbers as `repr` writes them."""
    points = [f"{x!r} {y!r}" for x, y in ring]
    if len(ring) == 1:
        return f"POINT ({points[0]})"
    if len(ring) == 2:
        return f"LINESTRING ({', '.join(points)})"
    return f"POLYGON (({', '.join([*points, points[0]])}))"


def ring_area(ring: Sequence[Place], coordinates: str | None) -> float:
    """The area within a ring: of the plane, or of the sphere, by Lambert's equal-area cylindrical projection."""
    if len(ring) < 3:
        return 0.0
    if coordinates == WGS84:
        ring = [
            (EARTH_RADIUS * math.radians(east), EARTH_RADIUS * math.sin(math.radians(north)))
            for east, north in ring
        ]
    origin_x, origin_y = ring[0]
    moved = [(x - origin_x, y - origin_y) for x, y in ring]
    pairs = zip(moved, moved[1:] + moved[:1], strict=True)
    return abs(math.fsum(x * other_y - other_x * y for (x, y), (other_x, other_y) in pairs)) / 2


def to_plane(place: Place, origin: Place, coordinates: str | None, metres: float = 1.0) -> Place:
    """The place in metres from an origin; in WGS84 on the plane that touches the globe there."""
    if coordinates != WGS84:
        return (place[0] - origin[0]) * metres, (place[1] - origin[1]) * metres
    around = (place[0] - origin[0] + 540) % 360 - 180
    across = math.cos(math.radians(origin[1]))
    return EARTH_RADIUS * across * math.radians(around), EARTH_RADIUS * math.radians(place[1] - origin[1])


def from_plane(place: Place, origin: Place, coordinates: str | None, metres: float = 1.0) -> Place:
    """The inverse of `to_plane`."""
    if coordinates != WGS84:
        return origin[0] + place[0] / metres, origin[1] + place[1] / metres
    across = math.cos(math.radians(origin[1]))
    east = origin[0] + math.degrees(place[0] / (EARTH_RADIUS * across)) if across > 1e-12 else origin[0]
    return (east + 540) % 360 - 180, origin[1] + math.degrees(place[1] / EARTH_RADIUS)
