"""Who hears whom: links are symmetric, the least range connects, the dead are not heard."""

from __future__ import annotations

import numpy as np
import pytest

from nilometer.errors import ConfigurationError
from nilometer.sensornet.radio_network import (
    Topology,
    find_routes,
    least_range,
    linked_topology,
    placed_topology,
    uniform_positions,
)


def pairs(topology: Topology) -> set[tuple[int, int]]:
    return {(node, int(other)) for node in range(topology.nodes) for other in topology.neighbours(node)}


@pytest.mark.parametrize("seed", range(5))
def test_links_are_the_pairs_within_the_range_and_their_qualities_mirror(seed: int) -> None:
    positions = uniform_positions(40, seed)
    topology = placed_topology(positions, 0.3, seed)
    expected = {
        (a, b)
        for a in range(40)
        for b in range(40)
        if a != b and np.hypot(*(positions[a] - positions[b])) <= 0.3
    }
    assert pairs(topology) == expected
    quality = {}
    for node in range(40):
        for place in range(topology.starts[node], topology.starts[node + 1]):
            quality[node, int(topology.targets[place])] = (topology.forward[place], topology.backward[place])
    assert all(quality[b, a] == (back, there) for (a, b), (there, back) in quality.items())
    assert topology.forward.min() > 0
    assert topology.forward.max() <= 1


@pytest.mark.parametrize("seed", range(5))
def test_the_least_range_just_connects(seed: int) -> None:
    positions = uniform_positions(30, seed)
    least = least_range(positions)
    assert (find_routes(placed_topology(positions, least, seed), 0).hops >= 0).all()
    assert (find_routes(placed_topology(positions, least * 0.999, seed), 0).hops < 0).any()


def test_a_field_of_one_node_and_of_none() -> None:
    assert least_range(uniform_positions(1, 0)) == 0
    assert placed_topology(uniform_positions(1, 0), 0.5, 0).nodes == 1


def test_nobody_hears_the_dead() -> None:
    ring = linked_topology(4, [(0, 1, 1, 1), (1, 2, 1, 1), (2, 3, 1, 1), (3, 0, 0.5, 1)])
    assert find_routes(ring, 0).path(2) == (0, 1, 2)
    without = ring.without([1])
    assert find_routes(without, 0).path(2) == (0, 3, 2)
    assert pairs(without) == {(2, 3), (3, 2), (3, 0), (0, 3)}
    assert find_routes(without, 0).hops[1] == -1


@pytest.mark.parametrize("link", [(0, 0, 1, 1), (0, 2, 1, 1), (0, 1, 0, 1), (0, 1, 1, 1.5)])
def test_impossible_links_are_refused(link: tuple[int, int, float, float]) -> None:
    with pytest.raises(ConfigurationError):
        linked_topology(2, [link])
