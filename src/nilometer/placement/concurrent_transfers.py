"""Transfers that must follow each other up a tree -> the start of each, with many at the same time.

Two transfers disturb each other if they share a site, or if the receiver of one hears the sender of the other
(SNEE section 5.2.4 names the idea, after Zadorozhny). The algorithm is list scheduling (Graham, 1966) by the
critical path, in a topological order that Kahn's algorithm finds. Among the sites whose inputs are complete,
the one that has been ready longest goes first, in the earliest gap in which it disturbs nobody. Ties go to
the site with the longest way to go. Where packets are acknowledged, both ends send and receive, so no end of
one transfer may hear an end of the other.
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
    """The time at which each site of `lengths` starts to send to its parent. `free`: when a site has finished
    the tasks that need no other site; `thinking`: how long it computes once all its inputs have arrived;
    `lengths`: how long it sends."""
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
    """The shortest time from the start of a site's transfer to the answer."""
    found: dict[NodeId, int] = {}
    for site in reversed(routing.post_order):
        parent = routing.parents.get(site)
        above = 0 if parent is None else found[parent] + thinking[parent]
        found[site] = lengths.get(site, 0) + above
    return found
