"""Entries against gathering the rows of every run, slice and group in lists."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels import entries
from nilometer.kernels.read_only import read_only
from nilometer.kernels.slices import Slicing, slice_around

GROUPS = 4

Row = tuple[int, int, int]
"""Tick, group, value."""

rows_of = st.lists(st.tuples(st.integers(-20, 20), st.integers(0, GROUPS - 1), st.integers(-8, 8)))
slicings = st.builds(
    Slicing.of,
    st.one_of(st.none(), st.integers(1, 9)),
    st.one_of(st.none(), st.integers(5, 25)),
    st.integers(0, 5),
)


def naive(rows: list[Row], slicing: Slicing) -> dict[tuple[int, int, int], list[int]]:
    """The places of the rows of each (run, slice, group), in the order in which they first come."""
    cells: dict[tuple[int, int, int], list[int]] = {}
    named = [(slice_around(tick, *slicing)[1], group) for tick, group, _ in rows]
    place = 0
    for run, (name, members) in enumerate(groupby(named, key=lambda row: row[0])):
        for _, group in members:
            cells.setdefault((run, name, group), []).append(place)
            place += 1
    return cells


@given(rows_of, slicings, st.booleans())
def test_entries_are_the_cells_of_runs(rows: list[Row], slicing: Slicing, in_order: bool) -> None:
    rows = sorted(rows, key=lambda row: row[0]) if in_order else rows
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    ticks, groups, values = (read_only(table[:, place]) for place in range(3))
    cells = naive(rows, slicing)
    entry_of, slices, codes, counts, ascending = entries.entries_of(
        ticks, groups, np.full(GROUPS, -1, np.int64), *slicing
    )
    assert list(zip(slices.tolist(), codes.tolist(), strict=True)) == [cell[1:] for cell in cells]
    assert counts.tolist() == [len(places) for places in cells.values()]
    assert ascending == (slices.tolist() == sorted(slices.tolist()))
    assert ascending or not in_order
    for entry, places in enumerate(cells.values()):
        assert np.flatnonzero(entry_of == entry).tolist() == places

    content = [[rows[place][2] for place in places] for places in cells.values()]
    for operation, combine in ((0, sum), (1, min), (2, max)):
        identity = np.int64((0, 10**6, -(10**6))[operation])
        found = entries.reduce_rows(operation, identity, entry_of, values, len(cells))
        assert found.tolist() == [combine(cell) for cell in content]
    numbers = values.astype(float)
    nothing = np.zeros(len(rows))
    sums = entries.sum_rows(entry_of, read_only(numbers), len(cells))
    assert sums.tolist() == [[sum(cell) for cell in content], [0.0] * len(content)]
    pairs = entries.reduce_sums(entry_of, read_only(np.stack([numbers, nothing])), len(cells))
    assert pairs.tolist() == sums.tolist()
    lifted = np.stack([nothing + 1, numbers, nothing, nothing])
    moments = entries.reduce_merged(entry_of, read_only(lifted), len(cells))
    for entry, cell in enumerate(content):
        mean = sum(cell) / len(cell)
        squares = sum((value - mean) ** 2 for value in cell)
        assert moments[:, entry] == pytest.approx([len(cell), mean, 0, squares], abs=1e-9)


def test_sums_are_rounded_once() -> None:
    values = read_only(np.array([1e16, 1.0, 1.0, -1e16]))
    high, low = entries.sum_rows(np.zeros(4, dtype=np.int32), values, 1)
    assert (high.tolist(), low.tolist()) == ([2.0], [0.0])
