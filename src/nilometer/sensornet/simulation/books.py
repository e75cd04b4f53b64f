"""What the radios of a network did: packets and bytes of every site, and what was lost on the way."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from nilometer.kernels.arrays import Floats, Integers
from nilometer.sensornet.simulation.slots import REASONS


@dataclass
class RadioBooks:
    """Sums over some periods, by site number. `packets` are different packets, `sent` all sendings of them; `bytes` those of all
    sendings, with what a packet holds besides tuples; `lost_by` packets that never arrived, [reason, site]; `tuples_lost` those in
    them; `acknowledged` the acknowledgements that a site sent, and `duplicates` the packets it got once more, and dropped."""

    packets: Integers
    sent: Integers
    bytes: Floats
    lost_by: Integers
    tuples_lost: Integers
    acknowledged: Integers
    duplicates: Integers

    @classmethod
    def empty(cls, sites: int) -> RadioBooks:
        """Nothing yet."""
        packets, sent, tuples, acknowledged, duplicates = (np.zeros(sites, dtype=np.int64) for _ in range(5))
        lost = np.zeros((len(REASONS), sites), dtype=np.int64)
        return cls(packets, sent, np.zeros(sites), lost, tuples, acknowledged, duplicates)

    @property
    def lost(self) -> Integers:
        """Packets that never arrived, for whatever reason."""
        found: Integers = self.lost_by.sum(axis=0)
        return found

    def add_at(self, rows: Integers, other: RadioBooks) -> None:
        """Count more periods, of a part of the sites: `rows` are their places here."""
        for entry in fields(self):
            getattr(self, entry.name)[..., rows] += getattr(other, entry.name)
