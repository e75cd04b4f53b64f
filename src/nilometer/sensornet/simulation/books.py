"""What the radios of a network did: packets and bytes of every site, and what was lost on the way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.sensornet.sim.topology import Floats, Integers


@dataclass
class RadioBooks:
    """Sums over some periods, by site number. `packets` are different packets, `sent` all sendings of them; `bytes` those of all
    sendings, with what a packet holds besides tuples; `lost` packets that never arrived; `tuples_lost` those in them."""

    packets: Integers
    sent: Integers
    bytes: Floats
    lost: Integers
    tuples_lost: Integers

    @classmethod
    def empty(cls, sites: int) -> RadioBooks:
        """Nothing yet."""
        packets, sent, lost, tuples = (np.zeros(sites, dtype=np.int64) for _ in range(4))
        return cls(packets, sent, np.zeros(sites), lost, tuples)

    def add_at(self, rows: Integers, other: RadioBooks) -> None:
        """Count more periods, of a part of the sites: `rows` are their places here."""
        self.packets[rows] += other.packets
        self.sent[rows] += other.sent
        self.bytes[rows] += other.bytes
        self.lost[rows] += other.lost
        self.tuples_lost[rows] += other.tuples_lost
