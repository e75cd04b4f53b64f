"""Clocks that run apart, and what a receiver does not hear of its children's slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.sensornet.sim.topology import Integers
from nilometer.sensornet.simulation.draws import uniform

_CLOCK = 2
"""What a draw is for; `slots.py` has others."""


@dataclass(frozen=True)
class Clocks:
    """Quartz crystals that are off by up to `drift` (1e-6 is one part in a million), each by its own share, drawn once.

    A site sets its clock by its parent's whenever they meet, once in a period. `guard` is how long, in seconds, a
    receiver listens before and after the slot; None: as long as it takes (`needed_guard`). Beyond the guard packets at the slot's
    beginning or end are not heard.
    """

    drift: float
    guard: float | None = None

    def needed_guard(self, period: float) -> float:
        """Two clocks drift apart by at most this in a period of so many seconds."""
        return 2 * self.drift * period

    def listening(self, period: float) -> float:
        """How much longer a receiver listens for each slot, in seconds."""
        return 2 * (self.needed_guard(period) if self.guard is None else self.guard)

    def unheard(
        self, seed: int, nodes: Integers, parents: Integers, period: float, packet: float
    ) -> Integers:
        """How many sendings of each site's slot fall out of what its parent hears: positive ones at the beginning, negative at the
        end. `packet`: seconds that one takes."""
        rates = (2 * uniform(seed, np.full(len(nodes), _CLOCK), nodes) - 1) * self.drift
        theirs = (2 * uniform(seed, np.full(len(nodes), _CLOCK), parents) - 1) * self.drift
        early = (rates - theirs) * period  # positive: the sender's clock is fast, it begins too early
        guard = self.needed_guard(period) if self.guard is None else self.guard
        outside = np.maximum(0.0, np.abs(early) - guard)
        return (np.sign(early) * np.ceil(outside / packet - 1e-9)).astype(np.int64)
