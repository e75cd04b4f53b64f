"""The Bloom filter against a set."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.bloom import Bloom

PRINTS = st.lists(st.integers(0, 2**64 - 1), max_size=50)


@given(st.lists(PRINTS, max_size=4), PRINTS, st.integers(1, 12))
def test_nothing_that_was_added_is_missing(
    batches: list[list[int]], others: list[int], exponent: int
) -> None:
    bloom = Bloom(exponent)
    for batch in batches:
        bloom.add(np.array(batch, dtype=np.uint64))
    for batch in batches:
        assert bloom.has(np.array(batch, dtype=np.uint64)).all()
    if not any(batches):
        assert not bloom.has(np.array(others, dtype=np.uint64)).any()


def test_few_others_are_found() -> None:
    prints = np.random.default_rng(1).integers(0, 2**64, 40_000, dtype=np.uint64)
    bloom = Bloom(18)  # 13 bits for each of 20,000
    bloom.add(prints[:20_000])
    expected = (1 - np.exp(-4 * 20_000 / 2**18)) ** 4
    assert bloom.has(prints[20_000:]).mean() < 1.3 * expected
