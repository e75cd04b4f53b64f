"""The tree of outer joins of 2 to 5 streams against its definition; what its left tables hold; many streams."""

from __future__ import annotations

from collections import Counter
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baseline_joins import Reading, batches, merged, naive_multi_way
from nilometer.errors import InternalError
from nilometer.laboratory.baselines import Arrivals, HashMergeTree, HashMergeTreeSpec, MJoin, MJoinSpec
from nilometer.laboratory.baselines import hash_merge_tree as module


def naive_entries(readings: list[Reading], streams: int, window: int) -> int:
    """The partial results of all levels: per value, and of the streams below a level, one of each that has the value."""
    there = [reading for reading in readings if readings[-1][0] - reading[0] <= window]
    total = 0
    for value in {reading[2] for reading in there}:
        counts = [sum(r[1] == stream and r[2] == value for r in there) for stream in range(streams)]
        for level in range(1, streams):
            total += prod(max(1, count) for count in counts[:level]) if any(counts[:level]) else 0
    return total


@pytest.mark.parametrize("streams", [2, 3, 4, 5])
@settings(max_examples=15)
@given(data=st.data())
def test_results_are_those_of_the_definition(streams: int, data: st.DataObject) -> None:
    readings = data.draw(merged(streams))
    window, size = data.draw(st.sampled_from([0, 2, 5, 50])), data.draw(st.sampled_from([1, 6, 100]))
    expected = naive_multi_way(readings, streams, window, outer=True)
    built = HashMergeTree(HashMergeTreeSpec(streams, window))
    counted = HashMergeTree(HashMergeTreeSpec(streams, window, build=False))
    found, counts = [], []
    for batch in batches(readings, size):
        result, number = built.feed(batch), counted.feed(batch)
        assert result.rows is not None
        assert number.rows is None
        assert (result.counts == number.counts).all()
        found.append(result.rows)
        counts += result.counts.tolist()
    assert counts == [answer.total() for answer in expected]
    rows = iter(np.concatenate(found).tolist())
    assert [Counter(tuple(next(rows)) for _ in range(int(count))) for count in counts] == expected
    assert built.counters.partials == counted.counters.partials
    assert built.entries == (naive_entries(readings, streams, window) if readings else 0)


def test_a_null_is_replaced_and_comes_back() -> None:
    """All say 7: what waits for stream 2 is first (NULL, 0), then (1, 0), four pairs, (5, NULL), and at last nothing."""
    tree = HashMergeTree(HashMergeTreeSpec(3, 10))
    times, sources = [0, 1, 2, 3, 5, 6, 14, 16], [1, 0, 2, 1, 0, 2, 2, 2]
    rows = tree.feed(Arrivals.of(times, sources, [7] * 8, times)).rows
    assert rows is not None
    assert rows[:4].tolist() == [[-1, 0, -1], [1, 0, -1], [1, 0, 2], [1, 3, 2]]
    assert sorted(rows[4:6].tolist()) == [[5, 0, 2], [5, 3, 2]]
    assert sorted(rows[6:10].tolist()) == [[1, 0, 6], [1, 3, 6], [5, 0, 6], [5, 3, 6]]
    assert rows[10:].tolist() == [[5, -1, 14], [-1, -1, 16]]


def test_everything_grows() -> None:
    random = np.random.default_rng(7)
    count = 8_000
    mixed = random.integers(-(2**62), 2**62, 6)
    times, sources, values = np.arange(count), random.integers(0, 6, count), random.integers(0, 900, count)
    arrivals = Arrivals(times, sources, values, times)
    tree = HashMergeTree(HashMergeTreeSpec(6, 3_000))
    join = MJoin(MJoinSpec(6, 3_000, outer=True))
    for start in range(0, count, 3_500):
        mine, theirs = tree.feed(arrivals[start : start + 3_500]), join.feed(arrivals[start : start + 3_500])
        assert mine.rows is not None
        assert theirs.rows is not None
        assert (mine.counts == theirs.counts).all()
        assert (np.sort(mine.rows @ mixed) == np.sort(theirs.rows @ mixed)).all()
    assert tree.counters.output_tuples == join.counters.output_tuples


def test_two_thousand_streams() -> None:
    count = 200
    random = np.random.default_rng(8)
    arrivals = Arrivals(
        np.arange(count), random.integers(0, 2_000, count), random.integers(0, 60, count), np.arange(count)
    )
    built, counted = (HashMergeTree(HashMergeTreeSpec(2_000, 50, build=build)) for build in (True, False))
    result, number = built.feed(arrivals), counted.feed(arrivals)
    assert result.rows is not None
    assert (result.counts == number.counts).all()
    assert result.rows.shape == (result.counts.sum(), 2_000)
    # The last member to arrive reports.
    assert result.rows.max(axis=1).tolist() == np.repeat(np.arange(count), result.counts.astype(int)).tolist()
    assert built.counters.partials == counted.counters.partials
    assert built.counters.probes < counted.counters.probes


def test_too_much_to_build(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = np.tile(np.arange(40), 3)
    arrivals = Arrivals(np.zeros_like(sources), sources, np.full(120, 7), np.arange(120))
    monkeypatch.setattr(module, "ENTRIES_LIMIT", 10_000)
    with pytest.raises(InternalError, match="partial results in the tree; count them"):
        HashMergeTree(HashMergeTreeSpec(40, 10)).feed(arrivals)
    monkeypatch.setattr(module, "ENTRIES_LIMIT", 1_000_000)
    monkeypatch.setattr(module, "CELLS_LIMIT", 50_000)
    with pytest.raises(InternalError, match="cells in one batch's results; count them, or feed less at once"):
        HashMergeTree(HashMergeTreeSpec(40, 10)).feed(arrivals)
