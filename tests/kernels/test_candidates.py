"""Ranges of candidates against loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.candidates import expand_in_chunks, group_order, group_ranges, split

ranges = st.lists(st.tuples(st.integers(0, 9), st.integers(-2, 5)), max_size=8)
numbers = st.lists(st.integers(0, 4), max_size=12)


@given(ranges, st.integers(1, 7))
def test_chunks_are_the_pairs_cut_in_pieces(given_ranges: list[tuple[int, int]], limit: int) -> None:
    low = np.array([start for start, _ in given_ranges], dtype=np.int64)
    high = np.array([start + count for start, count in given_ranges], dtype=np.int64)
    chunks = list(expand_in_chunks(low, high, limit))
    assert all(0 < len(owners) == len(places) <= limit for owners, places in chunks)
    pairs = [pair for owners, places in chunks for pair in zip(owners.tolist(), places.tolist(), strict=True)]
    expected = [
        (owner, place)
        for owner, (start, count) in enumerate(given_ranges)
        for place in range(start, start + count)
    ]
    assert pairs == expected


@given(st.lists(st.integers(0, 6), max_size=12), st.integers(1, 9))
def test_split_covers_everything_within_the_limit(weights: list[int], limit: int) -> None:
    slices = list(split(np.array(weights, dtype=np.int64), limit))
    assert [weight for part in slices for weight in weights[part]] == weights
    for part in slices:
        assert part.stop - part.start == 1 or sum(weights[part]) <= limit


@given(st.data())
def test_group_ranges_are_what_a_loop_finds(data: st.DataObject) -> None:
    elements = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), max_size=12))
    bounds = st.tuples(st.integers(-1, 4), st.integers(-7, 7), st.integers(-7, 7))
    probes = data.draw(st.lists(bounds, max_size=8))
    codes, positions = (np.array([element[side] for element in elements], dtype=np.int64) for side in (0, 1))
    order = group_order(codes, positions)
    columns = [np.array([probe[side] for probe in probes], dtype=np.int64) for side in range(3)]
    low, high = group_ranges(codes[order], positions[order], *columns)
    for (code, lowest, highest), start, end in zip(probes, low, high, strict=True):
        found = sorted(order[start:end].tolist()) if end > start else []
        expected = [
            number
            for number, (one, position) in enumerate(elements)
            if one == code >= 0 and lowest <= position <= highest
        ]
        assert found == expected
