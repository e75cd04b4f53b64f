"""A network and its dead nodes -> the network of the nodes that live and still reach the sink, with the
energy left in their batteries."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import replace

from nilometer.catalog.network import Network, NodeId


def survivors(
    network: Network, dead: Collection[NodeId], energy: Mapping[NodeId, float] | None = None
) -> tuple[Network, tuple[NodeId, ...]]:
    """The network without the dead nodes and those they cut off, and the latter. `energy`: joules left, by
    node."""
    reached, waiting = {network.sink}, deque([network.sink])
    while waiting:
        for neighbour in network.neighbours(waiting.popleft()):
            if neighbour not in reached and neighbour not in dead:
                reached.add(neighbour)
                waiting.append(neighbour)
    left = energy or {}
    nodes = tuple(
        replace(node, energy=max(0.0, left[node.id])) if node.id in left and node.energy is not None else node
        for node in network.nodes
        if node.id in reached
    )
    links = tuple(link for link in network.links if link.source in reached and link.target in reached)
    cut_off = tuple(n.id for n in network.nodes if n.id not in reached and n.id not in dead)
    return replace(network, nodes=nodes, links=links), cut_off
