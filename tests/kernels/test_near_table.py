"""The table of nearly equal values against two loops, also at the ends of the integers and where floats round."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.near_table import NearTable

Row = tuple[int, Any, int]

edges = st.integers(-9, 9) | st.sampled_from([-(2**63), -(2**63) + 2, 2**53, 2**53 + 1, 2**63 - 1])
floats = (
    st.integers(-40, 40).map(lambda tenth: tenth / 10)
    | st.integers(-40, 40).map(lambda tenth: tenth * 0.1)
    | st.sampled_from([1e-300, 1e300, -1e300, 1e9 + 0.1, 1e9 + 0.2, float("inf"), -0.0])
)


def naive(rows: list[Row], probe: int, epsilon: float, window: int) -> list[int]:
    time, value, source = rows[probe]
    return [
        other
        for other in range(probe)
        if rows[other][2] != source
        and time - rows[other][0] <= window
        and abs(rows[other][1] - value) <= epsilon
    ]


@pytest.mark.parametrize(("values", "dtype"), [(edges, np.int64), (floats, np.float64)], ids=["INT", "FLOAT"])
@given(data=st.data())
def test_rows_in_several_calls(values: st.SearchStrategy[Any], dtype: Any, data: st.DataObject) -> None:
    row = st.tuples(st.integers(0, 40), values, st.integers(0, 3))
    rows = sorted(data.draw(st.lists(row, max_size=25)), key=lambda row: row[0])
    epsilons = [1.0, 2.0, 2.5, 1e9, 1e19] + [0.1, 0.3, 0.5, 1e-12] * (dtype is np.float64)
    epsilon, window = data.draw(st.sampled_from(epsilons)), data.draw(st.sampled_from([0, 5, 100]))
    table = NearTable(window, epsilon)
    cuts = data.draw(st.lists(st.integers(0, 25), max_size=3))
    for low, high in pairwise([0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]):
        times, numbers, sources = (
            np.array([row[side] for row in rows[low:high]], dtype=kind)
            for side, kind in enumerate((np.int64, dtype, np.int64))
        )
        probes = table.probe(times, numbers, sources)
        expected = [naive(rows, probe, epsilon, window) for probe in range(low, high)]
        assert probes.partners.tolist() == [len(each) for each in expected]
        assert probes.sources.tolist() == [len({rows[other][2] for other in each}) for each in expected]
        owners, found = table.expand(probes)
        pairs = [(owner, other) for owner, each in enumerate(expected) for other in each]
        assert list(zip(owners.tolist(), found.tolist(), strict=True)) == pairs
        assert table.times(found).tolist() == [rows[other][0] for _, other in pairs]
        assert table.values(found).tolist() == [rows[other][1] for _, other in pairs]
    if rows:
        table.expire(rows[-1][0])
        assert len(table) == sum(rows[-1][0] - row[0] <= window for row in rows)


def test_it_grows_and_shrinks_with_the_window() -> None:
    chance = np.random.default_rng(5)
    table = NearTable(window=1_000, epsilon=0.25)
    rows: list[Row] = []
    time = 0
    for round_number in range(6):
        count, step = (6_000, 2) if round_number % 3 == 0 else (200, 90)
        times = time + np.cumsum(chance.integers(0, 2, count) * step)
        time = int(times[-1])
        values = chance.normal(scale=1_000, size=count)
        sources = chance.integers(0, 3_000, count)
        first = len(rows)
        rows += list(zip(times.tolist(), values.tolist(), sources.tolist(), strict=True))
        probes = table.probe(times, values, sources)
        for probe in chance.integers(0, count, 20).tolist():
            assert probes.partners[probe] == len(naive(rows, first + probe, 0.25, 1_000))
