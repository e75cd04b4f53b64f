"""Ranges against loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.ranges import expand, multiples, windows

numbers = st.integers(-40, 40)


def array(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@given(st.lists(st.tuples(numbers, numbers), max_size=8))
def test_expand(ranges: list[tuple[int, int]]) -> None:
    owners, positions = expand(array([low for low, _ in ranges]), array([high for _, high in ranges]))
    expected = [(owner, p) for owner, (low, high) in enumerate(ranges) for p in range(low, high)]
    assert list(zip(owners.tolist(), positions.tolist(), strict=True)) == expected


@given(st.integers(1, 9), numbers, numbers)
def test_multiples(step: int, first: int, limit: int) -> None:
    assert multiples(step, first, limit).tolist() == [n for n in range(first, limit) if n % step == 0]


@given(st.lists(numbers), st.lists(numbers), st.one_of(st.none(), st.integers(0, 20)), st.integers(0, 20))
def test_windows(ticks: list[int], evaluations: list[int], reach: int | None, end: int) -> None:
    ticks, evaluations = sorted(ticks), sorted(evaluations)
    low, high = windows(array(ticks), array(evaluations), reach, end)
    for at, start, stop in zip(evaluations, low, high, strict=True):
        inside = [t for t in ticks if t <= at - end and (reach is None or t > at - reach)]
        assert ticks[start : max(start, stop)] == inside
