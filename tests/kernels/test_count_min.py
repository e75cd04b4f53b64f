"""The sketch against a plain count: never below it, equal while values are few, and fading alike."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nilometer.kernels.count_min import CountMin

words = st.integers(0, 2**64 - 1)


def array(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, dtype=np.uint64)


@given(st.lists(st.lists(words | st.integers(0, 9), max_size=8), max_size=6), st.integers(2, 9))
def test_never_below_the_true_share_and_the_total_is_exact(batches: list[list[int]], memory: int) -> None:
    sketch = CountMin(width_bits=3, memory=memory)
    counts: Counter[int] = Counter()
    total, since = 0.0, 0
    for batch in batches:
        sketch.add(array(batch))
        counts.update(batch)
        total += len(batch)
        since += len(batch)
        while since >= memory:
            since -= memory
            total /= 2
            counts = Counter({number: count / 2 for number, count in counts.items()})  # type: ignore[misc]
    assert sketch.total == total
    known = sorted(counts)
    shares = sketch.share(array(known))
    if total:
        assert all(
            share >= counts[number] / total - 1e-12 for number, share in zip(known, shares, strict=True)
        )
        assert (shares <= 1 + 1e-12).all()
    again = CountMin(width_bits=3, memory=memory)
    again.restore(sketch.to_bytes())
    assert np.array_equal(again.share(array(known)), shares)


def test_few_values_are_counted_exactly() -> None:
    sketch = CountMin()
    values = np.random.default_rng(5).zipf(1.5, 10_000).astype(np.uint64) % np.uint64(50)
    sketch.add(values)
    numbers, counts = np.unique(values, return_counts=True)
    assert np.array_equal(sketch.share(numbers), counts / 10_000)
    assert sketch.share(array([10**9]))[0] == 0


def test_nothing_counted_has_no_share() -> None:
    assert CountMin().share(array([1, 2])).tolist() == [0.0, 0.0]
