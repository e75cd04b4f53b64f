"""The windowed ripple join of 2 to 5 streams against the cross product, whenever it purges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baseline_joins import bag, batches, naive_join, unmerged
from nilometer.laboratory.baselines import Arrivals, WindowedRippleJoin, WindowedRippleJoinSpec


@pytest.mark.parametrize("streams", [2, 3, 4, 5])
@settings(max_examples=25)
@given(data=st.data())
def test_tuples_are_those_of_the_cross_product(streams: int, data: st.DataObject) -> None:
    readings = data.draw(unmerged(streams, 24))
    window, reach = data.draw(st.sampled_from([0, 2, 5, 50])), data.draw(st.sampled_from([0, 1]))
    purge_every, size = data.draw(st.sampled_from([1, 4, 1000])), data.draw(st.sampled_from([1, 5, 100]))
    join = WindowedRippleJoin(WindowedRippleJoinSpec(streams, window, reach, purge_every))
    found = bag([join.feed(batch) for batch in batches(readings, size)])
    assert found == naive_join(readings, streams, window, reach)
    assert join.counters.output_cells == streams * found.total()


def test_stale_tuples_are_compared_until_the_purge() -> None:
    times = np.arange(3_000)
    arrivals = Arrivals(times, times % 2, np.full(3_000, 7), times)
    found, comparisons = [], []
    for purge_every in (10, 1_000):
        join = WindowedRippleJoin(WindowedRippleJoinSpec(2, 20, purge_every=purge_every))
        found.append(bag(join.feed(arrivals)))
        comparisons.append(join.counters.comparisons)
        assert join.counters.in_memory <= 21 + 10
        assert join.counters.most_in_memory <= 21 + purge_every
    assert found[0] == found[1]
    assert comparisons[1] > 10 * comparisons[0]


def test_one_stream_that_passed_is_not_enough_to_drop_a_tuple() -> None:
    """Stream 1 is at 20 when stream 2 brings the 6: the tuples of 0 and 5 are still there."""
    join = WindowedRippleJoin(WindowedRippleJoinSpec(3, 10, purge_every=1))
    found = join.feed(Arrivals.of([0, 5, 20, 6], [0, 1, 1, 2], [7] * 4, [10, 11, 12, 13]))
    assert found.tolist() == [[10, 11, 13]]
