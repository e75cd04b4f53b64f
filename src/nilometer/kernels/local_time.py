"""Moments <-> wall-clock times of a zone, and the beginnings of local days and months, for whole arrays.

A zone is given by where each of its offsets begins (ascending) and the offsets. The first one also holds
before its beginning. `nilometer.time_zones` says what a gap and an overlap of the clock mean; it is the twin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.kernels.arrays import Integers
from nilometer.kernels.calendar import floor_wall, next_wall


@dataclass(frozen=True)
class Offsets:
    """A zone's offsets over a stretch of time."""

    starts: Integers
    offsets: Integers

    def index(self, moments: Integers) -> Integers:
        """Which offset holds at each moment."""
        return np.maximum(np.searchsorted(self.starts, moments, side="right") - 1, 0)


def to_local(moments: Integers, zone: Offsets) -> Integers:
    """The local time of the zone at each moment."""
    return moments + zone.offsets[zone.index(moments)]


def to_utc(walls: Integers, zone: Offsets) -> Integers:
    """When a clock shows each time: in an overlap the first moment, in a gap as long after the jump."""
    # An offset holds for wall-clock times from the end of the gap or the overlap with which it begins.
    first = zone.starts[1:] + np.maximum(zone.offsets[:-1], zone.offsets[1:])
    return walls - zone.offsets[np.searchsorted(first, walls, side="right")]


def floor_local(moments: Integers, unit: str | int, zone: Offsets) -> Integers:
    """The moment at which the zone's unit that holds each moment begins."""
    if isinstance(unit, int):
        held = zone.index(moments)
        floor = moments - (moments + zone.offsets[held]) % unit
        before = zone.index(floor)
        return np.where(zone.offsets[before] == zone.offsets[held], floor, zone.starts[held])
    wall = floor_wall(to_local(moments, zone), unit)
    begins, following = _begins(wall, zone), _begins(next_wall(wall, unit), zone)
    return np.where(following <= moments, following, begins)


def _begins(walls: Integers, zone: Offsets) -> Integers:
    """The first moment at which a clock shows each time; where a jump leaves it out, the moment of the jump."""
    moments = to_utc(walls, zone)
    held = zone.index(moments)
    return np.where(moments + zone.offsets[held] == walls, moments, zone.starts[held])
