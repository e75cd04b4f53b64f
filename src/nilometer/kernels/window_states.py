"""What a key's readings in a sliding window come to, at the ticks at which that can have changed.

A slice holds some readings of a key that enter the window at the same evaluation (`firsts`) and leave it at the same
one (`lasts`). Slices are in the order of (key, first); touches, the keys and ticks that are asked for, in the order of
(key, tick). A slice counts at a tick if first <= tick < last. The count is constant work a touch; sum and extremes are
folded only where the count reaches `strength`, in the order of the slices, so that they depend on the readings alone.

>>> numbers = np.array([0, 0]), np.array([10, 20]), np.array([30, 40]), np.array([2, 1])
>>> values = np.array([3.0, 5.0]), np.array([1.0, 5.0]), np.array([2.0, 5.0])
>>> [found.tolist() for found in window_states(*numbers, *values, np.array([0, 0]), np.array([20, 30]), 2)]
[[3, 1], [8.0, 0.0], [1.0, 0.0], [5.0, 0.0]]
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def window_states(  # type: ignore[no-untyped-def]
    keys, firsts, lasts, counts, sums, lows, highs, touched, ticks, strength
):
    """The counts, sums, least and greatest values of the touches."""
    n = np.zeros(len(touched), dtype=np.int64)
    total = np.zeros(len(touched), dtype=np.float64)
    low = np.zeros(len(touched), dtype=np.float64)
    high = np.zeros(len(touched), dtype=np.float64)
    start = 0
    end = 0
    count = 0
    before = -1
    for touch in range(len(touched)):
        key = touched[touch]
        tick = ticks[touch]
        if key != before:
            while end < len(keys) and keys[end] < key:
                end += 1
            start = end
            count = 0
            before = key
        while end < len(keys) and keys[end] == key and firsts[end] <= tick:
            count += counts[end]
            end += 1
        while start < end and lasts[start] <= tick:
            count -= counts[start]
            start += 1
        n[touch] = count
        if count >= strength and start < end:
            total[touch] = sums[start]
            low[touch] = lows[start]
            high[touch] = highs[start]
            for place in range(start + 1, end):
                total[touch] += sums[place]
                low[touch] = min(low[touch], lows[place])
                high[touch] = max(high[touch], highs[place])
    return n, total, low, high
