"""Aggregates rows to entries, one per slice and group: one pass over the ticks and one per component.

Rows stay in the order of arrival. The slice seldom changes from row to row, so a slice is a *run*: its edges
are found once, and while rows stay between them, a group is looked up in an array. If rows return to a slice
that they had left, they form another run with its own entries. Then `ascending` is False, and the entries
(fewer than the rows) must be ordered and reduced in turn.

>>> ticks, groups = np.array([1, 2, 3, 11]), np.array([0, 1, 0, 0])
>>> entry_of, slices, codes, counts, ascending = entries_of(ticks, groups, np.full(2, -1), 10, 0, 0)
>>> entry_of, slices, codes, counts
(array([0, 1, 0, 2], dtype=int32), array([10, 10, 20]), array([0, 1, 0]), array([2, 1, 1]))
"""

from __future__ import annotations

import numba
import numpy as np

from nilometer.kernels.merging import add_pairs, merge_into
from nilometer.kernels.slices import slice_around
from nilometer.kernels.sliding import combine


@numba.njit(cache=True)
def entries_of(ticks, groups, stamps, period, end, other):  # type: ignore[no-untyped-def]
    """The entry of each row; each entry's slice, group and count of rows; whether the slices never descend.

    `stamps` is scratch space with one cell per group; all cells are -1 or less.
    """
    rows = len(ticks)
    entry_of = np.empty(rows, dtype=np.int32)
    # Room for the worst case: memory that is never written costs nothing.
    entry_slices = np.empty(rows, dtype=np.int64)
    entry_groups = np.empty(rows, dtype=np.int64)
    counts = np.empty(rows, dtype=np.int64)
    ascending = True
    count = 0
    began = 0
    left = right = np.int64(0)
    for row in range(rows):
        tick = ticks[row]
        if row == 0 or not left < tick <= right:
            before = right
            left, right = slice_around(tick, period, end, other)
            ascending = ascending and (row == 0 or right > before)
            began = count
        group = groups[row]
        entry = stamps[group]
        if entry < began:
            entry = count
            stamps[group] = entry
            entry_slices[entry] = right
            entry_groups[entry] = group
            counts[entry] = 0
            count += 1
        counts[entry] += 1
        entry_of[row] = entry
    return (
        entry_of,
        entry_slices[:count].copy(),
        entry_groups[:count].copy(),
        counts[:count].copy(),
        ascending,
    )


@numba.njit(cache=True)
def reduce_rows(operation, identity, entry_of, values, count):  # type: ignore[no-untyped-def]
    """The aggregate of each entry's rows."""
    results = np.full(count, identity, dtype=values.dtype)
    for row in range(len(entry_of)):
        entry = entry_of[row]
        results[entry] = combine(operation, results[entry], values[row])
    return results


@numba.njit(cache=True)
def sum_rows(entry_of, values, count):  # type: ignore[no-untyped-def]
    """The sum of each entry's rows as (high, low), for values of one double each."""
    results = np.zeros((2, count), dtype=np.float64)
    for row in range(len(entry_of)):
        entry = entry_of[row]
        results[0, entry], results[1, entry] = add_pairs(
            results[0, entry], results[1, entry], values[row], 0.0
        )
    return results


@numba.njit(cache=True)
def reduce_sums(entry_of, values, count):  # type: ignore[no-untyped-def]
    """As `reduce_rows`, over (high, low)."""
    results = np.zeros((2, count), dtype=np.float64)
    for row in range(len(entry_of)):
        entry = entry_of[row]
        results[0, entry], results[1, entry] = add_pairs(
            results[0, entry], results[1, entry], values[0, row], values[1, row]
        )
    return results


@numba.njit(cache=True)
def reduce_merged(entry_of, values, count):  # type: ignore[no-untyped-def]
    """As `reduce_rows`, over partials of several numbers; those of an entry are merged in their order."""
    results = np.zeros((values.shape[0], count), dtype=np.float64)
    for row in range(len(entry_of)):
        merge_into(results, entry_of[row], values, row)
    return results
