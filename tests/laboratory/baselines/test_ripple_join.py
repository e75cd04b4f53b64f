"""The ripple join against the cross product; its estimate against the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baseline_joins import Reading, bag, batches, naive_join, unmerged
from nilometer.errors import InternalError
from nilometer.laboratory.baselines import Arrivals, RippleJoin, RippleJoinSpec, ripple_order


@settings(max_examples=20)
@given(unmerged(2), st.sampled_from([None, 0, 1]), st.sampled_from([1, 7, 100]))
def test_pairs_are_those_of_the_cross_product(readings: list[Reading], reach: int | None, size: int) -> None:
    join = RippleJoin(RippleJoinSpec((100, 100), reach))
    found = bag([join.feed(batch) for batch in batches(readings, size)])
    assert found == naive_join(readings, 2, None, reach or 0)
    assert join.counters.in_memory == len(readings)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), min_size=2, max_size=12),
    st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), min_size=2, max_size=12),
    st.sampled_from([(1, 1), (1, 3), (2, 1)]),
    st.sampled_from([None, 1]),
)
def test_the_estimate_ends_at_the_truth(
    left: list[tuple[int, int]], right: list[tuple[int, int]], betas: tuple[int, int], reach: int | None
) -> None:
    sources = ripple_order((len(left), len(right)), betas)
    tuples = [iter(left), iter(right)]
    values, measures = np.array([next(tuples[source]) for source in sources.tolist()]).T
    join = RippleJoin(RippleJoinSpec((len(left), len(right)), reach))
    arrivals = Arrivals(np.zeros_like(sources), sources, values, np.arange(len(sources)))
    for start in range(0, len(sources), 4):
        join.feed(arrivals[start : start + 4], measures[start : start + 4].astype(np.float64))
    truth = sum(x * y for a, x in left for b, y in right if abs(a - b) <= (reach or 0))
    assert join.estimate.value == pytest.approx(truth)
    assert join.estimate.half_width == 0


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(4)
    sizes = (600, 400)
    values = [random.integers(0, 20, size) for size in sizes]
    weights = random.uniform(0, 1, sizes[0])
    truth = float(
        (np.bincount(values[0], weights, minlength=20) * np.bincount(values[1], minlength=20)).sum()
    )
    sources = ripple_order((150, 150))
    held = widths = 0.0
    for _ in range(200):
        picks = [random.permutation(size)[:150] for size in sizes]
        drawn, measures = np.empty(300, dtype=np.int64), np.ones(300)
        for source in (0, 1):
            drawn[sources == source] = values[source][picks[source]]
        measures[sources == 0] = weights[picks[0]]
        join = RippleJoin(RippleJoinSpec(sizes))
        join.feed(Arrivals(np.zeros(300, dtype=np.int64), sources, drawn, np.arange(300)), measures)
        held += abs(join.estimate.value - truth) <= join.estimate.half_width
        widths += join.estimate.half_width / truth / 200
    assert 180 <= held <= 199
    assert widths < 0.2


def test_before_two_of_each_nothing_is_known() -> None:
    join = RippleJoin(RippleJoinSpec((5, 5)))
    assert join.estimate.half_width == math.inf
    join.feed(Arrivals.of([0, 0, 0], [0, 1, 1], [7, 7, 7], [0, 1, 2]))
    assert (join.estimate.value, join.estimate.half_width) == (25.0, math.inf)
    with pytest.raises(InternalError, match="more tuples than relation 1 has"):
        join.feed(Arrivals.of([0] * 4, [1] * 4, [7] * 4, [3, 4, 5, 6]))
