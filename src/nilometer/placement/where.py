"""Fragments and a routing tree -> which fragment runs where (SNEE step 6, where-scheduling, Fig. 19), and
which feeds which.

A fragment that acquires runs wherever its extent is sensed. A fragment that must see all tuples of its inputs
runs at the deepest confluence site: the first site, from the leaves, that all of them pass (their lowest
common ancestor in the routing tree). AGGR_MERGE is recursive: it runs wherever two branches meet, or where a
branch passes a site that contributes itself. AGGR_EVAL runs at the last of these sites. A fragment with one
producer and no such need runs where its producer runs. Fragment 0 runs at the sink.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd

from nilometer.catalog.network import NodeId
from nilometer.errors import InternalError
from nilometer.placement.fragments import Fragment, FragmentTree
from nilometer.placement.placed_plan import Flow, Instance, PlacedPlan
from nilometer.placement.population import Population
from nilometer.placement.routing_tree import RoutingTree
from nilometer.placement.sources import SourceKey, source_key
from nilometer.placement.tuple_layout import tuple_layout
from nilometer.placement.volume import Volume, volume_of
from nilometer.placement.wire_format import WireFormat

Sites = Mapping[int, frozenset[NodeId]]
"""The sites of each fragment."""


def place_fragments(
    fragments: FragmentTree,
    routing: RoutingTree,
    sensed_at: Mapping[SourceKey, frozenset[NodeId]],
    interval: int,
    wire: WireFormat,
    pinned: Mapping[int, NodeId] | None = None,
) -> PlacedPlan:
    """Every fragment at its sites. `sensed_at`: the sites of each acquisition. `pinned`: the site at which a
    single-site fragment should stay, if all its inputs pass there."""
    sites = _sites(fragments, routing, sensed_at, pinned or {})
    targets = _targets(fragments, routing, sites)
    volumes = _volumes(fragments, routing, sites, targets, interval)
    population = Population({key: len(hosts) for key, hosts in sensed_at.items()}, interval)
    sizes = {fragment.number: tuple_layout(fragment.root, wire, population).size for fragment in fragments}
    instances: list[Instance] = []
    flows: list[Flow] = []
    order = fragments.post_order
    for site in routing.post_order:
        for fragment in order:
            if site not in sites[fragment.number]:
                continue
            volume = volumes[fragment.number, site]
            instances.append(Instance(fragment.number, site, volume.rows, volume.stride))
            if (fragment.number, site) in targets:
                consumer, target = targets[fragment.number, site]
                path = routing.path(site, target)
                size = sizes[fragment.number]
                flows.append(
                    Flow(fragment.number, consumer, path, volume.rows, size, volume.stride, volume.windows)
                )
    return PlacedPlan(routing, fragments, tuple(instances), tuple(flows), population)


# ---- sites -----------------------------------------------------------------------------------------------------------


def _sites(
    fragments: FragmentTree,
    routing: RoutingTree,
    sensed_at: Mapping[SourceKey, frozenset[NodeId]],
    pinned: Mapping[int, NodeId],
) -> dict[int, frozenset[NodeId]]:
    sites: dict[int, frozenset[NodeId]] = {}
    for fragment in fragments.post_order:
        producers = frozenset().union(*(sites[number] for number in fragment.producers))
        if fragment.delivers:
            sites[fragment.number] = frozenset((routing.sink,))
        elif fragment.is_leaf:
            (acquire,) = fragment.acquires
            sites[fragment.number] = sensed_at[source_key(acquire)]
        elif fragment.merges:
            sites[fragment.number] = _meetings(routing, producers)
        elif any(operator.attribute_sensitive for operator in fragment.operators):
            deepest = deepest_confluence(routing, producers)
            wanted = pinned.get(fragment.number, deepest)
            stays = wanted in routing.path(deepest, routing.sink)
            sites[fragment.number] = frozenset((wanted if stays else deepest,))
        else:
            sites[fragment.number] = producers
    return sites


def deepest_confluence(routing: RoutingTree, sites: Iterable[NodeId]) -> NodeId:
    """The site farthest from the sink that everything from `sites` passes."""
    wanted = set(sites)
    seen: dict[NodeId, int] = {}
    for site in routing.post_order:
        seen[site] = (site in wanted) + sum(seen[child] for child in routing.children[site])
        if seen[site] == len(wanted):
            return site
    raise InternalError("a fragment's producers are not in the routing tree")


def _meetings(routing: RoutingTree, contributors: frozenset[NodeId]) -> frozenset[NodeId]:
    """The sites where at least two contributions meet; if none meet, the site of the only contribution."""
    meetings: set[NodeId] = set()
    passes: dict[NodeId, bool] = {}
    for site in routing.post_order:
        branches = (site in contributors) + sum(passes[child] for child in routing.children[site])
        passes[site] = branches > 0
        if branches > 1:
            meetings.add(site)
    return frozenset(meetings) or contributors


# ---- flows -----------------------------------------------------------------------------------------------------------


def _targets(
    fragments: FragmentTree, routing: RoutingTree, sites: Sites
) -> dict[tuple[int, NodeId], tuple[int, NodeId]]:
    """For each instance, the fragment and the site that consume its rows."""
    found: dict[tuple[int, NodeId], tuple[int, NodeId]] = {}
    for fragment in fragments:
        if fragment.consumer is None:
            continue
        nearest = _nearest(routing, sites[fragment.consumer])
        above = _nearest(routing, sites[fragment.number]) if fragment.merges else {}
        for site in sites[fragment.number]:
            parent = routing.parents.get(site)
            merged = above.get(parent) if parent is not None else None
            if merged is not None:
                found[fragment.number, site] = (fragment.number, merged)
            else:
                found[fragment.number, site] = (fragment.consumer, _required(nearest.get(site)))
    return found


def _nearest(routing: RoutingTree, wanted: frozenset[NodeId]) -> dict[NodeId, NodeId | None]:
    """For each site, the nearest wanted site on its way to the sink, itself included."""
    found: dict[NodeId, NodeId | None] = {}
    for site in reversed(routing.post_order):
        parent = routing.parents.get(site)
        found[site] = site if site in wanted else (None if parent is None else found[parent])
    return found


def _required(site: NodeId | None) -> NodeId:
    if site is None:
        raise InternalError("a fragment's consumer is not on its way to the sink")
    return site


# ---- volumes ---------------------------------------------------------------------------------------------------------


def fed_volumes(fragment: Fragment, incoming: Iterable[tuple[int, Volume]]) -> tuple[Volume, ...]:
    """The volume that each EXCHANGE brings to a fragment's instance, from the (fragment, volume) of each
    flow. The rows of other instances of the same fragment (AGGR_MERGE) come in together with those of its
    producer."""
    found: dict[int, Volume] = {}
    for number, volume in incoming:
        key = fragment.producers[0] if number == fragment.number else number
        before = found.get(key)
        if before is not None:
            volume = Volume(
                before.rows + volume.rows,
                max(before.windows, volume.windows),
                gcd(before.stride, volume.stride),
            )
        found[key] = volume
    return tuple(found.get(number, Volume(0)) for number in fragment.producers)


def _volumes(
    fragments: FragmentTree,
    routing: RoutingTree,
    sites: Sites,
    targets: Mapping[tuple[int, NodeId], tuple[int, NodeId]],
    interval: int,
) -> dict[tuple[int, NodeId], Volume]:
    """The volume of each instance, producers first."""
    found: dict[tuple[int, NodeId], Volume] = {}
    incoming: dict[tuple[int, NodeId], list[tuple[int, Volume]]] = {}
    known: dict[tuple[int, tuple[Volume, ...]], Volume] = {}
    for site in routing.post_order:
        for fragment in fragments.post_order:
            if site not in sites[fragment.number]:
                continue
            place = (fragment.number, site)
            fed = fed_volumes(fragment, incoming.get(place, ()))
            key = (fragment.number, fed)
            if key not in known:
                known[key] = volume_of(fragment.root, interval, iter(fed))
            found[place] = known[key]
            if place in targets:
                incoming.setdefault(targets[place], []).append((fragment.number, found[place]))
    return found
