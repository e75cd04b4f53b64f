"""Slices against the definition of a window."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.slices import Slicing, order_by, slice_around

numbers = st.integers(-60, 60)


@given(
    st.lists(numbers, min_size=1),
    st.integers(1, 13),
    st.one_of(st.none(), st.integers(0, 40)),
    st.integers(0, 20),
)
def test_a_window_holds_whole_slices(ticks: list[int], period: int, length: int | None, end: int) -> None:
    reach = None if length is None else end + length
    edges = [slice_around(tick, *Slicing.of(period, reach, end)) for tick in ticks]
    names = [right for _, right in edges]
    assert all(left < tick <= right for tick, (left, right) in zip(ticks, edges, strict=True))
    for at in range(-10 * period, 11 * period, period):
        for tick, name in zip(ticks, names, strict=True):
            assert _inside(tick, at, reach, end) == _inside(int(name), at, reach, end)


def _inside(tick: int, at: int, reach: int | None, end: int) -> bool:
    return tick <= at - end and (reach is None or tick > at - reach)


@given(st.integers(1, 13), st.integers(0, 40), st.integers(0, 20))
def test_at_most_two_slices_a_period(period: int, length: int, end: int) -> None:
    slicing = Slicing.of(period, end + length, end)
    assert len({slice_around(tick, *slicing) for tick in range(10 * period)}) <= 21


@given(st.integers(1, 13), st.integers(0, 40), st.integers(0, 20), st.lists(numbers))
def test_all_ticks_between_the_edges_are_of_one_slice(
    period: int, length: int, end: int, ticks: list[int]
) -> None:
    slicing = Slicing.of(period, end + length, end)
    for tick in ticks:
        left, right = slice_around(tick, *slicing)
        assert all(slice_around(inside, *slicing) == (left, right) for inside in range(left + 1, right + 1))


def test_without_a_period_every_tick_is_a_slice() -> None:
    assert slice_around(7, *Slicing.of(None, 3, 1)) == (6, 7)


@given(st.lists(st.one_of(numbers, st.integers(-(2**40), 2**40))))
def test_order_by(names: list[int]) -> None:
    order = order_by(np.array(names, dtype=np.int64))
    if order is None:
        assert names == sorted(names)
    else:
        assert order.tolist() == sorted(range(len(names)), key=lambda index: names[index])
