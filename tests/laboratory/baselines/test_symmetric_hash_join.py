"""The symmetric hash join against the cross product."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baseline_joins import Reading, bag, batches, naive_join, unmerged
from nilometer.laboratory.baselines import Arrivals, SymmetricHashJoin, SymmetricHashJoinSpec


@settings(max_examples=40)
@given(unmerged(2), st.sampled_from([None, 0, 1, 3, 50]), st.sampled_from([1, 4, 100]))
def test_pairs_are_those_of_the_cross_product(readings: list[Reading], window: int | None, size: int) -> None:
    join = SymmetricHashJoin(SymmetricHashJoinSpec(window))
    found = bag([join.feed(batch) for batch in batches(readings, size)])
    assert found == naive_join(readings, 2, window)
    counters = join.counters
    assert (counters.arrivals, counters.probes) == (len(readings), len(readings))
    assert counters.output_tuples == found.total()
    assert counters.output_cells == 2 * found.total()


@pytest.mark.parametrize(("distance", "pairs"), [(10, [[0, 1]]), (11, [])])
def test_a_difference_of_just_the_window_counts(distance: int, pairs: list[list[int]]) -> None:
    for sources in ([0, 1], [1, 0]):
        join = SymmetricHashJoin(SymmetricHashJoinSpec(10))
        found = join.feed(Arrivals.of([0, distance], sources, [7, 7], sources)).tolist()
        assert found == pairs


def test_memory_holds_the_window_alone() -> None:
    join = SymmetricHashJoin(SymmetricHashJoinSpec(100))
    for start in range(0, 20_000, 2_500):
        times = np.arange(start, start + 2_500)
        pairs = join.feed(Arrivals(times, times % 2, times // 2 % 7, times))
        assert len(pairs) > 0
        assert (np.abs(pairs[:, 0] - pairs[:, 1]) <= 100).all()
    assert join.counters.in_memory == 101
    assert join.counters.most_in_memory == 101


def test_tables_grow_with_what_they_hold() -> None:
    random = np.random.default_rng(1)
    values = random.integers(0, 3_000, 10_000)
    sources = random.integers(0, 2, 10_000)
    join = SymmetricHashJoin(SymmetricHashJoinSpec(None))
    pairs = join.feed(Arrivals(np.zeros(10_000, dtype=np.int64), sources, values, np.arange(10_000)))
    counts = [np.bincount(values[sources == source], minlength=3_000) for source in (0, 1)]
    assert len(pairs) == counts[0] @ counts[1]
    assert (values[pairs[:, 0]] == values[pairs[:, 1]]).all()
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert join.counters.comparisons < 4 * len(pairs)
