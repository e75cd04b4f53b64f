"""The radio counters of a network: packets and bytes of every site, and the losses on the way."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from nilometer.kernels.arrays import Floats, Integers
from nilometer.sensornet.simulation.slots import REASONS


@dataclass
class RadioBooks:
    """Sums over some periods, by site number. `packets` counts distinct packets, `sent` all their
    transmissions; `bytes` is the size of all transmissions, including the part of a packet that is not
    tuples. `lost_by` counts packets that never arrived, [reason, site]; `tuples_lost` the tuples in them.
    `acknowledged` counts the acknowledgements that a site sent, and `duplicates` the packets that it received
    again and dropped."""

    packets: Integers
    sent: Integers
    bytes: Floats
    lost_by: Integers
    tuples_lost: Integers
    acknowledged: Integers
    duplicates: Integers

    @classmethod
    def empty(cls, sites: int) -> RadioBooks:
        """Books in which nothing is counted yet."""
        packets, sent, tuples, acknowledged, duplicates = (np.zeros(sites, dtype=np.int64) for _ in range(5))
        lost = np.zeros((len(REASONS), sites), dtype=np.int64)
        return cls(packets, sent, np.zeros(sites), lost, tuples, acknowledged, duplicates)

    @property
    def lost(self) -> Integers:
        """Packets that never arrived, for any reason."""
        found: Integers = self.lost_by.sum(axis=0)
        return found

    def add_at(self, rows: Integers, other: RadioBooks) -> None:
        """Add more periods of some of the sites; `rows` are their places here."""
        for entry in fields(self):
            getattr(self, entry.name)[..., rows] += getattr(other, entry.name)
