"""Rows that bring their own windows against two loops, of equal and of nearly equal values; what is held is what is alive."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.near_table import NearTable, until_of
from nilometer.kernels.own_window_table import OwnWindowTable


@pytest.mark.parametrize("epsilon", [0, 2.0])
@given(data=st.data())
def test_rows_that_bring_their_own_window(epsilon: float, data: st.DataObject) -> None:
    row = st.tuples(st.integers(0, 40), st.integers(0, 4), st.integers(0, 3), st.sampled_from([-1, 0, 3, 20]))
    rows = sorted(data.draw(st.lists(row, max_size=25)), key=lambda row: row[0])
    table = OwnWindowTable() if epsilon == 0 else NearTable(None, epsilon)
    cuts = data.draw(st.lists(st.integers(0, 25), max_size=3))
    for low, high in pairwise([0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]):
        times, values, sources, windows = (
            np.array([row[side] for row in rows[low:high]], dtype=np.int64) for side in range(4)
        )
        probes = table.probe(
            times, values.view(np.uint64) if epsilon == 0 else values, sources, until_of(times, windows)
        )
        expected = [
            [
                other
                for other in range(probe)
                if rows[other][2] != rows[probe][2]
                and abs(rows[other][1] - rows[probe][1]) <= epsilon
                and rows[probe][0] - rows[other][0] <= rows[other][3]
            ]
            for probe in range(low, high)
        ]
        assert probes.partners.tolist() == [len(each) for each in expected]
        assert probes.sources.tolist() == [len({rows[other][2] for other in each}) for each in expected]
        owners, found = table.expand(probes)
        assert owners.tolist() == [owner for owner, each in enumerate(expected) for _ in each]
        assert table.times(found).tolist() == [rows[other][0] for each in expected for other in each]


@pytest.mark.parametrize("epsilon", [0, 2.0])
def test_a_few_long_windows_do_not_hold_up_the_many_short_ones(epsilon: float) -> None:
    chance = np.random.default_rng(5)
    table: OwnWindowTable | NearTable = OwnWindowTable() if epsilon == 0 else NearTable(None, epsilon)
    rows: list[tuple[int, int, int, int]] = []
    for round_number in range(60):
        times = 1_000 * round_number + np.sort(chance.integers(0, 1_000, 1_000))
        values, sources = chance.integers(0, 50, 1_000), chance.integers(0, 90, 1_000)
        windows = np.where(sources == 7, 30_000, 500)
        probes = table.probe(
            times, values.view(np.uint64) if epsilon == 0 else values, sources, until_of(times, windows)
        )
        first = len(rows)
        rows += list(zip(times.tolist(), values.tolist(), sources.tolist(), windows.tolist(), strict=True))
        for probe in chance.integers(0, 1_000, 3).tolist():
            time, value, source, _ = rows[first + probe]
            partners = [
                row
                for row in rows[: first + probe]
                if abs(row[1] - value) <= epsilon and row[2] != source and time - row[0] <= row[3]
            ]
            assert probes.partners[probe] == len(partners)
            assert probes.sources[probe] == len({row[2] for row in partners})
        # One in ninety lives for thirty rounds, the others for half a one: some 800 in all, never the 30,000 since the oldest.
        assert len(table) < 5_000
