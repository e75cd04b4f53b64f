"""The tree of XJoins of 2 to 5 streams against the cross product, whenever it purges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baseline_joins import bag, batches, merged, naive_join
from nilometer.laboratory.baselines import Arrivals, XJoinTree, XJoinTreeSpec


@pytest.mark.parametrize("streams", [2, 3, 4, 5])
@settings(max_examples=30)
@given(data=st.data())
def test_tuples_are_those_of_the_cross_product(streams: int, data: st.DataObject) -> None:
    readings = data.draw(merged(streams))
    window, size = data.draw(st.sampled_from([0, 2, 5, 50])), data.draw(st.sampled_from([1, 6, 100]))
    tree = XJoinTree(XJoinTreeSpec(streams, window, data.draw(st.sampled_from([1, 4, 1000]))))
    found = bag([tree.feed(batch) for batch in batches(readings, size)])
    assert found == naive_join(readings, streams, window)
    assert tree.counters.output_tuples == found.total()


def test_stale_tuples_are_met_until_the_purge() -> None:
    random = np.random.default_rng(9)
    times = np.arange(6_000)
    arrivals = Arrivals(times, random.integers(0, 3, 6_000), random.integers(0, 10, 6_000), times)
    found, comparisons = [], []
    for purge_every in (50, 2_000):
        tree = XJoinTree(XJoinTreeSpec(3, 60, purge_every))
        found.append(bag(tree.feed(arrivals)))
        comparisons.append(tree.counters.comparisons)
    assert found[0] == found[1]
    assert comparisons[1] > 5 * comparisons[0]
