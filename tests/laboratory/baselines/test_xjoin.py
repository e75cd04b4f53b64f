"""XJoin against the cross product, whatever is flushed and whenever its sources are blocked."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from baseline_joins import Reading, bag, batches, naive_join, unmerged
from nilometer.laboratory.baselines import Arrivals, XJoin, XJoinSpec

specs = st.builds(
    XJoinSpec,
    window=st.sampled_from([None, 0, 2, 4, 50]),
    memory=st.sampled_from([None, 1, 2, 5, 9]),
    partitions=st.sampled_from([1, 2, 4]),
    purge_every=st.sampled_from([1, 5, 1000]),
    activation=st.sampled_from([0.01, 1.0, 100.0]),
)


@settings(max_examples=40)
@given(unmerged(2, 40), specs, st.sampled_from([1, 3, 8]), st.data())
def test_every_pair_is_made_once(
    readings: list[Reading], spec: XJoinSpec, size: int, data: st.DataObject
) -> None:
    join = XJoin(spec)
    found = []
    for batch in batches(readings, size):
        found.append(join.feed(batch))
        assert spec.memory is None or join.counters.in_memory <= spec.memory
        blocked = data.draw(st.sampled_from([0, 0, 1, None]))
        found.append(join.blocked(blocked))
    found.append(join.finish())
    assert bag(found) == naive_join(readings, 2, spec.window)
    assert join.counters.output_tuples == bag(found).total()
    assert (join.counters.in_memory, join.on_disk) == (0, 0)


def test_each_stage_makes_its_part() -> None:
    """The ones meet in memory, which has room for three; source 0 goes to disk, and the last 7 finds it there, when
    blocked or at the end."""
    arrivals = Arrivals.of([0, 1, 2, 3, 4], [0, 1, 0, 0, 1], [1, 1, 7, 7, 7], [10, 20, 11, 12, 21])
    for blocked in (True, False):
        join = XJoin(XJoinSpec(None, memory=3, partitions=1, activation=0.01))
        first = join.feed(arrivals)
        second = join.blocked() if blocked else join.blocked(0)
        third = join.finish()
        assert first.tolist() == [[10, 20]]
        assert bag([second, third]) == bag(np.array([[11, 21], [12, 21]]))
        assert len(third) == (0 if blocked else 2)
        assert join.blocked().tolist() == []


def test_the_largest_part_goes_to_disk() -> None:
    join = XJoin(XJoinSpec(None, memory=10, partitions=1))
    join.feed(Arrivals.of([0] * 11, [0] * 4 + [1] * 7, list(range(11)), list(range(11))))
    assert (join.counters.in_memory, join.on_disk, join.counters.written) == (4, 7, 7)


def test_a_window_bounds_memory_and_disk() -> None:
    random = np.random.default_rng(2)
    times = np.arange(20_000)
    sources, values = random.integers(0, 2, 20_000), random.integers(0, 50, 20_000)
    join = XJoin(XJoinSpec(500, memory=200, purge_every=1_000))
    found = []
    for start in range(0, 20_000, 3_000):
        part = slice(start, start + 3_000)
        found += [join.feed(Arrivals(times[part], sources[part], values[part], times[part])), join.blocked(3)]
        assert join.counters.in_memory <= 200
        assert join.on_disk < 500 + 2 * 1_000
    found.append(join.finish())
    pairs = np.concatenate(found)
    near = np.abs(pairs[:, 0] - pairs[:, 1]) <= 500
    assert near.all()
    expected = sum(
        int(
            np.count_nonzero(
                (values[low : place + 1] == values[place]) & (sources[low : place + 1] != sources[place])
            )
        )
        for place in range(20_000)
        for low in [max(0, place - 500)]
    )
    assert len(np.unique(pairs, axis=0)) == len(pairs) == expected


def test_what_is_just_in_the_window_stays_on_disk() -> None:
    """The first tuple is passed and its partition cleaned up; the second, ten before the last, is not dropped with it."""
    join = XJoin(XJoinSpec(10, memory=1, partitions=1, purge_every=1))
    arrivals = Arrivals.of([0, 1, 11, 11], [0, 0, 1, 1], [1, 7, 1, 7], [10, 11, 20, 21])
    assert bag([join.feed(arrivals), join.finish()]) == bag(np.array([[11, 21]]))
