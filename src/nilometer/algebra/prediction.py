"""Where a phenomenon will be: its region, moved by its velocity and scaled as its extent has grown.

The extent is the root of the area. Its slope is that of the least squares over the last evaluations, at most SEEN of
them. The trend is damped (Gardner and McKenzie 1985): each evaluation grows by the share `growth` of what the one before
grew by. 1 goes on in a straight line, 0 keeps the extent. A prediction is at least half and at most twice as wide as the
region now.

>>> scale_of([1.0, 4.0, 9.0], 1, growth=1.0)
1.3333333333333333
>>> scale_of([1.0, 4.0, 9.0], 2, growth=0.5)
1.25
>>> moved("POINT (0.0 0.0)", (0.0, 0.0), (1.0, 2.0), 1.0, None, 1.0)
'POINT (1.0 2.0)'
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from nilometer.algebra.geojson import rings, within
from nilometer.algebra.places import Place
from nilometer.algebra.regions import from_plane, to_plane

SEEN = 6
"""How many evaluations decide how a phenomenon grows."""

GROWTH = 0.5
"""The share, unless the definition sets another: on moving plumes a straight line overshoots (bench prediction)."""

_PAIR = re.compile(r"(-?[0-9.]+(?:e[+-]?[0-9]+)?) (-?[0-9.]+(?:e[+-]?[0-9]+)?)")


def scale_of(areas: Sequence[float], steps: int, growth: float = GROWTH) -> float:
    """How much wider than now the region is after so many evaluations. `areas` are those up to now, the last one
    last."""
    extents = [math.sqrt(area) for area in areas[-SEEN:]]
    count = len(extents)
    if count < 2 or extents[-1] == 0:
        return 1.0
    middle, mean = (count - 1) / 2, math.fsum(extents) / count
    above = math.fsum((number - middle) * (extent - mean) for number, extent in enumerate(extents))
    slope = above / math.fsum((number - middle) ** 2 for number in range(count))
    lasting = math.fsum(growth**step for step in range(1, steps + 1))
    return min(2.0, max(0.5, (extents[-1] + slope * lasting) / extents[-1]))


def moved(
    region: str, middle: Place, shift: Place, scale: float, coordinates: str | None, metres: float
) -> str:
    """A region in WKT, scaled about its middle and then shifted, in metres."""

    def corner(pair: re.Match[str]) -> str:
        x, y = to_plane((float(pair[1]), float(pair[2])), middle, coordinates, metres)
        there = from_plane((x * scale + shift[0], y * scale + shift[1]), middle, coordinates, metres)
        return f"{there[0]!r} {there[1]!r}"

    return _PAIR.sub(corner, region)


@dataclass(frozen=True)
class Course:
    """A phenomenon at an evaluation, and how it goes on. An evaluation comes every so many `seconds`; a unit of the
    places is so many `metres`."""

    location: Place
    region: str | None
    areas: Sequence[float]
    velocity: Place
    size: int
    seconds: float
    coordinates: str | None
    metres: float = 1.0
    growth: float = GROWTH

    def after(self, steps: int) -> tuple[Place, str | None, float]:
        """Location, region and expected size after so many evaluations."""
        shift = self.velocity[0] * self.seconds * steps, self.velocity[1] * self.seconds * steps
        scale = scale_of(self.areas, steps, self.growth)
        there = from_plane(shift, self.location, self.coordinates, self.metres)
        shape = (
            None
            if self.region is None
            else moved(self.region, self.location, shift, scale, self.coordinates, self.metres)
        )
        return there, shape, self.size * scale * scale

    def reaches(
        self, places: Mapping[int | str, Place], members: Collection[int | str], most: int
    ) -> list[tuple[int, int | str]]:
        """After how many evaluations, at most so many, the region reaches which sensor: the first at which the sensor
        is within it. A member and a sensor within the region now are not reached any more."""
        now = rings(self.region)
        waiting = {
            sensor: place
            for sensor, place in places.items()
            if sensor not in members and not any(within(place, ring) for ring in now)
        }
        found = []
        for steps in range(1, most + 1):
            there = rings(self.after(steps)[1])
            reached = [
                sensor for sensor, place in waiting.items() if any(within(place, ring) for ring in there)
            ]
            for sensor in reached:
                del waiting[sensor]
            found += [(steps, sensor) for sensor in reached]
        return found
