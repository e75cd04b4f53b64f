"""Nodes that died, and those that only they connected."""

from __future__ import annotations

from nilometer.catalog.network import Link, Network, NetworkNode
from nilometer.pictures.network_map import cut_off

NODES = tuple(NetworkNode(number) for number in range(6))
CHAIN = Network("chain", 0, NODES, (Link(0, 1), Link(1, 2), Link(2, 3), Link(0, 4), Link(4, 5)))


def test_nodes_behind_a_dead_one_are_cut_off() -> None:
    assert cut_off(CHAIN, (2,)) == {3}
    assert cut_off(CHAIN, (1, 4)) == {2, 3, 5}


def test_without_deaths_nobody_is_cut_off() -> None:
    assert cut_off(CHAIN, ()) == set()
