"""Routing (SNEE step 4): a network and the sites that sense -> a tree to the sink."""

from __future__ import annotations

from nilometer.catalog.near_misses import join_names
from nilometer.catalog.network import Network, NodeId
from nilometer.errors import UnsupportedError
from nilometer.placement.cost_parameters import CostParameters
from nilometer.placement.profiles import PlacementProfile
from nilometer.placement.routing.link_weights import link_weights
from nilometer.placement.routing.random_tree import random_tree
from nilometer.placement.routing.steiner_tree import shortest_path_tree, steiner_tree
from nilometer.placement.routing_tree import RoutingTree

__all__ = ["routing_trees"]

LEANINGS = (0.3, 0.6)
"""How far the trees in between lean towards shortest paths. More values find little more and take longer to
compare."""


def routing_trees(
    network: Network, sources: tuple[NodeId, ...], costs: CostParameters, profile: PlacementProfile
) -> tuple[RoutingTree, ...]:
    """The trees that are worth comparing, the profile's own first. A Steiner tree has the fewest links, which
    is best if tuples are merged on their way. Shortest paths have the fewest hops per tuple, which is best if
    all tuples are shipped. The trees in between save up to a quarter of the energy of shortest paths in large
    networks, for the same lifetime."""
    if profile.routing == "random":
        return (random_tree(network, sources, profile.seed),)
    weights = link_weights(network, costs)
    first = steiner_tree(network, sources, weights)
    missing = [site for site in sources if site not in first]
    if missing:
        raise UnsupportedError(
            f"no route to the sink from {join_names(map(str, missing), 'and')}",
            detail=f"every path to {network.sink!r} leads over a node without energy",
            hint="give those nodes energy, or add a link that goes round them",
        )
    trees = {frozenset(first.edges): first}
    for leaning in LEANINGS:
        tree = steiner_tree(network, sources, weights, leaning)
        trees.setdefault(frozenset(tree.edges), tree)
    last = shortest_path_tree(network, sources, weights)
    trees.setdefault(frozenset(last.edges), last)
    return tuple(trees.values())
