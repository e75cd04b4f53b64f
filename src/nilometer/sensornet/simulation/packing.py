"""The number of tuples of each kind that cross a hop -> packets, and the packet of each tuple.

This is the columnar form of `placement.packets`, for all hops and periods at once. A slot is one hop in one
period. A group fills packets apart from the rest: under `snee-2010` it is a flow, otherwise a kind, which
starts in the room that the kind before it left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.kernels.arrays import Integers
from nilometer.placement import Placement, WireFormat


def packet_head(placement: Placement) -> float:
    """The bytes of a packet that are not tuples, as `placement.packets.bytes_for` counts them."""
    return placement.costs.packet_overhead + placement.profile.wire.segment_size


@dataclass(frozen=True)
class Packing:
    """For each group: `early` tuples go into the packet before `first`, the others from `first` on, `each` to
    a packet. `packets` are those of each slot."""

    early: Integers
    first: Integers
    each: Integers
    packets: Integers

    def packet(self, group: Integers, number: Integers) -> Integers:
        """The packet, within its slot, of a group's tuple with that number."""
        late = number - self.early[group]
        return np.where(late < 0, self.first[group] - 1, self.first[group] + late // self.each[group])


def pack(
    slots: Integers,
    ranks: Integers,
    counts: Integers,
    sizes: Integers,
    slot_count: int,
    room: int,
    wire: WireFormat,
) -> Packing:
    """Packs groups, sorted by slot and then rank, given their numbers of tuples and bytes per tuple."""
    if not wire.shared:
        each = room // np.maximum(sizes, 1)
        needed = -(-counts // np.maximum(each, 1))
        before = np.cumsum(needed) - needed
        begins = np.searchsorted(slots, slots)  # the first group of each group's slot
        first = before - (before[begins] if len(before) else before)
        packets = np.bincount(slots, weights=needed, minlength=slot_count).astype(np.int64)
        return Packing(np.zeros_like(counts), first, each, packets)
    packets = np.zeros(slot_count, dtype=np.int64)
    left = np.zeros(slot_count, dtype=np.int64)
    early, first, each = (np.zeros_like(counts) for _ in range(3))
    for rank in range(int(ranks.max()) + 1 if len(ranks) else 0):
        here = np.flatnonzero(ranks == rank)
        slot, count, size = slots[here], counts[here], sizes[here]
        fits = np.maximum(0, np.minimum(count, (left[slot] - wire.segment_size) // size))
        left[slot] -= np.where(fits > 0, wire.segment_size + fits * size, 0)
        rest = count - fits
        full = (room - wire.segment_size) // size
        early[here], first[here], each[here] = fits, packets[slot], full
        more = rest > 0
        last = np.where(rest % full == 0, full, rest % full)
        left[slot] = np.where(more, room - wire.segment_size - last * size, left[slot])
        packets[slot] += np.where(more, -(-rest // full), 0)
    return Packing(early, first, each, packets)
