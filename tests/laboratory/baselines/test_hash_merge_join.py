"""The hash-merge join against the cross product, whatever is flushed and whenever its sources are blocked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baseline_joins import Reading, bag, batches, naive_join, unmerged
from nilometer.laboratory.baselines import Arrivals, FlushPolicy, HashMergeJoin, HashMergeJoinSpec
from nilometer.laboratory.baselines.hash_merge_join import flush_choice

specs = st.builds(
    HashMergeJoinSpec,
    window=st.sampled_from([None, 0, 2, 4, 50]),
    memory=st.sampled_from([None, 1, 2, 5, 9]),
    buckets=st.sampled_from([1, 2, 4]),
    fan_in=st.sampled_from([2, 3, 8]),
    a=st.sampled_from([0.0, 0.3]),
    b=st.sampled_from([0.0, 0.3]),
    policy=st.sampled_from(list(FlushPolicy)),
    purge_every=st.sampled_from([1, 5, 1000]),
)


@settings(max_examples=40)
@given(unmerged(2, 40), specs, st.sampled_from([1, 3, 8]), st.data())
def test_every_pair_is_made_once(
    readings: list[Reading], spec: HashMergeJoinSpec, size: int, data: st.DataObject
) -> None:
    join = HashMergeJoin(spec)
    found = []
    for batch in batches(readings, size):
        found.append(join.feed(batch))
        assert spec.memory is None or join.counters.in_memory <= spec.memory
        found.append(join.blocked(data.draw(st.sampled_from([0, 0, 1, None]))))
    found.append(join.finish())
    assert bag(found) == naive_join(readings, 2, spec.window)
    assert join.counters.output_tuples == bag(found).total()
    assert (join.counters.in_memory, sum(join.runs)) == (0, 0)


@pytest.mark.parametrize(
    ("sizes", "a", "b", "policy", "choice"),
    [
        ([[5, 1, 0], [5, 0, 2]], 0.0, 0.1, "LARGEST", [0]),
        ([[5, 1, 0], [5, 0, 2]], 0.0, 0.1, "SMALLEST", [1]),
        ([[5, 0, 0], [5, 0, 2]], 0.0, 0.1, "ALL", [0, 2]),
        # In balance: the largest whose loss keeps it so.
        ([[9, 3, 0], [0, 3, 8]], 0.0, 0.1, "ADAPTIVE", [1]),
        # Source 0 is ahead: of the buckets with more of it the largest, if it is large enough ...
        ([[4, 9, 9], [0, 9, 1]], 0.1, 0.1, "ADAPTIVE", [2]),
        # ... and if none is, the largest of them.
        ([[4, 9, 0], [0, 2, 0]], 0.9, 0.1, "ADAPTIVE", [1]),
        # No bucket keeps the balance: the largest of all.
        ([[9, 0, 0], [0, 0, 8]], 0.0, 0.05, "ADAPTIVE", [0]),
    ],
)
def test_flush_choice(sizes: list[list[int]], a: float, b: float, policy: str, choice: list[int]) -> None:
    assert flush_choice(np.array(sizes), 20, a, b, policy).tolist() == choice


def test_pairs_of_one_run_are_not_made_again() -> None:
    """Two runs of one bucket: what met in memory is not merged; a merge of both leaves one run, in which all have met."""
    join = HashMergeJoin(HashMergeJoinSpec(None, memory=3, buckets=1))
    first = join.feed(Arrivals.of([0] * 8, [0, 1, 0, 1] * 2, [7] * 8, list(range(8))))
    assert len(first) == 8
    assert join.runs == (2,)
    assert len(join.blocked()) == 8
    assert join.runs == (1,)
    assert join.finish().tolist() == []


def test_a_window_bounds_runs() -> None:
    random = np.random.default_rng(3)
    times = np.arange(20_000)
    sources, values = random.integers(0, 2, 20_000), random.integers(0, 50, 20_000)
    join = HashMergeJoin(HashMergeJoinSpec(500, memory=200, purge_every=1_000))
    found = [
        join.feed(Arrivals(times[part], sources[part], values[part], times[part]))
        for part in (slice(start, start + 3_000) for start in range(0, 20_000, 3_000))
    ]
    assert sum(join.runs) <= 16 * 20
    assert join.counters.in_memory <= 200
    found.append(join.finish())
    endless = HashMergeJoin(HashMergeJoinSpec(500))
    assert bag(found) == bag(endless.feed(Arrivals(times, sources, values, times)))


def test_what_is_just_in_the_window_stays_on_disk() -> None:
    """The first tuple is passed and its partition cleaned up; the second, ten before the last, is not dropped with it."""
    join = HashMergeJoin(HashMergeJoinSpec(10, memory=1, buckets=1, purge_every=1))
    arrivals = Arrivals.of([0, 1, 11, 11], [0, 0, 1, 1], [1, 7, 1, 7], [10, 11, 20, 21])
    assert bag([join.feed(arrivals), join.finish()]) == bag(np.array([[11, 21]]))
