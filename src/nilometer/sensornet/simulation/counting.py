"""The number of tuples that each instance gave in each period -> packets and bytes on every hop, where
nothing is lost.

A flow's tuples leave its source and are consumed at its target; every site in between forwards them. So a
site sends what it makes plus what its children send it, minus what it consumes: one addition per site, for
all periods.
"""

from __future__ import annotations

import numpy as np

from nilometer.kernels.arrays import Integers
from nilometer.sensornet.simulation.books import RadioBooks
from nilometer.sensornet.simulation.packing import pack, packet_head
from nilometer.sensornet.simulation.site_numbers import SiteNumbers


def count_packets(numbers: SiteNumbers, made: dict[int, Integers], periods: int) -> RadioBooks:
    """`made`: for each fragment the tuples that each site gave in each period [site, period]."""
    books = RadioBooks.empty(len(numbers))
    costs, wire = numbers.placement.costs, numbers.placement.profile.wire
    size = len(numbers)
    tuples = np.zeros((len(numbers.kinds), size, periods), dtype=np.int64)
    own = np.zeros((size, periods), dtype=np.int64)  # packets, if every flow has its own
    for fragment, given in made.items():
        kind, target = numbers.kind_of[fragment], numbers.target_of[fragment]
        for place in np.flatnonzero((kind >= 0) & (target != np.arange(size))):
            tuples[kind[place], place] += given[place]
            tuples[kind[place], target[place]] -= given[place]
            if not wire.shared:
                each = costs.packet_room // int(numbers.sizes[kind[place]])
                own[place] += -(-given[place] // each)
                own[target[place]] -= -(-given[place] // each)
    for child in range(size - 1):  # children come before their parents; the sink is last
        tuples[:, numbers.parent[child]] += tuples[:, child]
        own[numbers.parent[child]] += own[child]
    if wire.shared and len(numbers.kinds):
        own = _packets(numbers, tuples, periods)
    content = np.tensordot(numbers.sizes, tuples, axes=1) if len(numbers.kinds) else np.zeros_like(own)
    own[-1], content[-1] = 0, 0
    books.packets += own.sum(axis=1)
    books.sent += books.packets
    if numbers.placement.network.retries:  # each packet is acknowledged once
        books.acknowledged += np.bincount(numbers.parent[:-1], books.packets[:-1], size).astype(np.int64)
    books.bytes += content.sum(axis=1) + books.packets * packet_head(numbers.placement)
    return books


def _packets(numbers: SiteNumbers, tuples: Integers, periods: int) -> Integers:
    placement = numbers.placement
    kind, site, period = np.nonzero((tuples > 0) & (numbers.rank >= 0)[:, :, None])
    slot, rank = site * periods + period, numbers.rank[kind, site]
    order = np.lexsort((rank, slot))
    kind, site, period, slot, rank = (part[order] for part in (kind, site, period, slot, rank))
    packing = pack(
        slot,
        rank,
        tuples[kind, site, period],
        numbers.sizes[kind],
        len(numbers) * periods,
        placement.costs.packet_room,
        placement.profile.wire,
    )
    return packing.packets.reshape(len(numbers), periods)
