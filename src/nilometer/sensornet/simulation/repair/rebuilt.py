"""A placement and another routing tree -> the same fragments on that tree, at their old sites where
possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nilometer.catalog.network import Network, NodeId
from nilometer.errors import InfeasibleError
from nilometer.placement import Placement, RoutingTree
from nilometer.placement.buffering import Scheduler, choose_buffering
from nilometer.placement.sources import sources_of
from nilometer.placement.where import place_fragments
from nilometer.placement.workload import workload


def pinned_sites(placement: Placement) -> dict[int, NodeId]:
    """The site of each fragment that runs at one site only."""
    return {number: sites[0] for number, sites in placement.placed.sites_of.items() if len(sites) == 1}


def rebuilt(
    placement: Placement, network: Network, routing: RoutingTree, pinned: Mapping[int, NodeId]
) -> Placement:
    """The placement, scheduled again, with its old buffering factor if that is feasible."""
    costs, profile = placement.costs, placement.profile
    sources = sources_of(placement.plan, network)
    placed = place_fragments(
        placement.fragments, routing, sources.sensed_at, sources.interval, profile.wire, pinned
    )
    work = workload(placed, costs, profile)
    scheduler = Scheduler(work, network, sources.interval, costs, profile)
    try:
        scheduled = choose_buffering(scheduler, replace(placement.quality, buffering_factor=placement.beta))
    except InfeasibleError:
        scheduled = choose_buffering(scheduler, placement.quality)
    return replace(
        placement,
        network=network,
        routing=routing,
        placed=placed,
        agenda=scheduled.agenda,
        sites=scheduled.sites,
        estimate=scheduled.estimate,
        alternatives=(),
    )
