"""Sliding aggregates of many groups at constant cost per entry, for any range / slide (two-stacks).

An *entry* is the partial aggregate of one group in one slice; entries are in the order of their slices. A
window is a range of entries, both of whose ends only move forward. The two stacks (reference/algorithms.md
section 7; Tangwongsan, Hirzel and Schneider) are shared by all groups. The *pivot* cuts the window in two,

    [ first ... pivot )   the front: `front[g]` aggregates the rest of g there, `nexts[e]` the rest after e
    [ pivot ... last )    the back:  `back[g]` aggregates all of g there

and the answer is front[g] + back[g]. Adding an entry adds it to `back`; removing one sets front[g] to
nexts[e]. When the window's start passes the pivot, the pivot moves to the window's end and the front is
rebuilt. So every entry is touched three times, nothing is ever subtracted (no drift, no cancellation; MIN and
MAX work), and the result does not depend on how the rounds were cut.

The first pass (`slide_counts`) finds which groups have a row in which window; `slide`, `slide_sums` and
`slide_moments` repeat the same moves for one more component each. All of them change front, back and nexts in
place.

Sums and means of FLOATs are held as the unevaluated sum of two doubles (Dekker 1971), high + low. So a sum is
rounded once, in the answer, and the mean of equal values is that value. If values are large compared with
their spread, the difference of two means, from which variances are computed, keeps its digits.
"""

from __future__ import annotations

import numba
import numpy as np

ADD = 0
MINIMUM = 1
MAXIMUM = 2


@numba.njit(cache=True)
def combine(operation, one, other):  # type: ignore[no-untyped-def]
    if operation == 0:
        return one + other
    if operation == 1:
        return min(one, other)
    return max(one, other)


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
def merge_moments(  # type: ignore[no-untyped-def]
    count, mean, low, square, other_count, other_mean, other_low, other_square
):
    """(n, mean, its low part, sum of squared deviations) of a union: Chan, Golub and LeVeque 1979."""
    if count == 0:
        return other_count, other_mean, other_low, other_square
    if other_count == 0:
        return count, mean, low, square
    total = count + other_count
    delta, _ = add_pairs(other_mean, other_low, -mean, -low)
    share = other_count / total
    mean, low = add_pairs(mean, low, delta * share, 0.0)
    return total, mean, low, square + other_square + delta * delta * count * share


@numba.njit(cache=True)
def slide_counts(  # type: ignore[no-untyped-def]
    low, high, names, groups, values, nexts, front, back, first, pivot, last, pinned, active, places, size
):
    """The window's moves for every evaluation, over the counts of rows.

    Returns for each evaluation how far entries were added and removed, and the place after its last answer;
    the group and the count of each answer; and the new (first, pivot, last, size). `active[:size]` are the
    groups with a row in the window, `places` their indices in it (-1: none). With `pinned`, only group 0
    answers, and it always does.
    """
    evaluations = len(low)
    taken = np.empty(evaluations, dtype=np.int64)
    left = np.empty(evaluations, dtype=np.int64)
    ends = np.empty(evaluations, dtype=np.int64)
    capacity = evaluations if pinned else 1024
    answered = np.empty(capacity, dtype=np.int64)
    counts = np.empty(capacity, dtype=np.int64)
    written = 0
    length = len(names)
    for evaluation in range(evaluations):
        while last < length and names[last] <= high[evaluation]:
            group = groups[last]
            back[group] += values[last]
            if places[group] < 0 and back[group] + front[group] > 0:
                places[group] = size
                active[size] = group
                size += 1
            last += 1
        target = first
        while target < last and names[target] <= low[evaluation]:
            target += 1
        if target <= pivot:
            for entry in range(first, target):
                front[groups[entry]] = nexts[entry]
        else:
            for entry in range(first, pivot):
                front[groups[entry]] = 0
            for entry in range(pivot, last):
                back[groups[entry]] = 0
            for entry in range(last - 1, target - 1, -1):
                group = groups[entry]
                nexts[entry] = front[group]
                front[group] += values[entry]
            pivot = last
        for entry in range(first, target):
            group = groups[entry]
            place = places[group]
            if place >= 0 and front[group] + back[group] == 0:
                size -= 1
                moved = active[size]
                active[place] = moved
                places[moved] = place
                places[group] = -1
        first = target
        if pinned:
            answered[written] = 0
            counts[written] = front[0] + back[0]
            written += 1
        else:
            if written + size > capacity:
                capacity = max(2 * capacity, written + size)
                more_answered = np.empty(capacity, dtype=np.int64)
                more_counts = np.empty(capacity, dtype=np.int64)
                more_answered[:written] = answered[:written]
                more_counts[:written] = counts[:written]
                answered, counts = more_answered, more_counts
            for place in range(size):
                group = active[place]
                answered[written] = group
                counts[written] = front[group] + back[group]
                written += 1
        taken[evaluation] = last
        left[evaluation] = first
        ends[evaluation] = written
    return taken, left, ends, answered[:written].copy(), counts[:written].copy(), first, pivot, last, size


@numba.njit(cache=True)
def slide(  # type: ignore[no-untyped-def]
    operation,
    identity,
    taken,
    left,
    groups,
    values,
    nexts,
    front,
    back,
    first,
    pivot,
    last,
    ends,
    answered,
):
    """The same moves over another component; returns its value in each answer."""
    results = np.empty(len(answered), dtype=values.dtype)
    written = 0
    for evaluation in range(len(taken)):
        while last < taken[evaluation]:
            group = groups[last]
            back[group] = combine(operation, back[group], values[last])
            last += 1
        target = left[evaluation]
        if target <= pivot:
            for entry in range(first, target):
                front[groups[entry]] = nexts[entry]
        else:
            for entry in range(first, pivot):
                front[groups[entry]] = identity
            for entry in range(pivot, last):
                back[groups[entry]] = identity
            for entry in range(last - 1, target - 1, -1):
                group = groups[entry]
                nexts[entry] = front[group]
                front[group] = combine(operation, values[entry], front[group])
            pivot = last
        first = target
        while written < ends[evaluation]:
            group = answered[written]
            results[written] = combine(operation, front[group], back[group])
            written += 1
    return results


@numba.njit(cache=True)
def slide_sums(  # type: ignore[no-untyped-def]
    taken, left, groups, values, nexts, front, back, first, pivot, last, ends, answered
):
    """The same moves over (high, low), the rows of `values`, `nexts`, `front` and `back`, and of the answers: `high` is the rounded sum."""
    results = np.empty((2, len(answered)), dtype=np.float64)
    written = 0
    for evaluation in range(len(taken)):
        while last < taken[evaluation]:
            _add_into(back, groups[last], values, last)
            last += 1
        target = left[evaluation]
        if target <= pivot:
            for entry in range(first, target):
                group = groups[entry]
                front[0, group] = nexts[0, entry]
                front[1, group] = nexts[1, entry]
        else:
            for entry in range(first, pivot):
                front[0, groups[entry]] = 0.0
                front[1, groups[entry]] = 0.0
            for entry in range(pivot, last):
                back[0, groups[entry]] = 0.0
                back[1, groups[entry]] = 0.0
            for entry in range(last - 1, target - 1, -1):
                group = groups[entry]
                nexts[0, entry] = front[0, group]
                nexts[1, entry] = front[1, group]
                _add_into(front, group, values, entry)
            pivot = last
        first = target
        while written < ends[evaluation]:
            group = answered[written]
            results[0, written], results[1, written] = add_pairs(
                front[0, group], front[1, group], back[0, group], back[1, group]
            )
            written += 1
    return results


@numba.njit(cache=True)
def slide_moments(  # type: ignore[no-untyped-def]
    taken, left, groups, values, nexts, front, back, first, pivot, last, ends, answered
):
    """The same moves over (n, mean, low, squares), the rows of `values`, `nexts`, `front` and `back`, and of the answers."""
    results = np.empty((4, len(answered)), dtype=np.float64)
    written = 0
    for evaluation in range(len(taken)):
        while last < taken[evaluation]:
            _merge_into(back, groups[last], values, last)
            last += 1
        target = left[evaluation]
        if target <= pivot:
            for entry in range(first, target):
                group = groups[entry]
                for row in range(4):
                    front[row, group] = nexts[row, entry]
        else:
            for entry in range(first, pivot):
                for row in range(4):
                    front[row, groups[entry]] = 0.0
            for entry in range(pivot, last):
                for row in range(4):
                    back[row, groups[entry]] = 0.0
            for entry in range(last - 1, target - 1, -1):
                group = groups[entry]
                for row in range(4):
                    nexts[row, entry] = front[row, group]
                _merge_into(front, group, values, entry)
            pivot = last
        first = target
        while written < ends[evaluation]:
            group = answered[written]
            count, mean, low, square = merge_moments(
                front[0, group],
                front[1, group],
                front[2, group],
                front[3, group],
                back[0, group],
                back[1, group],
                back[2, group],
                back[3, group],
            )
            results[0, written] = count
            results[1, written] = mean
            results[2, written] = low
            results[3, written] = square
            written += 1
    return results


@numba.njit(cache=True)
def _add_into(target, place, values, entry):  # type: ignore[no-untyped-def]
    target[0, place], target[1, place] = add_pairs(
        target[0, place], target[1, place], values[0, entry], values[1, entry]
    )


@numba.njit(cache=True)
def _merge_into(target, place, values, entry):  # type: ignore[no-untyped-def]
    count, mean, low, square = merge_moments(
        target[0, place],
        target[1, place],
        target[2, place],
        target[3, place],
        values[0, entry],
        values[1, entry],
        values[2, entry],
        values[3, entry],
    )
    target[0, place] = count
    target[1, place] = mean
    target[2, place] = low
    target[3, place] = square


@numba.njit(cache=True)
def rebuild(operation, groups, values, nexts, front, back, first, pivot, last):  # type: ignore[no-untyped-def]
    """Recomputes front, back and nexts from the values alone, by the operations that made them."""
    for entry in range(pivot - 1, first - 1, -1):
        group = groups[entry]
        nexts[entry] = front[group]
        front[group] = combine(operation, values[entry], front[group])
    for entry in range(pivot, last):
        group = groups[entry]
        back[group] = combine(operation, back[group], values[entry])


@numba.njit(cache=True)
def rebuild_sums(groups, values, nexts, front, back, first, pivot, last):  # type: ignore[no-untyped-def]
    """Like `rebuild`, over (high, low)."""
    for entry in range(pivot - 1, first - 1, -1):
        group = groups[entry]
        nexts[0, entry] = front[0, group]
        nexts[1, entry] = front[1, group]
        _add_into(front, group, values, entry)
    for entry in range(pivot, last):
        _add_into(back, groups[entry], values, entry)


@numba.njit(cache=True)
def rebuild_moments(groups, values, nexts, front, back, first, pivot, last):  # type: ignore[no-untyped-def]
    """Like `rebuild`, over (n, mean, low, squares)."""
    for entry in range(pivot - 1, first - 1, -1):
        group = groups[entry]
        for row in range(4):
            nexts[row, entry] = front[row, group]
        _merge_into(front, group, values, entry)
    for entry in range(pivot, last):
        _merge_into(back, groups[entry], values, entry)
