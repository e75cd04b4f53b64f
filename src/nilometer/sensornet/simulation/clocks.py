"""Clocks that drift apart, and the packets of its children's slots that a receiver therefore misses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.errors import ConfigurationError
from nilometer.kernels.arrays import Floats, Integers
from nilometer.sensornet.simulation.draws import uniform

MOST_DRIFT = 0.01
"""The greatest drift, as a share. Even a clock without a crystal is not off by more, once calibrated."""

_CLOCK = 2
"""The purpose of a draw; `slots.py` has others."""


@dataclass(frozen=True)
class Clocks:
    """Quartz crystals that are off by up to `drift` (1e-6 is one part in a million), each by its own share,
    drawn once.

    A site sets its clock by its parent's whenever they meet, once in a period. `guard` is how long, in
    seconds, a receiver listens before and after the slot; None: as long as necessary (`needed_guard`). If
    clocks differ by more than the guard, packets at the start or end of the slot are not heard.
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
        """Refuse clocks for which receivers would have to listen all the time. Both times are in seconds."""
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
        """The most by which two clocks drift apart in a period of that many seconds."""
        return 2 * self.drift * period

    def listening(self, period: float) -> float:
        """How much longer a receiver listens for each slot, in seconds."""
        return 2 * (self.needed_guard(period) if self.guard is None else self.guard)

    def rates(self, seed: int, nodes: Integers) -> Floats:
        """The share by which each clock is fast."""
        drawn: Floats = (2 * uniform(seed, np.full(len(nodes), _CLOCK), nodes) - 1) * self.drift
        return drawn

    def unheard(
        self, seed: int, nodes: Integers, parents: Integers, period: float, packet: float
    ) -> Integers:
        """How many transmissions of each site's slot its parent does not hear: positive at the start of the
        slot, negative at the end. `packet`: seconds per transmission."""
        early = (
            self.rates(seed, nodes) - self.rates(seed, parents)
        ) * period  # positive: the sender's clock is fast, so it starts too early
        guard = self.needed_guard(period) if self.guard is None else self.guard
        outside = np.maximum(0.0, np.abs(early) - guard)
        return (np.sign(early) * np.ceil(outside / packet - 1e-9)).astype(np.int64)
