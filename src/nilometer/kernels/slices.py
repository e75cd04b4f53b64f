"""Slicing: ticks -> the slices that overlapping windows share (pairs, Krishnamurthy, Wu and Franklin, SIGMOD 2006).

Windows (T - reach, T - end] at the multiples T of a period have their edges in two residue classes; between two
neighbouring edges no window begins or ends, so the rows there can be aggregated once for all windows. A slice is named
by its right edge, which belongs to it: window T holds exactly the slices with T - reach < name <= T - end.

>>> slice_names(np.array([1, 3, 4, 10]), period=10, reach=17, end=0)
array([ 3,  3, 10, 10])
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def slice_names(ticks: Integers, period: int, reach: int | None, end: int) -> Integers:
    """The right edge of each tick's slice: the nearest edge at or after it."""
    right = _next_edge(ticks, period, end)
    if reach is None or (reach - end) % period == 0:
        return right
    return np.minimum(right, _next_edge(ticks, period, reach))


def _next_edge(ticks: Integers, period: int, offset: int) -> Integers:
    """The least number at or after each tick that is a multiple of the period, less the offset."""
    return -(-(ticks + offset) // period) * period - offset


def order_by(names: Integers) -> Integers | None:
    """A stable order by name; None if that is the order they stand in. Near names are sorted by radix."""
    if len(names) < 2 or bool(np.all(names[1:] >= names[:-1])):
        return None
    low, high = int(names.min()), int(names.max())
    if high - low < 2**16:
        return np.argsort((names - low).astype(np.uint16), kind="stable").astype(np.int64)
    return np.argsort(names, kind="stable").astype(np.int64)
