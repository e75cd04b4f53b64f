"""Local grouping keeps to itself only what is in no phenomenon."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nilometer.sensornet.phenomena import local_grouping

PLACES = {number: (float(number % 4), float(number // 4)) for number in range(16)}


def components(sources: set[int], reach: float) -> list[set[int]]:
    found: list[set[int]] = []
    for source in sorted(sources):
        x, y = PLACES[source]
        near = [
            group
            for group in found
            if any((PLACES[other][0] - x) ** 2 + (PLACES[other][1] - y) ** 2 <= reach**2 for other in group)
        ]
        found = [group for group in found if group not in near] + [{source}.union(*near)]
    return found


@given(
    st.sets(st.integers(0, 15)),
    st.lists(st.integers(0, 2), min_size=16, max_size=16),
    st.integers(1, 4),
    st.sampled_from([1.0, 1.5, 2.0]),
)
def test_every_member_of_a_phenomenon_is_told(
    candidates: set[int], cluster_of: list[int], members: int, reach: float
) -> None:
    grouping = local_grouping(members, reach, None, PLACES)
    told = set()
    for cluster in range(3):
        mine = {source for source in PLACES if cluster_of[source] == cluster}
        told |= grouping.told(candidates & mine, grouping.border(mine))
    large = [group for group in components(candidates, reach) if len(group) >= members]
    assert set().union(*large) <= told <= candidates
    # With one cluster nothing else is told.
    alone = grouping.told(candidates, grouping.border(set(PLACES)))
    assert alone == set().union(*large)


def test_without_places_everything_is_told() -> None:
    for grouping in (local_grouping(3, None, None, PLACES), local_grouping(3, 1.0, None, None)):
        assert grouping.told({1, 9}, grouping.border({1, 9})) == {1, 9}
