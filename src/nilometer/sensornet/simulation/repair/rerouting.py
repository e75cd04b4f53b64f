"""A routing tree without its dead sites -> a tree again: each branch that lost its route takes the cheapest
one back, from any of its sites.

If the route does not leave a branch at its top, the branch is reversed: the hops from its top to that site
change direction.
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import inf

from nilometer.catalog.network import Network, NodeId
from nilometer.errors import UnsupportedError
from nilometer.placement import CostParameters, RoutingTree
from nilometer.placement.routing.link_weights import Weights, link_weights

LOCAL_REPAIR = "local repair"
"""The name of this heuristic, for EXPLAIN."""


def reroute(
    tree: RoutingTree,
    network: Network,
    dead: Collection[NodeId],
    sources: tuple[NodeId, ...],
    costs: CostParameters,
) -> RoutingTree:
    """The tree of the surviving network. `sources`: those that still sense."""
    alive = {node.id for node in network.nodes} - set(dead)
    parents = {child: parent for child, parent in tree.edges if child in alive and parent in alive}
    weights = link_weights(network, costs)
    joined = _below(parents, network.sink)
    wanted = {site for site in sources if site not in joined}
    while wanted:
        path = _way_back(network, weights, joined, wanted, parents)
        if path is None:
            names = ", ".join(map(str, sorted(wanted, key=str)))
            raise UnsupportedError(
                f"no way to the sink from {names}", hint="add nodes between them and the sink"
            )
        _turn_round(parents, path[0])
        parents |= dict(pairwise(path))
        joined = _below(parents, network.sink)
        wanted = {site for site in sources if site not in joined}
    kept = _needed(parents, sources, network.sink)
    known = [child for child, _ in tree.edges if child in kept]
    order = [*known, *(site for site in kept if site not in set(known))]
    return RoutingTree(network.sink, tuple((site, parents[site]) for site in order), sources, LOCAL_REPAIR)


def _below(parents: dict[NodeId, NodeId], sink: NodeId) -> set[NodeId]:
    """The sites whose route leads to the sink."""
    found = {sink}
    for site in parents:
        way = []
        while site not in found and site in parents:
            way.append(site)
            site = parents[site]
        if site in found:
            found.update(way)
    return found


def _way_back(
    network: Network,
    weights: Weights,
    joined: set[NodeId],
    wanted: set[NodeId],
    parents: dict[NodeId, NodeId],
) -> list[NodeId] | None:
    """The cheapest path to the tree from a branch that holds a wanted source, starting with the branch's
    site."""
    lost = {site for source in wanted for site in _branch(source, parents)}
    rank = {node.id: number for number, node in enumerate(network.nodes)}
    towards: dict[NodeId, list[tuple[NodeId, float]]] = {node.id: [] for node in network.nodes}
    for sender, hearers in weights.items():
        for hearer, weight in hearers:
            towards[hearer].append((sender, weight))
    distance = {site: 0.0 for site in joined if site in rank}
    after: dict[NodeId, NodeId] = {}
    waiting = [(0.0, rank[site], site) for site in distance]
    heapify(waiting)
    while waiting:
        reached, _, site = heappop(waiting)
        if reached > distance[site]:
            continue
        if site in lost:
            path = [site]
            while path[-1] not in joined:
                path.append(after[path[-1]])
            return path
        for neighbour, weight in towards[site]:
            if reached + weight < distance.get(neighbour, inf):
                distance[neighbour] = reached + weight
                after[neighbour] = site
                heappush(waiting, (reached + weight, rank[neighbour], neighbour))
    return None


def _branch(source: NodeId, parents: dict[NodeId, NodeId]) -> set[NodeId]:
    """All sites of the branch that holds a source."""
    top = source
    while top in parents:
        top = parents[top]
    found = {top}
    children: dict[NodeId, list[NodeId]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    waiting = [top]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            found.add(child)
            waiting.append(child)
    return found


def _turn_round(parents: dict[NodeId, NodeId], exit_site: NodeId) -> None:
    """Make the branch lead to this site instead of to its top."""
    way = [exit_site]
    while way[-1] in parents:
        way.append(parents[way[-1]])
    for child, parent in pairwise(way):
        parents[parent] = child
    parents.pop(exit_site, None)


def _needed(parents: dict[NodeId, NodeId], sources: tuple[NodeId, ...], sink: NodeId) -> dict[NodeId, None]:
    """The sites on the routes of the sources, in the order of the sources."""
    found: dict[NodeId, None] = {}
    for source in sources:
        site = source
        while site != sink and site not in found:
            found[site] = None
            site = parents[site]
    return found
