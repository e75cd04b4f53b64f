"""HyperLogLog against its naive twin, and the error that the documents state."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.hyper_log_log import estimates, pairs_of
from nilometer.kernels.stable_hash import hash_words
from nilometer.plan.reference import sketches

hashes = st.integers(0, 2**64 - 1) | st.integers(0, 2**20)


@given(st.lists(st.lists(hashes, max_size=8), min_size=1, max_size=3))
def test_it_equals_its_naive_twin(groups: list[list[int]]) -> None:
    pairs = pairs_of(np.array([value for group in groups for value in group], dtype=np.uint64))
    offsets = np.cumsum([0, *map(len, groups)]).astype(np.int64)
    assert estimates(pairs, offsets).tolist() == list(map(sketches.count_distinct, groups))


def test_it_is_exact_for_few_values_and_within_three_standard_errors_for_many() -> None:
    for count in (0, 1, 10, 100, 1_000, 20_000, 50_000, 100_000, 1_000_000):
        for seed in range(3):
            numbers = np.arange(seed * 10**9, seed * 10**9 + count, dtype=np.int64)
            pairs = pairs_of(hash_words(numbers))
            found = int(estimates(pairs, np.array([0, len(pairs)], dtype=np.int64))[0])
            assert abs(found - count) <= max(3 * 1.04 / np.sqrt(sketches.REGISTERS) * count, count > 99)


def test_the_order_and_doubles_change_nothing() -> None:
    pairs = pairs_of(hash_words(np.arange(5_000, dtype=np.int64)))
    again = np.concatenate([pairs[::-1], pairs, pairs[:100]])
    once, twice = (estimates(p, np.array([0, len(p)], dtype=np.int64)).tolist() for p in (pairs, again))
    assert once == twice
