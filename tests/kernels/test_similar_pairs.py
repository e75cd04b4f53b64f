"""Pairs of like values against two loops, also at the ends of the integers and where floats round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels import similar_pairs as module
from nilometer.kernels.similar_pairs import SimilarRows, similar_candidates, similar_pairs, similar_partners

edges = st.sampled_from([-(2**63), -(2**63) + 2, -1, 0, 1, 2, 2**53, 2**53 + 1, 2**63 - 1])
floats = st.floats(-1e6, 1e6) | st.sampled_from([0.1, 0.2, 0.30000000000000004, 0.3, 1e-300, 1e300])


def naive(
    rows: list[tuple[int, int, Any]], probes: list[int], epsilon: float, window: int
) -> list[tuple[int, int]]:
    return [
        (probe, other)
        for probe in probes
        for other in range(probe)
        if rows[other][1] != rows[probe][1]
        and rows[probe][0] - rows[other][0] <= window
        and abs(rows[probe][2] - rows[other][2]) <= epsilon
    ]


@pytest.mark.parametrize(("values", "dtype"), [(edges, np.int64), (floats, np.float64)], ids=["INT", "FLOAT"])
@given(data=st.data())
def test_pairs_are_those_of_two_loops(
    values: st.SearchStrategy[Any], dtype: Any, data: st.DataObject
) -> None:
    row = st.tuples(st.integers(0, 9), st.integers(0, 2), values)
    rows = sorted(data.draw(st.lists(row, max_size=10)), key=lambda row: row[0])
    probes = sorted(data.draw(st.sets(st.integers(0, max(len(rows) - 1, 0))))) if rows else []
    epsilon = data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0, 1e9, 1e19]))
    window = data.draw(st.sampled_from([0, 3, 100]))
    times, sources, numbers = (
        np.array([row[side] for row in rows], dtype=kind)
        for side, kind in enumerate((np.int64, np.int64, dtype))
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PAIRS_AT_ONCE", data.draw(st.sampled_from([1, 5, 100])))
        given, asked = SimilarRows(times, sources, numbers, epsilon, window), np.array(probes, dtype=np.int64)
        found, partners = similar_pairs(given, asked), similar_partners(given, asked)
    pairs = list(zip(found[0].tolist(), found[1].tolist(), strict=True))
    assert pairs == naive(rows, probes, epsilon, window)
    assert partners.tolist() == [sum(probe == owner for owner, _ in pairs) for probe in probes]
    assert (similar_candidates(given, asked) >= partners).all()
