"""The sample by rank against its definition, and that everyone has the same chance."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.spread_sample import STEPS, in_sample, offsets_of


def naive(length: int, offset: int, count: int) -> list[int]:
    if length <= count:
        return list(range(length))
    return [floor((number + Fraction(offset, STEPS)) * length / count) for number in range(count)]


@given(st.integers(1, 500) | st.sampled_from([10**7 + 1]), st.integers(0, STEPS - 1), st.integers(1, 100))
def test_the_ranks_are_those_of_the_definition(length: int, offset: int, count: int) -> None:
    expected = naive(length, offset, count)
    assert len(set(expected)) == min(length, count)
    tried = np.array(sorted({*range(min(length, 500)), *expected, length - 1}))
    taken = in_sample(tried, np.full(len(tried), length), np.full(len(tried), offset), count)
    assert tried[taken].tolist() == expected


def test_everyone_is_taken_as_often() -> None:
    offsets = np.arange(STEPS)
    for rank in range(7):
        taken = in_sample(np.full(STEPS, rank), np.full(STEPS, 7), offsets, 3)
        assert abs(taken.mean() - 3 / 7) < 1e-4


@given(st.integers(-(2**63), 2**63 - 1))
def test_the_offset_is_a_product(number: int) -> None:
    assert offsets_of(np.array([number])).tolist() == [(number * 0x9E3779B97F4A7C15 % 2**64) >> 48]
