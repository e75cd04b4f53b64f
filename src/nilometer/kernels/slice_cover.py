"""Answers many windows that end together from one store of slices (general stream slicing; Traub et al., EDBT 2019).

The windows of one evaluation all end at `high`. Sorted by their starts, each holds the one before it. So one walk from
the newest slice to the oldest answers all of them: `cover` lists the runs of entries to walk over, and the `suffix`
functions fold them and write an answer at each window's start.

A run is one slice, or a block of RADIX, RADIX^2, ... slices that was aggregated before (a tree like FlatFAT's, with
blocks at fixed places). A block is used where no window begins inside it. So a window of many slices costs about
RADIX runs a level, and thousands of windows cost little more than the widest one.

Slices and blocks are named by their right edges: multiples of their length, minus the shift.
"""

from __future__ import annotations

import numba
import numpy as np

from nilometer.kernels.merging import add_pairs
from nilometer.kernels.sliding import combine

RADIX = 4
LEVELS = 9
"""The number of levels, that of single slices included."""


@numba.njit(cache=True)
def cover(lows, highs, step, shift, names, built):  # type: ignore[no-untyped-def]
    """The runs of entries of each evaluation, newest first, and after which run each window is complete.

    `highs` has the end of each evaluation, `lows` (by evaluation, and by window from the narrowest to the widest) the
    open starts. `names` has, by level, the right edges of the blocks' entries, ascending; `built` up to which edge the
    blocks of a level are there. Returns level, first and last place of each run, and the marks.
    """
    evaluations, windows = lows.shape
    capacity = 1024
    levels = np.empty(capacity, dtype=np.int64)
    starts = np.empty(capacity, dtype=np.int64)
    ends = np.empty(capacity, dtype=np.int64)
    marks = np.empty((evaluations, windows), dtype=np.int64)
    count = 0
    oldest = names[0][0] - step if len(names[0]) else np.int64(0)
    for evaluation in range(evaluations):
        edge = highs[evaluation]
        if len(names[0]):
            # No entry lies beyond the newest: begin there.
            edge = min(edge, names[0][-1])
        for window in range(windows):
            low = lows[evaluation, window]
            while edge > low and edge > oldest and len(names[0]):
                level, size = 0, step
                for higher in range(1, LEVELS):
                    larger = size * RADIX
                    if (edge + shift) % larger != 0 or edge - larger < low or built[higher] < edge:
                        break
                    level, size = higher, larger
                held = names[level]
                start = np.searchsorted(held, edge - size, side="right")
                end = np.searchsorted(held, edge, side="right")
                if end > start:
                    if count == capacity:
                        capacity *= 2
                        levels = _grown(levels, capacity)
                        starts = _grown(starts, capacity)
                        ends = _grown(ends, capacity)
                    levels[count], starts[count], ends[count] = level, start, end
                    count += 1
                edge -= size
            marks[evaluation, window] = count
    return levels[:count].copy(), starts[:count].copy(), ends[:count].copy(), marks


@numba.njit(cache=True)
def _grown(array, capacity):  # type: ignore[no-untyped-def]
    larger = np.empty(capacity, dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@numba.njit(cache=True)
def suffix_counts(levels, starts, ends, marks, groups, counts, total, pinned):  # type: ignore[no-untyped-def]
    """The groups with a row in each window, and how many rows; `closes` is the place after each window's last answer.

    `groups` and `counts` are by level. `total` has a zero for each group, and is left so. With `pinned`, only group 0
    answers, and it always does.
    """
    evaluations, windows = marks.shape
    closes = np.empty((evaluations, windows), dtype=np.int64)
    active = np.empty(len(total), dtype=np.int64)
    capacity = max(1024, evaluations * windows)
    answered = np.empty(capacity, dtype=np.int64)
    results = np.empty(capacity, dtype=np.int64)
    written = run = 0
    for evaluation in range(evaluations):
        size = 0
        for window in range(windows):
            while run < marks[evaluation, window]:
                codes, values = groups[levels[run]], counts[levels[run]]
                for entry in range(starts[run], ends[run]):
                    group = codes[entry]
                    if total[group] == 0:
                        active[size] = group
                        size += 1
                    total[group] += values[entry]
                run += 1
            more = 1 if pinned else size
            if written + more > capacity:
                capacity = max(2 * capacity, written + more)
                answered = _grown(answered, capacity)
                results = _grown(results, capacity)
            if pinned:
                answered[written] = 0
                results[written] = total[0]
            else:
                for place in range(size):
                    answered[written + place] = active[place]
                    results[written + place] = total[active[place]]
            written += more
            closes[evaluation, window] = written
        for place in range(size):
            total[active[place]] = 0
    return closes, answered[:written].copy(), results[:written].copy()


@numba.njit(cache=True)
def suffix(  # type: ignore[no-untyped-def]
    operation, identity, levels, starts, ends, marks, groups, held, total, closes, answered
):
    """The same walk over another component; `total` has the identity for each group, and is left so."""
    evaluations, windows = marks.shape
    results = np.empty(len(answered), dtype=total.dtype)
    written = run = 0
    for evaluation in range(evaluations):
        begun = run
        for window in range(windows):
            while run < marks[evaluation, window]:
                codes, values = groups[levels[run]], held[levels[run]]
                for entry in range(starts[run], ends[run]):
                    total[codes[entry]] = combine(operation, total[codes[entry]], values[entry])
                run += 1
            while written < closes[evaluation, window]:
                results[written] = total[answered[written]]
                written += 1
        for past in range(begun, run):
            codes = groups[levels[past]]
            for entry in range(starts[past], ends[past]):
                total[codes[entry]] = identity
    return results


@numba.njit(cache=True)
def suffix_sums(levels, starts, ends, marks, groups, held, total, closes, answered):  # type: ignore[no-untyped-def]
    """The same walk over sums of two doubles, (high, low)."""
    evaluations, windows = marks.shape
    results = np.empty((2, len(answered)), dtype=np.float64)
    written = run = 0
    for evaluation in range(evaluations):
        begun = run
        for window in range(windows):
            while run < marks[evaluation, window]:
                codes, values = groups[levels[run]], held[levels[run]]
                for entry in range(starts[run], ends[run]):
                    group = codes[entry]
                    total[0, group], total[1, group] = add_pairs(
                        total[0, group], total[1, group], values[0, entry], values[1, entry]
                    )
                run += 1
            while written < closes[evaluation, window]:
                group = answered[written]
                results[0, written] = total[0, group]
                results[1, written] = total[1, group]
                written += 1
        for past in range(begun, run):
            codes = groups[levels[past]]
            for entry in range(starts[past], ends[past]):
                total[0, codes[entry]] = 0.0
                total[1, codes[entry]] = 0.0
    return results
