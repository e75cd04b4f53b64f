"""Network and sources -> routing trees of low weight: by Takahashi and Matsuyama's heuristic (1980), and by shortest paths.

A Steiner tree begins as the sink; again and again the source that is nearest to the tree is joined to it by its shortest path. The
weight is at most 2 (1 - 1/terminals) times that of the best tree. One Dijkstra serves all rounds: a path that joins the tree
sets its sites' distances to 0, and the search goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from math import inf

from nilometer.catalog.network import Network, NodeId
from nilometer.placement.routing.growing_tree import GrowingTree
from nilometer.placement.routing.link_weights import Weights
from nilometer.placement.routing_tree import RoutingTree


def steiner_tree(network: Network, sources: tuple[NodeId, ...], weights: Weights) -> RoutingTree:
    """The tree; sources that no node with energy leads to are left out, and the caller must say so."""
    search = _Search(network, weights)
    tree = GrowingTree(network.sink)
    remaining = set(sources) - {network.sink}
    for site in search.settled():
        if site in remaining:
            path = search.path_into(tree, site)
            tree.add(path)
            for joined in path:
                remaining.discard(joined)
                search.begin_at(joined)
        if not remaining:
            break
    return tree.finished((source for source in sources if source not in remaining), "Takahashi-Matsuyama")


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

    def begin_at(self, site: NodeId) -> None:
        """Let the search (also) begin at a site."""
        self._reach(site, 0.0)

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
