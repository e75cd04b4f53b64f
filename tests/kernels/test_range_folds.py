"""Folds over ranges, against plain Python over each range."""

from __future__ import annotations

import math
from statistics import median

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.range_folds import (
    added_pairs,
    first_above,
    first_not_below,
    least_of_ranges,
    medians_of_ranges,
    sums_of_ranges,
)

numbers = st.lists(st.integers(-50, 50), min_size=1, max_size=20)
floats = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)


@st.composite
def ranges(draw: st.DrawFn, count: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = draw(st.lists(st.tuples(st.integers(0, count), st.integers(0, count)), max_size=10))
    lows, highs = [min(pair) for pair in pairs], [max(pair) for pair in pairs]
    return np.array(lows, dtype=np.int64), np.array(highs, dtype=np.int64)


@given(st.data(), numbers)
def test_the_least_of_ranges(data: st.DataObject, values: list[int]) -> None:
    lows, highs = data.draw(ranges(len(values)))
    found = least_of_ranges(np.array(values), lows, highs, 99)
    expected = [min(values[low:high], default=99) for low, high in zip(lows, highs, strict=True)]
    assert found.tolist() == expected


@given(st.data(), floats)
def test_the_sums_of_ranges(data: st.DataObject, values: list[float]) -> None:
    lows, highs = data.draw(ranges(len(values)))
    high, _ = sums_of_ranges(np.array(values), lows, highs)
    expected = [math.fsum(values[low:high]) for low, high in zip(lows, highs, strict=True)]
    assert np.allclose(high, expected, rtol=1e-15, atol=1e-300)


@given(st.data(), numbers, st.integers(-60, 60))
def test_searches_in_ranges(data: st.DataObject, values: list[int], target: int) -> None:
    lows, highs = data.draw(ranges(len(values)))
    ordered = sorted(values)
    targets = np.full(len(lows), target)
    pairs = list(zip(lows, highs, strict=True))
    not_below = [next((n for n in range(a, b) if ordered[n] >= target), b) for a, b in pairs]
    above = [next((n for n in range(a, b) if ordered[n] > target), b) for a, b in pairs]
    assert first_not_below(np.array(ordered), lows, highs, targets).tolist() == not_below
    assert first_above(np.array(ordered), lows, highs, targets).tolist() == above


def test_pairs_keep_what_a_double_loses() -> None:
    high, low = added_pairs(np.array([1e16]), np.array([0.0]), np.array([1.0]), np.array([0.0]))
    assert (high[0], low[0]) == (1e16, 1.0)


@given(st.data(), st.lists(st.none() | st.integers(-9, 9), min_size=1, max_size=20))
def test_the_medians_of_ranges(data: st.DataObject, values: list[int | None]) -> None:
    lows, highs = data.draw(ranges(len(values)))
    ascending = sorted({value for value in values if value is not None})
    ranks = np.array([-1 if value is None else ascending.index(value) for value in values])
    found = medians_of_ranges(ranks, np.array(ascending, dtype=np.float64), lows, highs)
    for number, (low, high) in enumerate(zip(lows, highs, strict=True)):
        inside = [value for value in values[low:high] if value is not None]
        assert found[number] == median(inside) if inside else math.isnan(found[number])
