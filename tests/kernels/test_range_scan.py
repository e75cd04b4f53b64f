"""The scan of ranges against the pairs of all ranges."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.range_scan import equal_in_ranges
from nilometer.kernels.ranges import expand

rows_ = st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12)
probes_ = st.lists(
    st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 12), st.integers(0, 12)), max_size=6
)


@given(rows_, probes_, st.integers(1, 9), st.booleans())
def test_like_all_pairs_of_the_ranges(
    rows: list[tuple[int, bool]], probes: list[tuple[int, bool, int, int]], limit: int, masked: bool
) -> None:
    row_numbers = np.array([number for number, _ in rows], dtype=np.uint64)
    row_known = np.array([known for _, known in rows], dtype=np.bool_) if masked else None
    numbers = np.array([probe[0] for probe in probes], dtype=np.uint64)
    known = np.array([probe[1] for probe in probes], dtype=np.bool_) if masked else None
    first, end = (np.array([probe[place] for probe in probes], dtype=np.int64) for place in (2, 3))
    end = np.minimum(end, len(rows))
    chunks = list(equal_in_ranges(numbers, known, first, end, row_numbers, row_known, limit))
    assert all(0 < len(owners) == len(found) <= limit for owners, found in chunks)
    owners, places = expand(first, end)
    expected = [
        (owner, row)
        for owner, row in zip(owners.tolist(), places.tolist(), strict=True)
        if numbers[owner] == row_numbers[row] and (not masked or (known[owner] and row_known[row]))  # type: ignore[index]
    ]
    assert [pair for chunk in chunks for pair in zip(*map(np.ndarray.tolist, chunk), strict=True)] == expected
