"""Routing trees: they span, they are cheap, and Java's random numbers are Java's."""

from __future__ import annotations

import random
from itertools import combinations, pairwise
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nilometer.catalog.network import Link, Network, NetworkNode, NodeId
from nilometer.catalog.profiles import cost_profile
from nilometer.errors import InternalError
from nilometer.laboratory.scenarios import random_network
from nilometer.placement import RoutingTree, cost_parameters
from nilometer.placement.routing.java_random import JavaRandom, hash_order
from nilometer.placement.routing.link_weights import Weights, link_weights
from nilometer.placement.routing.random_tree import random_tree
from nilometer.placement.routing.steiner_tree import shortest_path_tree, steiner_tree
from placement.scenarios import brook


def test_java_random_is_java_util_random() -> None:
    numbers = JavaRandom(42)
    assert [numbers.below(10) for _ in range(10)] == [0, 3, 8, 4, 0, 5, 5, 8, 9, 3]
    numbers = JavaRandom(42)
    assert [numbers.below(16) for _ in range(3)] == [11, 0, 10]  # a power of two takes the upper bits


def test_the_order_of_a_hash_set_of_ids() -> None:
    # "10" hashes to 49 * 31 + 48 = 1567, bucket 15 of 16; in a table of 32 it is 31.
    assert hash_order(["10", "11", "2", "0"]) == ["11", "0", "2", "10"]


def test_a_tree_cannot_be_built_wrong() -> None:
    with pytest.raises(InternalError, match="does not reach the sink"):
        RoutingTree(0, ((1, 2), (2, 1)), ())
    with pytest.raises(InternalError, match="two parents"):
        RoutingTree(0, ((1, 0), (2, 0), (1, 2)), ())
    with pytest.raises(InternalError, match="not in the routing tree"):
        RoutingTree(0, ((1, 0),), (5,))


def test_takahashi_and_matsuyama_on_the_running_example() -> None:
    network = brook()
    tree = steiner_tree(network, (4, 5, 6, 7, 9), link_weights(network, cost_parameters(network.profile)))
    links = {frozenset(edge) for edge in tree.edges}
    assert links == {frozenset(edge) for edge in ((0, 1), (1, 3), (1, 4), (3, 6), (4, 5), (5, 7), (7, 9))}


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(3, 30))
def test_every_tree_spans_the_sources_and_uses_links(seed: int, size: int) -> None:
    network = random_network(random.Random(seed), size)
    sources = network.hosts("River") + network.hosts("Hilltop")
    weights = link_weights(network, cost_parameters(network.profile))
    for tree in (
        random_tree(network, sources),
        steiner_tree(network, sources, weights),
        steiner_tree(network, sources, weights, 0.5),
        shortest_path_tree(network, sources, weights),
    ):
        assert set(sources) <= set(tree.post_order)
        assert tree.post_order[-1] == network.sink
        assert len(tree.edges) == len(tree.post_order) - 1
        for child, parent in tree.edges:
            assert network.link(child, parent) is not None
        for leaf in tree.post_order:  # no site that serves nothing
            assert tree.children[leaf] or leaf in sources or leaf == network.sink


@st.composite
def weighted(draw: st.DrawFn) -> tuple[Network, tuple[NodeId, ...]]:
    size = draw(st.integers(3, 7))
    costs = st.integers(1, 9).map(float)
    links = {(draw(st.integers(0, node - 1)), node): draw(costs) for node in range(1, size)}
    for pair in draw(st.lists(st.sampled_from(list(combinations(range(size), 2))), max_size=8, unique=True)):
        links.setdefault(pair, draw(costs))
    nodes = tuple(NetworkNode(number) for number in range(size))
    wires = tuple(Link(one, other, 1.0, cost) for (one, other), cost in links.items())
    sources = draw(st.lists(st.integers(1, size - 1), min_size=1, max_size=4, unique=True))
    return Network("n", 0, nodes, wires, cost_profile("snee-2010")), tuple(sources)


@settings(deadline=None)
@given(weighted())
def test_a_steiner_tree_is_within_its_bound_of_the_best(case: tuple[Network, tuple[NodeId, ...]]) -> None:
    network, sources = case
    weights = link_weights(network, cost_parameters(network.profile))
    tree = steiner_tree(network, sources, weights)
    table = {(one, other): weight for one, hearers in weights.items() for other, weight in hearers}
    cost = sum(table[edge] for edge in tree.edges)
    terminals = len(sources) + 1
    assert cost <= 2 * (1 - 1 / terminals) * _best(network, sources, weights) * (1 + 1e-9)


def _best(network: Network, sources: tuple[NodeId, ...], weights: Weights) -> float:
    """The least weight of all trees that span the sources, by trying every set of relays."""
    others = [node.id for node in network.nodes if node.id not in (*sources, network.sink)]
    best = inf
    for count in range(len(others) + 1):
        for relays in combinations(others, count):
            best = min(best, _spanning({network.sink, *sources, *relays}, network.sink, weights))
    return best


def _spanning(sites: set[NodeId], start: NodeId, weights: Weights) -> float:
    """The weight of a least spanning tree of these sites (Prim)."""
    inside, total = {start}, 0.0
    while inside != sites:
        steps = [
            (weight, other)
            for site in inside
            for other, weight in weights[site]
            if other in sites and other not in inside
        ]
        if not steps:
            return inf
        weight, site = min(steps, key=lambda step: step[0])
        inside.add(site)
        total += weight
    return total


def test_an_acknowledgement_must_arrive_too() -> None:
    """Relay 1 hears node 2 better than relay 3 does, and is hardly heard in return: that matters where hops are acknowledged."""
    nodes = tuple(NetworkNode(number) for number in range(4))
    links = (Link(0, 1), Link(0, 3), Link(2, 1, 0.9), Link(1, 2, 0.2), Link(2, 3, 0.8))
    for retries, parent in ((0, 1), (3, 3)):
        network = Network("n", 0, nodes, links, cost_profile("snee-2010"), retries)
        tree = steiner_tree(network, (2,), link_weights(network, cost_parameters(network.profile)))
        assert tree.parents[2] == parent


def _distances(network: Network, table: dict[tuple[NodeId, NodeId], float]) -> dict[NodeId, float]:
    """The shortest way of every node to the sink, by Bellman and Ford."""
    distance = {node.id: 0.0 if node.id == network.sink else inf for node in network.nodes}
    for _ in network.nodes:
        for (one, other), weight in table.items():
            distance[one] = min(distance[one], distance[other] + weight)
    return distance


@settings(deadline=None)
@given(weighted(), st.sampled_from([0.3, 0.6, 1.0, None]))
def test_ways_are_as_short_as_the_tree_leans(
    case: tuple[Network, tuple[NodeId, ...]], leaning: float | None
) -> None:
    """A site is joined where its key, `leaning` times the way of the tree's site and its own path to it, is least, and the
    sink is among the candidates: no way is longer than the shortest one divided by `leaning`. None: by shortest paths."""
    network, sources = case
    weights = link_weights(network, cost_parameters(network.profile))
    if leaning is None:
        tree = shortest_path_tree(network, sources, weights)
    else:
        tree = steiner_tree(network, sources, weights, leaning)
    table = {(one, other): weight for one, hearers in weights.items() for other, weight in hearers}
    distance = _distances(network, table)
    for source in sources:
        path = tree.path(source, network.sink)
        length = sum(table[edge] for edge in pairwise(path))
        assert distance[source] * (1 - 1e-9) <= length <= distance[source] / (leaning or 1) * (1 + 1e-9)
