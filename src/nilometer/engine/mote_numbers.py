"""Nodes with names -> numbers for their motes, because addresses on the air have one byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nilometer.catalog.network import Network, NodeId
from nilometer.errors import UnsupportedError
from nilometer.plan import physical

ADDRESSES = range(255)
"""The addresses that fit into a byte; the last value means no node."""


def mote_numbers(network: Network) -> dict[NodeId, int]:
    """A number for each node: its id if that is a number, otherwise a free one. The numbers follow the order
    of the names, because a mote has only the numbers where rows of one tick are sorted by id (as in a row
    window)."""
    ids = [node.id for node in network.nodes]
    if not any(isinstance(identifier, str) for identifier in ids):
        return {identifier: identifier for identifier in ids if isinstance(identifier, int)}
    if len(ids) > len(ADDRESSES):
        raise UnsupportedError(
            f"network '{network.name}' has more nodes than motes have addresses",
            detail=f"it has {len(ids)} nodes, some of them with names, and there are {len(ADDRESSES)} numbers for them",
            hint="leave out nodes that the query does not need, or give all of them numbers as ids: then only those that take part need an address",
        )
    free = (number for number in ADDRESSES if number not in ids)
    named = dict(zip(sorted(i for i in ids if isinstance(i, str)), free, strict=False))
    return {
        identifier: named[identifier] if isinstance(identifier, str) else identifier for identifier in ids
    }


def numbered_network(network: Network, numbers: Mapping[NodeId, int]) -> Network:
    """The same network, with its nodes named by their numbers."""
    return replace(
        network,
        sink=numbers[network.sink],
        nodes=tuple(replace(node, id=numbers[node.id]) for node in network.nodes),
        links=tuple(
            replace(link, source=numbers[link.source], target=numbers[link.target]) for link in network.links
        ),
    )


def numbered_plan(plan: physical.Node, numbers: Mapping[NodeId, int]) -> physical.Node:
    """The same plan, with its acquisitions limited to the same nodes by their numbers."""

    def change(node: physical.Node) -> physical.Node:
        if isinstance(node, physical.SpAcquire) and node.sensors is not None:
            return replace(node, sensors=frozenset(numbers.get(one, one) for one in node.sensors))
        return node

    return physical.transform_plan(plan, change)
