"""MJoin of 2 to 5 streams, inner and outer, against its definition; its probing sequences; many streams."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baseline_joins import bag, batches, merged, naive_join, naive_multi_way
from nilometer.errors import InternalError
from nilometer.laboratory.baselines import Arrivals, MJoin, MJoinSpec


@pytest.mark.parametrize("streams", [2, 3, 4, 5])
@pytest.mark.parametrize("outer", [False, True], ids=["inner", "outer"])
@settings(max_examples=15)
@given(data=st.data())
def test_results_are_those_of_the_definition(streams: int, outer: bool, data: st.DataObject) -> None:
    readings = data.draw(merged(streams))
    window, every = data.draw(st.sampled_from([0, 2, 5, 50])), data.draw(st.sampled_from([1, 7, 1000]))
    size = data.draw(st.sampled_from([1, 6, 100]))
    expected = naive_multi_way(readings, streams, window, outer=outer)
    built = MJoin(MJoinSpec(streams, window, outer, estimate_every=every))
    counted = MJoin(MJoinSpec(streams, window, outer, build=False, estimate_every=every))
    found, counts, logarithms = [], [], []
    for batch in batches(readings, size):
        result, number = built.feed(batch), counted.feed(batch)
        assert result.rows is not None
        assert number.rows is None
        assert (result.counts == number.counts).all()
        assert (result.listed == number.listed).all()
        found.append(result.rows)
        counts += result.counts.tolist()
        logarithms += result.logarithms.tolist()
    assert counts == [answer.total() for answer in expected]
    assert np.exp(logarithms) == pytest.approx(np.array(counts))
    # Results stand in the order of arrivals.
    rows = iter(np.concatenate(found).tolist())
    assert [Counter(tuple(next(rows)) for _ in range(int(count))) for count in counts] == expected
    if not outer:
        assert bag(found) == naive_join(readings, streams, window)
    assert built.counters == counted.counters


def test_the_inner_join_stops_at_the_first_empty_probe_and_learns_where_that_is() -> None:
    """Stream 2 of 4 never has the others' values: soon all the others probe it first, and only it."""
    random = np.random.default_rng(5)
    times = np.arange(4_000)
    sources = random.integers(0, 4, 4_000)
    values = np.where(sources == 2, 99, random.integers(0, 5, 4_000))
    join = MJoin(MJoinSpec(4, 100, outer=False, estimate_every=500))
    join.feed(Arrivals(times[:500], sources[:500], values[:500], times[:500]))
    before = join.counters.probes
    assert [join.sequences[stream, 0] for stream in (0, 1, 3)] == [2, 2, 2]
    join.feed(Arrivals(times[500:], sources[500:], values[500:], times[500:]))
    assert join.counters.probes - before == 3_500
    assert join.counters.output_tuples == 0


def test_tables_grow_with_what_they_hold() -> None:
    random = np.random.default_rng(6)
    count = 6_000
    times, sources, values = np.arange(count), random.integers(0, 3, count), random.integers(0, 2_000, count)
    join = MJoin(MJoinSpec(3, 5_000, outer=True))
    result = join.feed(Arrivals(times, sources, values, times))
    expected = np.ones(count)
    for stream in range(3):
        for place in np.flatnonzero(sources != stream):
            low = max(0, place - 5_000)
            same = (values[low:place] == values[place]) & (sources[low:place] == stream)
            expected[place] *= max(1, np.count_nonzero(same))
    assert (result.counts == expected).all()
    assert join.counters.in_memory == 5_001


@pytest.mark.parametrize("outer", [False, True], ids=["inner", "outer"])
def test_two_thousand_streams_are_counted(outer: bool) -> None:
    """Every stream says 7 three times: the last has 3**1999 results, more than there are numbers."""
    sources = np.tile(np.arange(2_000), 3)
    join = MJoin(MJoinSpec(2_000, 10, outer, build=False))
    result = join.feed(Arrivals(np.zeros_like(sources), sources, np.full(6_000, 7), np.arange(6_000)))
    assert result.logarithms[-1] == pytest.approx(1_999 * np.log(3))
    assert result.counts[-1] == np.inf
    assert result.listed[-1] == 3 * 1_999
    if outer:
        assert join.counters.probes == 6_000 * 1_999


def test_too_many_results_to_build() -> None:
    sources = np.tile(np.arange(40), 3)
    join = MJoin(MJoinSpec(40, 10, outer=True))
    with pytest.raises(InternalError, match="cells in one batch's results; count them, or feed less at once"):
        join.feed(Arrivals(np.zeros_like(sources), sources, np.full(120, 7), np.arange(120)))
