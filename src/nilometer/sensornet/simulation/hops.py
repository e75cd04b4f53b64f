"""Rows at the sites of one depth -> the rows that reach the parents, hop by hop, packet by packet.

This module runs if something may be lost. If nothing can be, rows go straight to their targets, and packets
are only counted (`counting.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np
import polars as pl

from nilometer.kernels.arrays import Booleans, Floats, Integers
from nilometer.placement.acknowledgements import hop_of
from nilometer.sensornet.simulation.books import RadioBooks
from nilometer.sensornet.simulation.clocks import Clocks
from nilometer.sensornet.simulation.packing import pack, packet_head
from nilometer.sensornet.simulation.site_numbers import SiteNumbers
from nilometer.sensornet.simulation.site_rows import SITE
from nilometer.sensornet.simulation.slots import REASONS, Link, Packets, send

ORIGIN = "@origin"
"""The site where a row was made. Together with the fragment, it identifies the flow."""
PERIOD = "@period"
"""The number of a row's period, from the start of the run."""


@dataclass(frozen=True)
class Air:
    """The possible losses. `lossy`: links lose packets, by their quality. `silent`: for each site, the time
    in the period (ticks; -1: never) from which it is dead, in the periods being run."""

    seed: int
    lossy: bool = False
    clocks: Clocks | None = None
    silent: Integers | None = None

    @property
    def perfect(self) -> bool:
        """Whether nothing can be lost."""
        drifts = self.clocks is not None and self.clocks.guard is not None
        return not self.lossy and not drifts and self.silent is None


class Hops:
    """The hops of a placement, with some losses."""

    def __init__(self, numbers: SiteNumbers, air: Air) -> None:
        placement = numbers.placement
        agenda, network = placement.agenda, placement.network
        self._numbers = numbers
        self._air = air
        self._nodes = np.array([crc32(str(site).encode()) for site in numbers.sites], dtype=np.int64)
        self._forward: Floats = np.ones(len(numbers))
        self._backward: Floats = np.ones(len(numbers))
        for site, parent in placement.routing.parents.items():
            hop = hop_of(network, site, parent)
            self._forward[numbers.number[site]] = hop.forward
            self._backward[numbers.number[site]] = hop.backward
        self._cut: Booleans = np.zeros(len(numbers), dtype=np.bool_)
        if air.silent is not None:
            for transfer in agenda.transfers:
                ends = [air.silent[numbers.number[site]] for site in (transfer.source, transfer.target)]
                self._cut[numbers.number[transfer.source]] = any(0 <= end < transfer.end for end in ends)
        self._reserved = np.zeros(len(numbers), dtype=np.int64)
        for transfer in agenda.transfers:
            self._reserved[numbers.number[transfer.source]] = transfer.sendings
        self._unheard = self._out_of_step()

    def _out_of_step(self) -> Integers:
        numbers, clocks = self._numbers, self._air.clocks
        if clocks is None:
            return np.zeros(len(numbers), dtype=np.int64)
        costs, agenda = numbers.placement.costs, numbers.placement.agenda
        packet = (
            costs.send_packet + costs.between_packets + costs.transmit_byte * costs.packet_payload
        ) / 1000
        if numbers.placement.network.retries:
            packet += costs.await_acknowledgement / 1000
        parents = self._nodes[np.maximum(numbers.parent, 0)]
        return clocks.unheard(self._air.seed, self._nodes, parents, agenda.seconds(agenda.period), packet)

    def cross(self, held: dict[int, pl.DataFrame], books: RadioBooks) -> dict[int, pl.DataFrame]:
        """Of the rows of each kind at sites of one depth, returns those that arrive, now at the parents;
        updates the books."""
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
        """Which rows arrive. Each packet is drawn once."""
        starts = np.cumsum(packets) - packets
        number = starts[slot] + packet  # packet number over all slots
        total = int(packets.sum())
        slots = np.repeat(np.arange(len(packets)), packets)
        place = np.arange(total) - starts[slots]
        site, period = slots // span, slots % span + first
        cut, retries = self._cut[site], self._numbers.placement.network.retries
        outcome = send(
            self._air.seed,
            Packets(slots, place, self._nodes[site], period),
            Link(self._forward[site], self._backward[site], self._reserved[site], self._unheard[site], cut),
            retries,
            lossy=self._air.lossy,
        )
        arrived = outcome.heard > 0
        overhead = packet_head(self._numbers.placement)
        content = np.bincount(number, weights=sizes, minlength=total) + overhead
        alive = np.ones(
            total, dtype=np.bool_
        )  # a dead sender sends nothing; one whose parent is dead still tries
        if self._air.silent is not None:
            alive = ~((self._air.silent[site] >= 0) & cut)
        sent = np.where(alive, outcome.sent, 0)
        length = len(self._numbers)

        def count(where: Integers, what: Integers | Booleans) -> Integers:
            return np.bincount(where, weights=what, minlength=length).astype(np.int64)

        books.packets += count(site, alive)
        books.sent += count(site, sent)
        books.bytes += np.bincount(site, weights=sent * content, minlength=length)
        for reason in range(len(REASONS)):
            books.lost_by[reason] += count(site, ~arrived & (outcome.reason == reason))
        if retries:
            parent = self._numbers.parent[site]
            books.acknowledged += count(parent, outcome.heard)
            books.duplicates += count(parent, np.maximum(outcome.heard - 1, 0))
        reached: Booleans = arrived[number]
        books.tuples_lost += np.bincount(slot // span, weights=~reached, minlength=length).astype(np.int64)
        return reached


def _columns(held: dict[int, pl.DataFrame]) -> tuple[Integers, Integers, Integers, Integers, Integers]:
    """Site, period, kind and origin of all rows, kind after kind, and their places."""
    parts = [[rows.get_column(name).to_numpy() for rows in held.values()] for name in (SITE, PERIOD, ORIGIN)]
    site, period, origin = (np.concatenate(part) for part in parts)
    kind = np.repeat(list(held), [rows.height for rows in held.values()]).astype(np.int64)
    return site, period, kind, origin, np.arange(len(site))
