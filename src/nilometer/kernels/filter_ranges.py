"""Finds where many ranges begin and end among sorted values: one search for all filters on a column.

>>> filter_ranges(np.array([1, 3, 3, 7]), Ranges.of([(3, True, None, True), (3, False, 9, True)]))
(array([1, 3]), array([4, 4]))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Integers

Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Ranges:
    """The bounds that exist, with the number of their range; a closed range includes the bound itself."""

    count: int
    low_closed: tuple[Places, npt.NDArray[Any]]
    low_open: tuple[Places, npt.NDArray[Any]]
    high_closed: tuple[Places, npt.NDArray[Any]]
    high_open: tuple[Places, npt.NDArray[Any]]

    @classmethod
    def of(cls, ranges: Sequence[tuple[Any, bool, Any, bool]]) -> Ranges:
        """Built from (low, closed?, high, closed?); None is no bound."""

        def picked(bound: int, closed: bool) -> tuple[Places, npt.NDArray[Any]]:
            places = [
                place
                for place, one in enumerate(ranges)
                if one[bound] is not None and one[bound + 1] is closed
            ]
            return np.array(places, dtype=np.intp), np.array([ranges[place][bound] for place in places])

        return cls(len(ranges), picked(0, True), picked(0, False), picked(2, True), picked(2, False))


def filter_ranges(values: npt.NDArray[Any], ranges: Ranges) -> tuple[Integers, Integers]:
    """For each range the positions [start, end) of the sorted values in it; an empty range may end before it
    starts."""
    starts = np.zeros(ranges.count, dtype=np.int64)
    ends = np.full(ranges.count, len(values), dtype=np.int64)
    for target, (places, bounds), side in (
        (starts, ranges.low_closed, "left"),
        (starts, ranges.low_open, "right"),
        (ends, ranges.high_closed, "right"),
        (ends, ranges.high_open, "left"),
    ):
        if len(places):
            target[places] = np.searchsorted(values, bounds, side=side)  # type: ignore[call-overload]
    return starts, ends
