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
`slide_merged` repeat the same moves for one more component each. All of them change front, back and nexts in
place. `slide_merged` takes every partial of several numbers that is merged as a whole (kernels/merging.py).

Sums and means of FLOATs are held as the unevaluated sum of two doubles (Dekker 1971), high + low. So a sum is
rounded once, in the answer, and the mean of equal values is that value. If values are large compared with
their spread, the difference of two means, from which variances are computed, keeps its digits.
"""

from __future__ import annotations

import numba
import numpy as np

from nilometer.kernels.merging import add_pairs, merge_into

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
def slide_merged(  # type: ignore[no-untyped-def]
    taken, left, groups, values, nexts, front, back, first, pivot, last, ends, answered
):
    """The same moves over partials of several numbers, the rows of `values`, `nexts`, `front` and `back`, and of
    the answers.
    """
    rows = values.shape[0]
    results = np.empty((rows, len(answered)), dtype=np.float64)
    written = 0
    for evaluation in range(len(taken)):
        while last < taken[evaluation]:
            merge_into(back, groups[last], values, last)
            last += 1
        target = left[evaluation]
        if target <= pivot:
            for entry in range(first, target):
                group = groups[entry]
                for row in range(rows):
                    front[row, group] = nexts[row, entry]
        else:
            for entry in range(first, pivot):
                for row in range(rows):
                    front[row, groups[entry]] = 0.0
            for entry in range(pivot, last):
                for row in range(rows):
                    back[row, groups[entry]] = 0.0
            for entry in range(last - 1, target - 1, -1):
                group = groups[entry]
                for row in range(rows):
                    nexts[row, entry] = front[row, group]
                merge_into(front, group, values, entry)
            pivot = last
        first = target
        while written < ends[evaluation]:
            group = answered[written]
            for row in range(rows):
                results[row, written] = front[row, group]
            merge_into(results, written, back, group)
            written += 1
    return results


@numba.njit(cache=True)
def _add_into(target, place, values, entry):  # type: ignore[no-untyped-def]
    target[0, place], target[1, place] = add_pairs(
        target[0, place], target[1, place], values[0, entry], values[1, entry]
    )


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
def rebuild_merged(groups, values, nexts, front, back, first, pivot, last):  # type: ignore[no-untyped-def]
    """Like `rebuild`, over partials of several numbers."""
    for entry in range(pivot - 1, first - 1, -1):
        group = groups[entry]
        for row in range(values.shape[0]):
            nexts[row, entry] = front[row, group]
        merge_into(front, group, values, entry)
    for entry in range(pivot, last):
        merge_into(back, groups[entry], values, entry)
