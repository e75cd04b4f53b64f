"""Network and sources -> a routing tree of low total weight: the heuristic of Takahashi and Matsuyama (1980).

The tree begins as the sink; again and again the source that is nearest to the tree is joined to it by its shortest path. The
weight is at most 2 (1 - 1/terminals) times that of the best tree. One Dijkstra serves all rounds: a path that joins the tree
sets its sites' distances to 0, and the search goes on from there.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf

from nilometer.catalog.network import Network, NodeId
from nilometer.placement.routing.growing_tree import GrowingTree
from nilometer.placement.routing.link_weights import Weights
from nilometer.placement.routing_tree import RoutingTree


def steiner_tree(network: Network, sources: tuple[NodeId, ...], weights: Weights) -> RoutingTree:
    """The tree; sources that no node with energy leads to are left out, and the caller must say so."""
    rank = {node.id: number for number, node in enumerate(network.nodes)}
    towards = _reversed(weights)
    distance: dict[NodeId, float] = {network.sink: 0.0}
    after: dict[NodeId, NodeId] = {}
    tree = GrowingTree(network.sink)
    remaining = set(sources) - {network.sink}
    waiting: list[tuple[float, int, NodeId]] = [(0.0, rank[network.sink], network.sink)]
    while waiting and remaining:
        reached, _, site = heappop(waiting)
        if reached > distance[site]:
            continue
        if site in remaining:
            path = [site]
            while path[-1] not in tree:
                path.append(after[path[-1]])
            tree.add(path)
            for joined in path:
                remaining.discard(joined)
                distance[joined] = 0.0
                heappush(waiting, (0.0, rank[joined], joined))
            continue
        for neighbour, weight in towards[site]:
            if reached + weight < distance.get(neighbour, inf):
                distance[neighbour] = reached + weight
                after[neighbour] = site
                heappush(waiting, (reached + weight, rank[neighbour], neighbour))
    return tree.finished((s for s in sources if s not in remaining), "Takahashi-Matsuyama")


def shortest_path_tree(network: Network, sources: tuple[NodeId, ...], weights: Weights) -> RoutingTree:
    """Each source by its own shortest path to the sink: fewer hops for a tuple, more links in all."""
    rank = {node.id: number for number, node in enumerate(network.nodes)}
    towards = _reversed(weights)
    distance: dict[NodeId, float] = {network.sink: 0.0}
    after: dict[NodeId, NodeId] = {}
    waiting: list[tuple[float, int, NodeId]] = [(0.0, rank[network.sink], network.sink)]
    while waiting:
        reached, _, site = heappop(waiting)
        if reached > distance[site]:
            continue
        for neighbour, weight in towards[site]:
            if reached + weight < distance.get(neighbour, inf):
                distance[neighbour] = reached + weight
                after[neighbour] = site
                heappush(waiting, (reached + weight, rank[neighbour], neighbour))
    tree = GrowingTree(network.sink)
    reachable = tuple(source for source in sources if source in distance)
    for source in reachable:
        path = [source]
        while path[-1] not in tree:
            path.append(after[path[-1]])
        tree.add(path)
    return tree.finished(reachable, "shortest paths")


def _reversed(weights: Weights) -> Weights:
    """From each node to those that can send to it: the search runs from the sink, the packets run to it."""
    found: dict[NodeId, list[tuple[NodeId, float]]] = {node: [] for node in weights}
    for sender, hearers in weights.items():
        for hearer, weight in hearers:
            found[hearer].append((sender, weight))
    return {node: tuple(senders) for node, senders in found.items()}
