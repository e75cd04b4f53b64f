"""The hash index against a loop over all pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.hash_index import HashIndex

numbers = st.one_of(st.none(), st.integers(0, 3), st.integers(2**64 - 2, 2**64 - 1))
rows = st.lists(st.tuples(numbers, st.integers(0, 9)), max_size=30)
probes = st.lists(st.tuples(numbers, st.integers(-1, 9), st.integers(-1, 10)), max_size=15)


@given(rows, probes, st.sampled_from([1, 2, 1000]))
def test_matches(
    rows: list[tuple[int | None, int]], probes: list[tuple[int | None, int, int]], limit: int
) -> None:
    rows = sorted(rows, key=lambda row: row[1])
    expected = [
        (place, number)
        for place, (probe, low, high) in enumerate(probes)
        for number, (row, time) in enumerate(rows)
        if probe is not None and probe == row and low <= time <= high
    ]

    def columns(values: list[int | None]) -> tuple[np.ndarray, np.ndarray | None]:
        known = np.array([value is not None for value in values], dtype=np.bool_)
        filled = np.array([value or 0 for value in values], dtype=np.uint64)
        return filled, None if known.all() else known

    index = HashIndex(*columns([row[0] for row in rows]), np.array([row[1] for row in rows], dtype=np.int64))
    low, high = (np.array([probe[place] for probe in probes], dtype=np.int64) for place in (1, 2))
    chunks = list(index.matches(*columns([probe[0] for probe in probes]), low, high, limit))
    assert all(0 < len(owners) <= limit for owners, _ in chunks)
    found = [pair for owners, places in chunks for pair in zip(owners.tolist(), places.tolist(), strict=True)]
    assert found == expected
    ends = np.array([probe[2] for probe in probes], dtype=np.int64)
    last = index.last(*columns([probe[0] for probe in probes]), ends)
    assert last.tolist() == [
        max(
            (
                number
                for number, (row, time) in enumerate(rows)
                if probe is not None and probe == row and time <= high
            ),
            default=-1,
        )
        for probe, _, high in probes
    ]
