"""Clocks that run apart, and what a receiver does not hear of its children's slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.errors import ConfigurationError
from nilometer.kernels.arrays import Floats, Integers
from nilometer.sensornet.simulation.draws import uniform

MOST_DRIFT = 0.01
"""As a share; what has no crystal is not off by more, once calibrated."""

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

    def __post_init__(self) -> None:
        if not 0 <= self.drift <= MOST_DRIFT:
            raise ConfigurationError(
                f"no clock drifts by {self.drift * 1e6:g} ppm",
                detail="watch crystals are off by 20 to 100 ppm, oscillators without a crystal by up to 10,000",
                hint=f"give 0 to {MOST_DRIFT * 1e6:.0f}",
            )

    def check(self, interval: float, period: float) -> None:
        """Refuse clocks for which receivers would have to listen all the time. Both in seconds."""
        listening = self.listening(period)
        if listening > interval:
            apart = f"clocks that drift by {self.drift * 1e6:g} ppm are up to {self.needed_guard(period):.1f} s apart"
            raise ConfigurationError(
                "receivers would listen for longer than an acquisition interval",
                detail=(
                    f"{apart} after a period of {period:g} s"
                    if self.guard is None
                    else f"the guard is {self.guard:g} s"
                )
                + f"; listening before and after a slot takes {listening:.1f} s of {interval:g} s",
                hint="expect less drift, or let sites meet more often: an earlier delivery, a smaller buffering factor"
                if self.guard is None
                else "give a shorter guard",
            )

    def needed_guard(self, period: float) -> float:
        """Two clocks drift apart by at most this in a period of so many seconds."""
        return 2 * self.drift * period

    def listening(self, period: float) -> float:
        """How much longer a receiver listens for each slot, in seconds."""
        return 2 * (self.needed_guard(period) if self.guard is None else self.guard)

    def rates(self, seed: int, nodes: Integers) -> Floats:
        """By how much each clock is fast, as a share."""
        drawn: Floats = (2 * uniform(seed, np.full(len(nodes), _CLOCK), nodes) - 1) * self.drift
        return drawn

    def unheard(
        self, seed: int, nodes: Integers, parents: Integers, period: float, packet: float
    ) -> Integers:
        """How many sendings of each site's slot fall out of what its parent hears: positive ones at the beginning, negative at the
        end. `packet`: seconds that one takes."""
        early = (
            self.rates(seed, nodes) - self.rates(seed, parents)
        ) * period  # positive: the sender's clock is fast, it begins too early
        guard = self.needed_guard(period) if self.guard is None else self.guard
        outside = np.maximum(0.0, np.abs(early) - guard)
        return (np.sign(early) * np.ceil(outside / packet - 1e-9)).astype(np.int64)
