"""Links by radio range: as if every pair were measured."""

from __future__ import annotations

import math
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from nilometer.catalog.radio_range import links_within

PLACES = st.tuples(st.floats(-100, 100), st.floats(-100, 100))


@given(st.lists(PLACES, max_size=30), st.floats(0.5, 80))
def test_links_are_those_of_all_pairs_within_the_range(places: list[tuple[float, float]], distance: float) -> None:
    pairs = [
        (one, other)
        for one, other in combinations(range(len(places)), 2)
        if math.dist(places[one], places[other]) <= distance
    ]
    found = [(link.source, link.target) for link in links_within(enumerate(places), distance)]
    assert sorted(found) == pairs
    assert found == sorted(found, key=lambda pair: (pair[1], pair[0]))
