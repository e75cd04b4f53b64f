"""A k-resilient overlay: for every site that others depend on, up to k spare nodes that could replace it,
prepared in advance.

A spare is a node outside the routing tree that hears all the site's children and is heard by its parent, with
enough memory for the site's work. It already has the site's program, so it need only be told to start. A site
without children needs no stand-in: when it dies its readings are gone, but no other site loses its route.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from nilometer.catalog.network import Network, NodeId
from nilometer.errors import UnsupportedError
from nilometer.placement import Agenda, Placement, RoutingTree
from nilometer.placement.estimate import estimate_network, estimate_sites
from nilometer.placement.packets import loads_of, packets_for
from nilometer.placement.placed_plan import PlacedPlan
from nilometer.placement.sources import sources_of
from nilometer.placement.where import place_fragments
from nilometer.placement.workload import workload
from nilometer.sensornet.simulation.repair.rebuilt import pinned_sites


@dataclass(frozen=True)
class Overlay:
    """The stand-ins of each site, the best first."""

    spares: Mapping[NodeId, tuple[NodeId, ...]]

    def free(self, site: NodeId, placement: Placement, network: Network) -> NodeId | None:
        """A stand-in that is alive and has no other work."""
        alive = {node.id for node in network.nodes}
        found = (spare for spare in self.spares.get(site, ()) if spare in alive)
        return next((spare for spare in found if spare not in placement.routing), None)


def prepare_overlay(placement: Placement, k: int) -> Overlay:
    """The stand-ins of every site except the sink."""
    network, routing = placement.network, placement.routing
    spares: dict[NodeId, tuple[NodeId, ...]] = {}
    for site, parent in routing.parents.items():
        children = routing.children[site]
        if not children:
            continue
        found: list[tuple[float, str, NodeId]] = []
        for spare in network.neighbours(parent):
            if spare in routing or not _has_room(network, spare, placement, site):
                continue
            links = [network.link(spare, parent), *(network.link(child, spare) for child in children)]
            sound = [link for link in links if link is not None]
            if len(sound) == len(links):
                found.append((sum(link.cost / link.quality for link in sound), str(spare), spare))
        spares[site] = tuple(spare for _, _, spare in sorted(found)[:k])
    return Overlay(spares)


def _has_room(network: Network, spare: NodeId, placement: Placement, site: NodeId) -> bool:
    node = network.node(spare)
    return (node.ram is None or node.ram >= placement.sites[site].ram) and node.energy != 0


def stand_in(
    placement: Placement, network: Network, dead: Collection[NodeId], overlay: Overlay
) -> tuple[Placement, dict[NodeId, NodeId]]:
    """The placement with a stand-in for each dead site that had children, and everything else unchanged; and
    which node replaces which."""
    routing = placement.routing
    gone = [site for site in routing.post_order if site in dead]
    instead: dict[NodeId, NodeId] = {}
    for site in gone:
        if not any(child not in dead for child in routing.children[site]):
            continue
        spare = overlay.free(site, placement, network)
        if spare is None or spare in instead.values():
            raise UnsupportedError(
                f"nobody stands in for node {site!r}", hint="prepare more spares, or add nodes around it"
            )
        instead[site] = spare
    sources = sources_of(placement.plan, network)
    alive = {node.id for node in network.nodes}
    sites = tuple(site for site in sources.sites(network) if site in routing)
    tree = _renamed(routing, instead, alive, sites)
    pinned = {number: instead.get(site, site) for number, site in pinned_sites(placement).items()}
    profile = placement.profile
    placed = place_fragments(
        placement.fragments, tree, sources.sensed_at, sources.interval, profile.wire, pinned
    )
    work = workload(placed, placement.costs, profile)
    agenda = _as_before(placement, placed, instead)
    plans = estimate_sites(agenda, work, network, placement.costs, profile)
    changed = replace(
        placement,
        network=network,
        routing=tree,
        placed=placed,
        agenda=agenda,
        sites=plans,
        estimate=estimate_network(agenda, plans, network.sink),
        alternatives=(),
    )
    return changed, instead


def _renamed(
    routing: RoutingTree, instead: Mapping[NodeId, NodeId], alive: set[NodeId], sources: tuple[NodeId, ...]
) -> RoutingTree:
    """The tree with the stand-ins, without branches that no longer lead to a source."""
    parents = {
        instead.get(child, child): instead.get(parent, parent)
        for child, parent in routing.edges
        if instead.get(child, child) in alive
    }
    needed: dict[NodeId, None] = {}
    for site in sources:
        while site != routing.sink and site not in needed:
            needed[site] = None
            site = parents[site]
    edges = tuple((child, parent) for child, parent in parents.items() if child in needed)
    return RoutingTree(routing.sink, edges, sources, routing.heuristic)


def _as_before(placement: Placement, placed: PlacedPlan, instead: Mapping[NodeId, NodeId]) -> Agenda:
    """The agenda with the same times: a stand-in uses the slots of the dead site, and a slot that is no
    longer needed stays empty."""
    agenda, wire = placement.agenda, placement.profile.wire

    def name(site: NodeId) -> NodeId:
        return instead.get(site, site)

    tree = placed.routing
    transfers = []
    for transfer in agenda.transfers:
        source = name(transfer.source)
        flows = placed.outgoing.get(source, ())
        if source in tree and flows:
            loads = loads_of(flows, wire)
            packets = packets_for(loads, agenda.beta, placement.costs.packet_room, wire)
            transfers.append(
                replace(transfer, source=source, target=name(transfer.target), flows=flows, packets=packets)
            )
    here = placed.fragments_at
    acquisitions = tuple(
        task for task in agenda.acquisitions if task.site in tree and task.site not in instead
    )
    tasks = tuple(
        replace(task, site=name(task.site))
        for task in agenda.tasks
        if name(task.site) in tree and any(f.number == task.fragment for f in here[name(task.site)])
    )
    return replace(
        agenda, sites=tree.post_order, acquisitions=acquisitions, tasks=tasks, transfers=tuple(transfers)
    )
