"""Rows at the sites of one depth -> those of them that reach the parents, hop by hop, packet by packet.

Used where something may be lost. Where nothing is, rows go straight to their targets, and packets are only counted
(`counting.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np
import polars as pl

from nilometer.sensornet.sim.topology import Floats, Integers
from nilometer.sensornet.simulation.air import Booleans, Clocks, Losses, sendings
from nilometer.sensornet.simulation.books import RadioBooks
from nilometer.sensornet.simulation.packing import pack
from nilometer.sensornet.simulation.site_numbers import SiteNumbers
from nilometer.sensornet.simulation.site_rows import SITE

ORIGIN = "@origin"
"""The site where a row was made; with its fragment that names the flow."""
PERIOD = "@period"
"""The number of its period, from the beginning of the run."""


@dataclass(frozen=True)
class Air:
    """What may happen. `silent`: for each site the time of its period (ticks; -1: never) from which it is dead, in the periods that
    are being run."""

    seed: int
    losses: Losses | None = None
    clocks: Clocks | None = None
    silent: Integers | None = None

    @property
    def perfect(self) -> bool:
        """Whether nothing can be lost."""
        drifts = self.clocks is not None and self.clocks.guard is not None
        return self.losses is None and not drifts and self.silent is None


class Hops:
    """The hops of a placement, under some air."""

    def __init__(self, numbers: SiteNumbers, air: Air) -> None:
        placement = numbers.placement
        agenda, network = placement.agenda, placement.network
        self._numbers = numbers
        self._air = air
        self._nodes = np.array([crc32(str(site).encode()) for site in numbers.sites], dtype=np.int64)
        self._quality: Floats = np.ones(len(numbers))
        for site, parent in placement.routing.parents.items():
            link = network.link(site, parent)
            self._quality[numbers.number[site]] = 1.0 if link is None else link.quality
        self._cut: Booleans = np.zeros(len(numbers), dtype=np.bool_)
        if air.silent is not None:
            for transfer in agenda.transfers:
                ends = [air.silent[numbers.number[site]] for site in (transfer.source, transfer.target)]
                self._cut[numbers.number[transfer.source]] = any(0 <= end < transfer.end for end in ends)
        self._planned = np.zeros(len(numbers), dtype=np.int64)
        for transfer in agenda.transfers:
            self._planned[numbers.number[transfer.source]] = transfer.packets
        self._unheard = self._out_of_step()

    def _out_of_step(self) -> Integers:
        numbers, clocks = self._numbers, self._air.clocks
        if clocks is None:
            return np.zeros(len(numbers), dtype=np.int64)
        costs, agenda = numbers.placement.costs, numbers.placement.agenda
        packet = (
            costs.send_packet + costs.between_packets + costs.transmit_byte * costs.packet_payload
        ) / 1000
        parents = self._nodes[np.maximum(numbers.parent, 0)]
        return clocks.unheard(self._air.seed, self._nodes, parents, agenda.seconds(agenda.period), packet)

    def cross(self, held: dict[int, pl.DataFrame], books: RadioBooks) -> dict[int, pl.DataFrame]:
        """Of the rows of each kind, at sites of one depth, those that arrive, now at the parents; the books are kept."""
        held = {kind: rows for kind, rows in held.items() if rows.height}
        if not held:
            return {}
        site, period, kind, origin, place = _columns(held)
        first = int(period.min())
        span = int(period.max()) - first + 1
        slot = site * span + period - first
        wire = self._numbers.placement.profile.wire
        apart = self._numbers.rank[kind, site] if wire.shared else kind * len(self._numbers) + origin
        order = np.lexsort((place, apart, slot))
        slot, kind, apart = slot[order], kind[order], apart[order]
        begins = np.flatnonzero(np.r_[True, (slot[1:] != slot[:-1]) | (apart[1:] != apart[:-1])])
        counts = np.diff(np.r_[begins, len(slot)])
        group = np.repeat(np.arange(len(begins)), counts)
        packing = pack(
            slot[begins],
            apart[begins],
            counts,
            self._numbers.sizes[kind[begins]],
            len(self._numbers) * span,
            self._numbers.placement.costs.packet_room,
            wire,
        )
        packet = packing.packet(group, np.arange(len(slot)) - begins[group])
        arrives = self._send(slot, packet, self._numbers.sizes[kind], packing.packets, first, span, books)
        kept = np.empty(len(order), dtype=np.bool_)
        kept[order] = arrives
        found: dict[int, pl.DataFrame] = {}
        offset = 0
        for name, rows in held.items():
            arrived = rows.filter(pl.Series(kept[offset : offset + rows.height]))
            offset += rows.height
            above = self._numbers.parent[arrived.get_column(SITE).to_numpy()]
            found[name] = arrived.with_columns(pl.Series(SITE, above))
        return found

    def _send(
        self,
        slot: Integers,
        packet: Integers,
        sizes: Integers,
        packets: Integers,
        first: int,
        span: int,
        books: RadioBooks,
    ) -> Booleans:
        """Which rows arrive; each packet is drawn once."""
        starts = np.cumsum(packets) - packets
        number = starts[slot] + packet  # of the packet, over all slots
        total = int(packets.sum())
        slots = np.repeat(np.arange(len(packets)), packets)
        place = np.arange(total) - starts[slots]
        site, period = slots // span, slots % span + first
        sent, arrived = np.ones(total, dtype=np.int64), np.ones(total, dtype=np.bool_)
        if self._air.losses is not None:
            sent, arrived = sendings(
                self._air.seed, self._air.losses, self._quality[site], self._nodes[site], period, place
            )
        unheard = self._unheard[site]
        # Packets fill the slot from its beginning, so those too late are the last of a full slot.
        arrived &= (place >= unheard) & (place < self._planned[site] + np.minimum(unheard, 0))
        cut = self._cut[site]
        arrived &= ~cut
        overhead = self._numbers.placement.costs.packet_overhead
        content = np.bincount(number, weights=sizes, minlength=total) + overhead
        alive = sent  # a dead sender sends nothing; one whose parent is dead still tries
        if self._air.silent is not None:
            alive = np.where((self._air.silent[site] >= 0) & cut, 0, sent)
        length = len(self._numbers)
        books.packets += np.bincount(site, weights=alive > 0, minlength=length).astype(np.int64)
        books.sent += np.bincount(site, weights=alive, minlength=length).astype(np.int64)
        books.bytes += np.bincount(site, weights=alive * content, minlength=length)
        books.lost += np.bincount(site, weights=~arrived, minlength=length).astype(np.int64)
        reached: Booleans = arrived[number]
        books.tuples_lost += np.bincount(slot // span, weights=~reached, minlength=length).astype(np.int64)
        return reached


def _columns(held: dict[int, pl.DataFrame]) -> tuple[Integers, Integers, Integers, Integers, Integers]:
    """Site, period, kind and origin of all rows, kind after kind, and their places."""
    parts = [[rows.get_column(name).to_numpy() for rows in held.values()] for name in (SITE, PERIOD, ORIGIN)]
    site, period, origin = (np.concatenate(part) for part in parts)
    kind = np.repeat(list(held), [rows.height for rows in held.values()]).astype(np.int64)
    return site, period, kind, origin, np.arange(len(site))
