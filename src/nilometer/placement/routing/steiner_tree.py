"""A network and sources -> routing trees of low weight: by Takahashi and Matsuyama's heuristic (1980), by
shortest paths, and in between.

A Steiner tree starts as the sink. Each round joins the source nearest to the tree by its shortest path. The
weight is at most 2 (1 - 1/terminals) times that of the best tree. One Dijkstra search serves all rounds: a
path that joins the tree sets the distances of its sites to 0, and the search continues from there. If the
distances are instead set to a share of the way to the sink, the tree has somewhat more links and shorter
paths (Alpert, Hu, Huang, Kahng and Karger, 1995, blend Prim's and Dijkstra's algorithms in this way).
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
    """The tree. It leaves out sources that cannot reach the sink over nodes with energy, and the caller must
    report them. `leaning`: the share of a tree site's way to the sink that counts, from 0 (Takahashi and
    Matsuyama) to 1 (shortest paths)."""
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
    """The tree in which each source takes its own shortest path to the sink: fewer hops per tuple, more links
    in all."""
    search = _Search(network, weights)
    reached = set(search.settled())
    tree = GrowingTree(network.sink)
    reachable = tuple(source for source in sources if source in reached)
    for source in reachable:
        tree.add(search.path_into(tree, source))
    return tree.finished(reachable, "shortest paths")


class _Search:
    """Dijkstra's search from the sink, against the direction of the packets. Ties follow the order of the
    network."""

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
        """Add a site as a start of the search, at that distance."""
        self._reach(site, distance)

    def _reach(self, site: NodeId, distance: float) -> None:
        self._distance[site] = distance
        heappush(self._waiting, (distance, self._rank[site], site))

    def settled(self) -> Iterator[NodeId]:
        """The sites by their distance from the starts of the search. A site comes again if a new start brings
        it nearer."""
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
        """The shortest path from a site up to and including the site at which it joins the tree."""
        path = [site]
        while path[-1] not in tree:
            path.append(self._next[path[-1]])
        return path
