"""The band index against a look at every row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.band_index import BandIndex

numbers = st.integers(-4, 4)


@given(
    st.lists(st.tuples(numbers, st.booleans()), max_size=20),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), numbers, numbers), max_size=6),
    st.integers(1, 7),
    st.integers(1, 9),
    st.sampled_from([np.int64, np.float64]),
    st.booleans(),
)
def test_like_a_look_at_every_row(
    rows: list[tuple[int, bool]],
    probes: list[tuple[int, int, int, int]],
    slice_rows: int,
    limit: int,
    kind: type[np.int64] | type[np.float64],
    all_known: bool,
) -> None:
    values = np.array([value for value, _ in rows], dtype=kind)
    known = None if all_known else np.array([there for _, there in rows], dtype=np.bool_)
    first, end, low, high = (
        np.array([probe[place] for probe in probes], dtype=np.int64 if place < 2 else kind)
        for place in range(4)
    )
    end = np.minimum(end, len(rows))
    index = BandIndex(values, known, slice_rows)
    chunks = list(index.matches(first, end, low, high, limit))
    assert all(0 < len(owners) == len(found) <= limit for owners, found in chunks)
    pairs = [pair for owners, found in chunks for pair in zip(owners.tolist(), found.tolist(), strict=True)]
    assert [owner for owner, _ in pairs] == sorted(owner for owner, _ in pairs)
    assert sorted(pairs) == [
        (owner, row)
        for owner in range(len(probes))
        for row in range(first[owner], end[owner])
        if (known is None or known[row]) and low[owner] <= values[row] <= high[owner]
    ]


@pytest.mark.parametrize("rows", [0, 1])
def test_of_nothing(rows: int) -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert list(BandIndex(np.arange(rows), None, 3).matches(nothing, nothing, nothing, nothing, 5)) == []
