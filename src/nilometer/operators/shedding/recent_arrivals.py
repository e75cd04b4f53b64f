"""Counts the tuples of a stream that arrived within the window, kept or not. Counts are per slice of time, so
memory is fixed (a sliding-window counter with buckets of equal length).

>>> recent = RecentArrivals(reach=10)
>>> recent.add(np.array([1, 2, 12]))
>>> recent.within(12)
2
"""

from __future__ import annotations

import numpy as np

from nilometer.kernels.arrays import Integers

SLICES = 64


class RecentArrivals:
    """A count of the arrivals of the last `reach` microseconds, accurate to one slice."""

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._length = max(1, -(-(reach + 1) // SLICES))
        self.counts: dict[int, int] = {}

    def add(self, times: Integers) -> None:
        """Count tuples with these times."""
        places, counts = np.unique(times // self._length, return_counts=True)
        for place, count in zip(places.tolist(), counts.tolist(), strict=True):
            self.counts[place] = self.counts.get(place, 0) + count

    def within(self, now: int) -> int:
        """Returns how many tuples arrived from `now` - `reach` on, and forgets earlier ones."""
        first = (now - self._reach) // self._length
        self.counts = {place: count for place, count in self.counts.items() if place >= first}
        return sum(self.counts.values())
