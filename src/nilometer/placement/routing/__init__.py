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


def routing_trees(
    network: Network, sources: tuple[NodeId, ...], costs: CostParameters, profile: PlacementProfile
) -> tuple[RoutingTree, ...]:
    """The trees that are worth weighing, the profile's own first. A Steiner tree has the fewest links, which is best where
    tuples are merged on their way; shortest paths have the fewest hops for a tuple, which is best where all are shipped."""
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
    second = shortest_path_tree(network, sources, weights)
    return (first,) if set(second.edges) == set(first.edges) else (first, second)
