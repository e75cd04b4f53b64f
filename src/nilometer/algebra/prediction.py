"""Where a phenomenon will be: its region, moved by its velocity and scaled as its extent has grown.

The extent is the root of the area. Its slope is that of the least squares over the last evaluations, at most SEEN of
them; a prediction is at least half and at most twice as wide as the region now.

>>> scale_of([1.0, 4.0, 9.0], 1)
1.3333333333333333
>>> moved("POINT (0.0 0.0)", (0.0, 0.0), (1.0, 2.0), 1.0, None, 1.0)
'POINT (1.0 2.0)'
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from nilometer.algebra.places import Place
from nilometer.algebra.regions import from_plane, to_plane

SEEN = 6
"""How many evaluations decide how a phenomenon grows."""

_PAIR = re.compile(r"(-?[0-9.]+(?:e[+-]?[0-9]+)?) (-?[0-9.]+(?:e[+-]?[0-9]+)?)")


def scale_of(areas: Sequence[float], steps: int) -> float:
    """How much wider than now the region is after so many evaluations. `areas` are those up to now, the last one
    last."""
    extents = [math.sqrt(area) for area in areas[-SEEN:]]
    count = len(extents)
    if count < 2 or extents[-1] == 0:
        return 1.0
    middle, mean = (count - 1) / 2, math.fsum(extents) / count
    above = math.fsum((number - middle) * (extent - mean) for number, extent in enumerate(extents))
    slope = above / math.fsum((number - middle) ** 2 for number in range(count))
    return min(2.0, max(0.5, (extents[-1] + slope * steps) / extents[-1]))


def moved(
    region: str, middle: Place, shift: Place, scale: float, coordinates: str | None, metres: float
) -> str:
    """A region in WKT, scaled about its middle and then shifted, in metres."""

    def corner(pair: re.Match[str]) -> str:
        x, y = to_plane((float(pair[1]), float(pair[2])), middle, coordinates, metres)
        there = from_plane((x * scale + shift[0], y * scale + shift[1]), middle, coordinates, metres)
        return f"{there[0]!r} {there[1]!r}"

    return _PAIR.sub(corner, region)


def predicted(
    steps: int,
    seconds: float,
    location: Place,
    region: str | None,
    areas: Sequence[float],
    velocity: Place,
    size: int,
    coordinates: str | None,
    metres: float,
) -> tuple[Place, str | None, float]:
    """Location, region and expected size after so many evaluations of so many seconds."""
    shift = velocity[0] * seconds * steps, velocity[1] * seconds * steps
    scale = scale_of(areas, steps)
    there = from_plane(shift, location, coordinates, metres)
    shape = None if region is None else moved(region, location, shift, scale, coordinates, metres)
    return there, shape, size * scale * scale
