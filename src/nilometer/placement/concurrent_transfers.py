"""Transfers that must follow each other up a tree -> when each begins, many at a time.

Two transfers disturb each other if they share a site, or if the receiver of one hears the sender of the other
(SNEE section 5.2.4 names the idea, after Zadorozhny). List scheduling (Graham, 1966) by the critical path, in
a topological order that Kahn's algorithm finds: of the sites that have all they wait for, the one that has
been ready longest goes first, in the earliest gap that disturbs nobody; of several, the one with the longest
way to go. Where packets are acknowledged both ends send and both receive: then no end of one may hear an end
of the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from nilometer.catalog.network import Network, NodeId
from nilometer.placement.routing_tree import RoutingTree

Interval = tuple[int, int]


def schedule_transfers(
    network: Network,
    routing: RoutingTree,
    free: Mapping[NodeId, int],
    thinking: Mapping[NodeId, int],
    lengths: Mapping[NodeId, int],
) -> dict[NodeId, int]:
    """When each site of `lengths` begins to send to its parent. `free`: when a site has done what needs no other;
    `thinking`: how long it computes once all has come in; `lengths`: how long it sends."""
    remaining = _remaining(routing, thinking, lengths)
    rank = {site: number for number, site in enumerate(routing.post_order)}
    waits_for = {
        site: sum(child in lengths for child in routing.children[site]) for site in routing.post_order
    }
    gathered = dict(free)
    sends: dict[NodeId, Interval] = {}
    receives: dict[NodeId, list[Interval]] = {site: [] for site in routing.post_order}
    starts: dict[NodeId, int] = {}
    ready = [
        (free[site] + thinking[site], -remaining[site], rank[site], site)
        for site in routing.post_order
        if site in lengths and not waits_for[site]
    ]
    heapify(ready)
    while ready:
        earliest, _, _, site = heappop(ready)
        parent = routing.parents[site]
        taken = list(receives[parent])
        for neighbour in network.neighbours(parent):
            if neighbour in sends and neighbour != site:
                taken.append(sends[neighbour])
            if network.retries:
                taken.extend(receives.get(neighbour, ()))
        for neighbour in network.neighbours(site):
            if neighbour != parent:
                taken.extend(receives.get(neighbour, ()))
            if network.retries and neighbour in sends:
                taken.append(sends[neighbour])
        start = _first_gap(max(earliest, free[parent]), lengths[site], taken)
        busy = (start, start + lengths[site])
        starts[site] = start
        sends[site] = busy
        receives[parent].append(busy)
        gathered[parent] = max(gathered[parent], busy[1])
        waits_for[parent] -= 1
        if not waits_for[parent] and parent in lengths:
            at = gathered[parent] + thinking[parent]
            heappush(ready, (at, -remaining[parent], rank[parent], parent))
    return starts


def _first_gap(earliest: int, length: int, taken: list[Interval]) -> int:
    """The first start, not before `earliest`, of a gap of that length."""
    start = earliest
    for begin, end in sorted(taken):
        if begin >= start + length:
            break
        start = max(start, end)
    return start


def _remaining(
    routing: RoutingTree, thinking: Mapping[NodeId, int], lengths: Mapping[NodeId, int]
) -> dict[NodeId, int]:
    """How long it takes at least from a site's sending to the answer."""
    found: dict[NodeId, int] = {}
    for site in reversed(routing.post_order):
        parent = routing.parents.get(site)
        above = 0 if parent is None else found[parent] + thinking[parent]
        found[site] = lengths.get(site, 0) + above
    return found
