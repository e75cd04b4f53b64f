"""Merges partial aggregates of several numbers: the union of two sets of rows -> its partial.

A partial is a column of a matrix. The number of its rows says which kind it is, so that one compiled kernel serves
all kinds:

    4   moments    n, mean in two doubles, sum of squared deviations: VARIANCE, STDEV
    8   comoments  n, two means in two doubles each, sums of squares and of products: CORR, COVAR, REGR
    10  path       n, first reading, last reading, area between them in two doubles, whether lines are straight:
                   TWA, INTEGRAL. A reading is its time in two halves of 32 bits, and its value.

The law: merging is commutative and associative (but for rounding), and a column of zeros changes nothing. The paths
of one source that meet cover stretches of time that do not overlap.
"""

from __future__ import annotations

import numba

MOMENTS = 4
COMOMENTS = 8
PATH = 10

_HALF = float(1 << 32)


@numba.njit(cache=True)
def add_pairs(high, low, other_high, other_low):  # type: ignore[no-untyped-def]
    """The sum of two numbers of two doubles each; `high` is then the sum, rounded once (Knuth's TwoSum,
    renormalised)."""
    total = high + other_high
    part = total - high
    error = (high - (total - part)) + (other_high - part) + (low + other_low)
    rounded = total + error
    return rounded, error - (rounded - total)


@numba.njit(cache=True)
def merge_into(target, place, values, entry):  # type: ignore[no-untyped-def]
    """Merges a column of `values` into a column of `target`."""
    if values[0, entry] == 0:
        return
    if target[0, place] == 0:
        for row in range(values.shape[0]):
            target[row, place] = values[row, entry]
    elif values.shape[0] == MOMENTS:
        _merge_moments(target, place, values, entry)
    elif values.shape[0] == COMOMENTS:
        _merge_comoments(target, place, values, entry)
    else:
        _merge_paths(target, place, values, entry)


@numba.njit(cache=True)
def _merge_moments(target, place, values, entry):  # type: ignore[no-untyped-def]
    """Chan, Golub and LeVeque 1979."""
    count, other = target[0, place], values[0, entry]
    total = count + other
    share = other / total
    delta, _ = add_pairs(values[1, entry], values[2, entry], -target[1, place], -target[2, place])
    target[0, place] = total
    target[1, place], target[2, place] = add_pairs(target[1, place], target[2, place], delta * share, 0.0)
    target[3, place] = target[3, place] + values[3, entry] + delta * delta * count * share


@numba.njit(cache=True)
def _merge_comoments(target, place, values, entry):  # type: ignore[no-untyped-def]
    """The same for two values at once, with the sum of their products."""
    count, other = target[0, place], values[0, entry]
    total = count + other
    share = other / total
    delta, _ = add_pairs(values[1, entry], values[2, entry], -target[1, place], -target[2, place])
    second, _ = add_pairs(values[3, entry], values[4, entry], -target[3, place], -target[4, place])
    target[0, place] = total
    target[1, place], target[2, place] = add_pairs(target[1, place], target[2, place], delta * share, 0.0)
    target[3, place], target[4, place] = add_pairs(target[3, place], target[4, place], second * share, 0.0)
    target[5, place] += values[5, entry] + delta * delta * count * share
    target[6, place] += values[6, entry] + second * second * count * share
    target[7, place] += values[7, entry] + delta * second * count * share


@numba.njit(cache=True)
def _merge_paths(target, place, values, entry):  # type: ignore[no-untyped-def]
    """Joins two stretches of readings by the piece between them."""
    later = values[1, entry] > target[1, place] or (
        values[1, entry] == target[1, place] and values[2, entry] >= target[2, place]
    )
    if later:
        width = (values[1, entry] - target[4, place]) * _HALF + (values[2, entry] - target[5, place])
        before, behind = target[6, place], values[3, entry]
    else:
        width = (target[1, place] - values[4, entry]) * _HALF + (target[2, place] - values[5, entry])
        before, behind = values[6, entry], target[3, place]
    held = before if target[9, place] == 0 else before / 2 + behind / 2
    area, low = add_pairs(target[7, place], target[8, place], values[7, entry], values[8, entry])
    area, low = add_pairs(area, low, width * held, 0.0)
    if later:
        for row in range(4, 7):
            target[row, place] = values[row, entry]
    else:
        for row in range(1, 4):
            target[row, place] = values[row, entry]
    target[0, place] += values[0, entry]
    target[7, place] = area
    target[8, place] = low
