"""A network and sources -> a routing tree, by SNEE's random heuristic (Fig. 14) as in the released code.

The figure says ChooseOne; the code draws from java.util.Random with seed 4. It takes the sources by rising
id. It draws one of them, and one of the sites drawn before (the sink or a source; never a relay). It finds
the shortest path by radio loss and cuts it at the first site that is already in the tree, because otherwise a
cycle could close. Radio loss is 0 on every link of the example, so all paths are equal and the first one
found wins: nodes come in the order of a HashSet of their ids.
"""

from __future__ import annotations

from nilometer.catalog.network import Network, NodeId
from nilometer.placement.routing.growing_tree import GrowingTree
from nilometer.placement.routing.java_random import JavaRandom, hash_order
from nilometer.placement.routing_tree import RoutingTree


def random_tree(network: Network, sources: tuple[NodeId, ...], seed: int = 4) -> RoutingTree:
    """The tree that SNEE would draw."""
    numbers = JavaRandom(seed)
    names = {str(node.id): node.id for node in network.nodes}
    rank = {names[name]: number for number, name in enumerate(hash_order(list(names)))}
    remaining = sorted(set(sources) - {network.sink}, key=_by_id)
    drawn: list[NodeId] = [network.sink]
    tree = GrowingTree(network.sink)
    while remaining:
        source = remaining.pop(numbers.below(len(remaining)))
        # The first path goes to the sink without a draw: there is nothing else to go to.
        target = network.sink if len(drawn) == 1 else drawn[numbers.below(len(drawn))]
        if source not in tree:
            tree.add(_first_path(network, source, target, rank))
        drawn.append(source)
    return tree.finished(sources, f"random, seed {seed}")


def _first_path(
    network: Network, source: NodeId, target: NodeId, rank: dict[NodeId, int]
) -> tuple[NodeId, ...]:
    """Dijkstra's path over links that all cost 0: settles the discovered node with the lowest rank until it
    reaches the target."""
    from heapq import heappop, heappush

    before: dict[NodeId, NodeId | None] = {source: None}
    waiting = [(rank[source], source)]
    while waiting:
        _, site = heappop(waiting)
        if site == target:
            break
        for neighbour in network.neighbours(site):
            if neighbour not in before:
                before[neighbour] = site
                heappush(waiting, (rank[neighbour], neighbour))
    path: list[NodeId] = []
    step: NodeId | None = target
    while step is not None:
        path.append(step)
        step = before[step]
    return tuple(reversed(path))


def _by_id(site: NodeId) -> tuple[int, int | str]:
    return (1, site) if isinstance(site, str) else (0, site)
