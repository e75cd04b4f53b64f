"""Links by radio range: as if every pair were measured."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from nilometer.catalog.network_files import import_network
from nilometer.catalog.radio_range import least_range, links_within

PLACES = st.tuples(st.floats(-100, 100), st.floats(-100, 100))


@given(st.lists(PLACES, max_size=30), st.floats(0.5, 80))
def test_links_are_those_of_all_pairs_within_the_range(
    places: list[tuple[float, float]], distance: float
) -> None:
    pairs = [
        (one, other)
        for one, other in combinations(range(len(places)), 2)
        if math.dist(places[one], places[other]) <= distance
    ]
    found = [(link.source, link.target) for link in links_within(enumerate(places), distance)]
    assert sorted(found) == pairs
    assert found == sorted(found, key=lambda pair: (pair[1], pair[0]))


@given(st.lists(PLACES, min_size=2, max_size=20, unique=True))
def test_the_least_range_connects_and_less_does_not(places: list[tuple[float, float]]) -> None:
    least = least_range(places)
    assert connected(places, least)
    assert least == 0 or not connected(places, least * (1 - 1e-9))


def connected(places: list[tuple[float, float]], distance: float) -> bool:
    reached, waiting = {0}, [0]
    while waiting:
        one = waiting.pop()
        near = {n for n, p in enumerate(places) if math.dist(p, places[one]) <= distance} - reached
        reached |= near
        waiting += near
    return len(reached) == len(places)


def test_a_file_of_places_and_a_range_are_a_network(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(
        'sink = 1\nrange = 5\nnodes = "places/motes.csv"\n[defaults]\nstreams = ["lab"]\nenergy = 100\n'
        "[[links]]\nsource = 2\ntarget = 1\nquality = 0.5\n"
    )
    (tmp_path / "places").mkdir()
    (tmp_path / "places" / "motes.csv").write_text("id,x,y,energy\n1,0,0,\n2,3,4,50\n3,6,8,\n")
    network = import_network(tmp_path / "lab.toml", "lab")
    assert [(link.source, link.target, link.quality) for link in network.links] == [(2, 1, 0.5), (2, 3, 1.0)]
    assert network.hosts("lab") == (2, 3)  # the sink is a base station
    assert [node.energy for node in network.nodes] == [100, 50, 100]
