"""Aggregates of many ranges of one array: a tree of partial results, two look-ups a level (a segment tree).

Nothing is ever subtracted, so no digits are lost, and MIN works. A range is `[low, high)`; that of an empty
range is the identity. Sums are held as the unevaluated sum of two doubles (sliding.py).

>>> import numpy as np
>>> least_of_ranges(np.array([3, 1, 2]), np.array([0, 2, 1]), np.array([3, 3, 1]), 9).tolist()
[1, 2, 9]
"""

from __future__ import annotations

import numba
import numpy as np

from nilometer.kernels.merging import add_pairs


@numba.njit(cache=True)
def least_of_ranges(values, lows, highs, identity):  # type: ignore[no-untyped-def]
    """The least value of each range."""
    count = len(values)
    tree = np.empty(2 * count, dtype=values.dtype)
    tree[count:] = values
    for node in range(count - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])
    results = np.empty(len(lows), dtype=values.dtype)
    for number in range(len(lows)):
        low, high = lows[number] + count, highs[number] + count
        least = identity
        while low < high:
            if low & 1:
                least = min(least, tree[low])
                low += 1
            if high & 1:
                high -= 1
                least = min(least, tree[high])
            low >>= 1
            high >>= 1
        results[number] = least
    return results


@numba.njit(cache=True)
def sums_of_ranges(values, lows, highs):  # type: ignore[no-untyped-def]
    """The sum of each range as (high, low)."""
    count = len(values)
    tree = np.zeros((2, 2 * count), dtype=np.float64)
    tree[0, count:] = values
    for node in range(count - 1, 0, -1):
        tree[0, node], tree[1, node] = add_pairs(
            tree[0, 2 * node], tree[1, 2 * node], tree[0, 2 * node + 1], tree[1, 2 * node + 1]
        )
    results = np.zeros((2, len(lows)), dtype=np.float64)
    for number in range(len(lows)):
        low, high = lows[number] + count, highs[number] + count
        total, rest = 0.0, 0.0
        while low < high:
            if low & 1:
                total, rest = add_pairs(total, rest, tree[0, low], tree[1, low])
                low += 1
            if high & 1:
                high -= 1
                total, rest = add_pairs(total, rest, tree[0, high], tree[1, high])
            low >>= 1
            high >>= 1
        results[0, number] = total
        results[1, number] = rest
    return results


@numba.njit(cache=True)
def medians_of_ranges(ranks, ascending, lows, highs):  # type: ignore[no-untyped-def]
    """The median of the values of each range, NaN of none: `ranks` are places in `ascending`, -1 of no value.

    The ranges' values are counted by rank in a Fenwick tree. Ranges that follow one another share what they have in
    common, so that frames that move on cost two steps a row.
    """
    size = len(ascending)
    top = 1
    while top * 2 <= size:
        top *= 2
    counts = np.zeros(size + 1, dtype=np.int64)
    results = np.full(len(lows), np.nan)
    start, end, total = 0, 0, 0
    for number in range(len(lows)):
        low, high = lows[number], highs[number]
        if low >= high:
            continue
        if low >= end or high <= start:
            while start < end:
                total -= _counted(counts, ranks[start], -1)
                start += 1
            start, end = low, low
        while start < low:
            total -= _counted(counts, ranks[start], -1)
            start += 1
        while start > low:
            start -= 1
            total += _counted(counts, ranks[start], 1)
        while end < high:
            total += _counted(counts, ranks[end], 1)
            end += 1
        while end > high:
            end -= 1
            total -= _counted(counts, ranks[end], -1)
        if total:
            upper = ascending[_of_number(counts, top, total // 2)]
            if total % 2:
                results[number] = upper
            else:
                results[number] = ascending[_of_number(counts, top, total // 2 - 1)] / 2 + upper / 2
    return results


@numba.njit(cache=True)
def _counted(counts, rank, change):  # type: ignore[no-untyped-def]
    """Counts a value in or out; returns 1, or 0 if there is none."""
    if rank < 0:
        return 0
    place = rank + 1
    while place < len(counts):
        counts[place] += change
        place += place & -place
    return 1


@numba.njit(cache=True)
def _of_number(counts, top, number):  # type: ignore[no-untyped-def]
    """The rank of the value with that many values before it."""
    place, left, step = 0, number, top
    while step:
        if place + step < len(counts) and counts[place + step] <= left:
            place += step
            left -= counts[place]
        step >>= 1
    return place


@numba.njit(cache=True)
def first_not_below(values, lows, highs, targets):  # type: ignore[no-untyped-def]
    """In each range of ascending values, the place of the first that is not below the target."""
    results = np.empty(len(lows), dtype=np.int64)
    for number in range(len(lows)):
        low, high = lows[number], highs[number]
        while low < high:
            middle = (low + high) // 2
            if values[middle] < targets[number]:
                low = middle + 1
            else:
                high = middle
        results[number] = low
    return results


@numba.njit(cache=True)
def first_above(values, lows, highs, targets):  # type: ignore[no-untyped-def]
    """In each range of ascending values, the place of the first that is above the target."""
    results = np.empty(len(lows), dtype=np.int64)
    for number in range(len(lows)):
        low, high = lows[number], highs[number]
        while low < high:
            middle = (low + high) // 2
            if values[middle] <= targets[number]:
                low = middle + 1
            else:
                high = middle
        results[number] = low
    return results


@numba.njit(cache=True)
def added_pairs(high, low, other_high, other_low):  # type: ignore[no-untyped-def]
    """The sums of two arrays of (high, low)."""
    count = len(high)
    totals, rests = np.empty(count), np.empty(count)
    for number in range(count):
        totals[number], rests[number] = add_pairs(
            high[number], low[number], other_high[number], other_low[number]
        )
    return totals, rests
