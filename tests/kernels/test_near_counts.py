"""Counts of what is near, walked and swept, against two loops, also at the ends of the integers and where floats round."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.test_near_table import edges, floats, naive
from nilometer.kernels import near_counts
from nilometer.kernels.near_counts import NearCounts


@pytest.mark.parametrize("sweep", [0, 1_000], ids=["swept", "walked"])
@pytest.mark.parametrize(("values", "dtype"), [(edges, np.int64), (floats, np.float64)], ids=["INT", "FLOAT"])
@given(data=st.data())
def test_rows_in_several_calls(
    sweep: int, values: st.SearchStrategy[Any], dtype: Any, data: st.DataObject
) -> None:
    row = st.tuples(st.integers(0, 40), values, st.integers(0, 3))
    rows = sorted(data.draw(st.lists(row, max_size=25)), key=lambda row: row[0])
    epsilons = [1.0, 2.0, 2.5, 1e9, 1e19] + [0.1, 0.3, 0.5, 1e-12] * (dtype is np.float64)
    epsilon, window = data.draw(st.sampled_from(epsilons)), data.draw(st.sampled_from([0, 5, 100]))
    counts = NearCounts(window, epsilon)
    cuts = data.draw(st.lists(st.integers(0, 25), max_size=3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_counts, "SWEEP", sweep)
        for low, high in pairwise([0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]):
            times, numbers, sources = (
                np.array([row[side] for row in rows[low:high]], dtype=kind)
                for side, kind in enumerate((np.int64, dtype, np.int64))
            )
            found = counts.probe(times, numbers, sources)
            expected = [naive(rows, probe, epsilon, window) for probe in range(low, high)]
            assert found.partners.tolist() == [len(each) for each in expected]
            assert found.sources.tolist() == [len({rows[other][2] for other in each}) for each in expected]
            assert len(counts) <= high
    if rows:
        counts.expire(rows[-1][0])
        assert len(counts) == sum(rows[-1][0] - time <= window for time, _, _ in rows)


def test_both_ways_agree_on_many() -> None:
    random = np.random.default_rng(3)
    rows, found = 20_000, {}
    times = np.sort(random.integers(0, 40_000, rows))
    values, sources = np.cumsum(random.normal(size=rows)) % 10, random.integers(0, 50, rows)
    for sweep in (0, 10**9):
        counts = NearCounts(4_000, 0.25)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(near_counts, "SWEEP", sweep)
            parts = [
                counts.probe(*(each[at : at + 1_500] for each in (times, values, sources)))
                for at in range(0, rows, 1_500)
            ]
        assert counts.bytes < 32 * 3 * 4_000
        found[sweep] = [np.concatenate([part.partners, part.sources]) for part in parts]
    assert all((one == other).all() for one, other in zip(*found.values(), strict=True))
