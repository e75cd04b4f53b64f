"""Cuts time into slices that overlapping windows share (pairs; Krishnamurthy, Wu, Franklin, SIGMOD 2006).

The windows (T - reach, T - end] at the multiples T of a period have their edges in two residue classes.
Between two neighbouring edges no window begins or ends, so the rows there can be aggregated once for all
windows. A slice is named by its right edge, which belongs to it: window T holds exactly the slices with T -
reach < name <= T - end.

>>> slicing = Slicing.of(period=10, reach=17, end=0)
>>> [slice_around(tick, *slicing) for tick in (1, 3, 4, 10)]
[(0, 3), (0, 3), (3, 10), (3, 10)]
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from nilometer.kernels.arrays import Integers


class Slicing(NamedTuple):
    """Edges lie at the multiples of the period minus `end`, and at those minus `other`, which may be the
    same."""

    period: int
    end: int
    other: int

    @staticmethod
    def of(period: int | None, reach: int | None, end: int) -> Slicing:
        """The slices of a window; without a period every tick is its own slice."""
        if period is None:
            return EVERY_TICK
        return Slicing(period, end, end if reach is None or (reach - end) % period == 0 else reach)


EVERY_TICK = Slicing(1, 0, 0)
"""Each tick is its own slice."""


@numba.njit(cache=True)
def slice_around(tick, period, end, other):  # type: ignore[no-untyped-def]
    """The edges of a tick's slice: left < tick <= right."""
    right = _next_edge(tick, period, end)
    left = right - period
    if other != end:
        edge = _next_edge(tick, period, other)
        right = min(right, edge)
        left = max(left, edge - period)
    return left, right


@numba.njit(cache=True)
def _next_edge(tick, period, offset):  # type: ignore[no-untyped-def]
    """The smallest number at or after the tick that is a multiple of the period minus the offset."""
    return -(-(tick + offset) // period) * period - offset


def order_by(names: Integers) -> Integers | None:
    """A stable order by name; None if the names are in order already. Close names are sorted by radix."""
    if len(names) < 2 or bool(np.all(names[1:] >= names[:-1])):
        return None
    low, high = int(names.min()), int(names.max())
    if high - low < 2**16:
        return np.argsort((names - low).astype(np.uint16), kind="stable").astype(np.int64)
    return np.argsort(names, kind="stable").astype(np.int64)
