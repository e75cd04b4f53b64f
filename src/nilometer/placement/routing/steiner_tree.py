"""Network and sources -> routing trees of low weight: by Takahashi and Matsuyama's heuristic (1980), by shortest paths, and between.

A Steiner tree begins as the sink; again and again the source that is nearest to the tree is joined to it by its shortest path. The
weight is at most 2 (1 - 1/terminals) times that of the best tree. One Dijkstra serves all rounds: a path that joins the tree
sets its sites' distances to 0, and the search goes on from there. Set to a share of their way to the sink instead (Alpert, Hu, Huang,
Kahng and Karger, 1995, blend Prim's algorithm and Dijkstra's so), they make a tree with somewhat more links and shorter ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import pairwise
from math import inf

from nilometer.catalog.network import Network, NodeId
from nilometer.placement.routing.growing_tree import GrowingTree
from nilometer.placement.routing.link_weights import Weights
from nilometer.placement.routing_tree import RoutingTree


def steiner_tree(
    network: Network, sources: tuple[NodeId, ...], weights: Weights, leaning: float = 0.0
) -> RoutingTree:
    """The tree; sources that no node with energy leads to are left out, and the caller must say so. `leaning`: the share of
    a tree site's way to the sink that counts, from 0 (Takahashi and Matsuyama) to 1 (shortest paths)."""
    search = _Search(network, weights)
    tree = GrowingTree(network.sink)
    ways: dict[NodeId, float] = {network.sink: 0.0}
    remaining = set(sources) - {network.sink}
    for site in search.settled():
        if site in remaining:
            path = search.path_into(tree, site)
            tree.add(path)
            for joined, onward in reversed(list(pairwise(path))):
                ways[joined] = ways[onward] + _weight(weights, joined, onward)
                remaining.discard(joined)
                search.begin_at(joined, leaning * ways[joined])
        if not remaining:
            break
    name = (
        f"Takahashi-Matsuyama, leaning to shortest paths by {leaning:g}" if leaning else "Takahashi-Matsuyama"
    )
    return tree.finished((source for source in sources if source not in remaining), name)


def _weight(weights: Weights, sender: NodeId, hearer: NodeId) -> float:
    return next(weight for other, weight in weights[sender] if other == hearer)


def shortest_path_tree(network: Network, sources: tuple[NodeId, ...], weights: Weights) -> RoutingTree:
    """Each source by its own shortest path to the sink: fewer hops for a tuple, more links in all."""
    search = _Search(network, weights)
    reached = set(search.settled())
    tree = GrowingTree(network.sink)
    reachable = tuple(source for source in sources if source in reached)
    for source in reachable:
        tree.add(search.path_into(tree, source))
    return tree.finished(reachable, "shortest paths")


class _Search:
    """Dijkstra's search from the sink against the direction of the packets; equal distances in the order of the network."""

    def __init__(self, network: Network, weights: Weights) -> None:
        self._rank = {node.id: number for number, node in enumerate(network.nodes)}
        self._senders: dict[NodeId, list[tuple[NodeId, float]]] = {node: [] for node in weights}
        for sender, hearers in weights.items():
            for hearer, weight in hearers:
                self._senders[hearer].append((sender, weight))
        self._distance: dict[NodeId, float] = {}
        self._next: dict[NodeId, NodeId] = {}
        self._waiting: list[tuple[float, int, NodeId]] = []
        self.begin_at(network.sink)

    def begin_at(self, site: NodeId, distance: float = 0.0) -> None:
        """Let the search (also) begin at a site, at that distance."""
        self._reach(site, distance)

    def _reach(self, site: NodeId, distance: float) -> None:
        self._distance[site] = distance
        heappush(self._waiting, (distance, self._rank[site], site))

    def settled(self) -> Iterator[NodeId]:
        """The sites by their distance from where the search begins; a site may come again, nearer, if that changes."""
        while self._waiting:
            distance, _, site = heappop(self._waiting)
            if distance > self._distance[site]:
                continue
            yield site
            distance = self._distance[site]
            for sender, weight in self._senders[site]:
                if distance + weight < self._distance.get(sender, inf):
                    self._next[sender] = site
                    self._reach(sender, distance + weight)

    def path_into(self, tree: GrowingTree, site: NodeId) -> list[NodeId]:
        """The shortest path from a site, as far as it is not in the tree, and the site at which it joins."""
        path = [site]
        while path[-1] not in tree:
            path.append(self._next[path[-1]])
        return path
