"""The left matrix profile of many sources: for each subsequence its nearest one before it.

Sources have a row each in `values` and in the arrays by the begin of a subsequence: `means` and `scales` (1 / deviation;
0 of a constant one; NaN where there is no subsequence), `distances` and `nearest` (a slot, NONE if there is none). Place
0 is slot `base`.

Distances are summed directly, in the order of the slots, for all candidates at once: m steps over w contiguous numbers.
A recurrence of dot products would take one step, but its rounding errors grow with the stream, and they are largest where
two subsequences are equal; so answers would depend on where a query began.
"""

from __future__ import annotations

import math

import numba
import numpy as np

NONE = -(2**62)


@numba.njit(cache=True)
def normalise(values, begin, length, raw, means, scales):  # type: ignore[no-untyped-def]
    """The mean and the scale of the subsequence that begins there."""
    if raw:
        means[begin], scales[begin] = 0.0, 1.0
        return
    total, least, most = 0.0, values[begin], values[begin]
    for place in range(begin, begin + length):
        total += values[place]
        least, most = min(least, values[place]), max(most, values[place])
    mean = total / length
    squares = 0.0
    for place in range(begin, begin + length):
        squares += (values[place] - mean) * (values[place] - mean)
    variance = squares / length
    means[begin] = mean
    if least == most or variance == 0.0:
        scales[begin] = 0.0
    elif variance < math.inf:
        scales[begin] = 1.0 / math.sqrt(variance)
    else:
        scales[begin] = math.nan


@numba.njit(cache=True)
def find_nearest(values, means, scales, begin, first, last, length, sums):  # type: ignore[no-untyped-def]
    """The place among `first` ... `last` - 1 of the subsequence nearest to the one at `begin`, and the distance."""
    count = last - first
    if count <= 0 or scales[begin] != scales[begin]:
        return NONE, math.nan
    sums[:count] = 0.0
    for step in range(length):
        own = (values[begin + step] - means[begin]) * scales[begin]
        for place in range(count):
            other = (values[first + place + step] - means[first + place]) * scales[first + place]
            sums[place] += (own - other) * (own - other)
    best, found = math.inf, NONE
    for place in range(count):
        if sums[place] < best:  # false of NaN: a gap, or values too large
            best, found = sums[place], first + place
    return found, math.sqrt(best) if found != NONE else math.nan


@numba.njit(cache=True)
def extend(block, base, end, slots, length, zone, raw, values, runs, means, scales, distances, nearest, sums):  # type: ignore[no-untyped-def]
    """Appends the slots of a block at the place `end`. `slots` is how many a window holds, `runs` how many readings of a
    source came last without a gap. There is room."""
    for source in range(block.shape[1]):
        own, mean, scale = values[source], means[source], scales[source]
        for row in range(block.shape[0]):
            place = end + row
            own[place] = block[row, source]
            runs[source] = runs[source] + 1 if block[row, source] == block[row, source] else 0
            begin = place - length + 1
            if begin < 0:
                continue
            scale[begin], nearest[source, begin], distances[source, begin] = math.nan, NONE, math.nan
            if runs[source] < length:
                continue
            normalise(own, begin, length, raw, mean, scale)
            first = max(place - slots + 1, 0)
            found, distance = find_nearest(own, mean, scale, begin, first, begin - zone + 1, length, sums)
            if found != NONE:
                nearest[source, begin], distances[source, begin] = base + found, distance


@numba.njit(cache=True)
def renew(base, first, end, length, zone, values, means, scales, distances, nearest, sums):  # type: ignore[no-untyped-def]
    """Looks again where the nearest one lies before the place `first`, among those from there on."""
    for source in range(values.shape[0]):
        for begin in range(first, end - length + 1):
            if NONE < nearest[source, begin] < base + first:
                found, distance = find_nearest(
                    values[source],
                    means[source],
                    scales[source],
                    begin,
                    first,
                    begin - zone + 1,
                    length,
                    sums,
                )
                nearest[source, begin], distances[source, begin] = (
                    base + found if found != NONE else NONE,
                    distance,
                )


@numba.njit(cache=True)
def choose(base, first, end, length, top, greatest, pairs, distances, nearest, found):  # type: ignore[no-untyped-def]
    """The `top` greatest or least distances of each source that begin in `first` ... `end` - m, as (source, place) rows of
    `found`. What overlaps one that was chosen before is left out; `pairs`: the nearest one must not overlap, either."""
    rows = 0
    taken = np.empty(2 * top, dtype=np.int64)
    for source in range(distances.shape[0]):
        used = 0
        for _ in range(top):
            best = NONE
            for begin in range(first, end - length + 1):
                if nearest[source, begin] == NONE:
                    continue
                if best != NONE:
                    one, other = distances[source, begin], distances[source, best]
                    if (one <= other) if greatest else (one >= other):
                        continue
                free = True
                for number in range(used):
                    free &= abs(begin - taken[number]) >= length
                    free &= not pairs or abs(nearest[source, begin] - base - taken[number]) >= length
                if free:
                    best = begin
            if best == NONE:
                break
            taken[used] = best
            used += 1
            if pairs:
                taken[used] = nearest[source, best] - base
                used += 1
            found[rows, 0], found[rows, 1] = source, best
            rows += 1
    return rows
