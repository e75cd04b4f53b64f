"""A plume over a field: Gaussian puffs released at one edge, carried by the wind and widening on their way.

C(x, y, t) = background + sum of strength x (sigma0/sigma)^2 x exp(-d^2 / (2 sigma^2)), d the distance to the puff's
centre and sigma growing with the square root of its age (a Lagrangian puff model).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Floats, Integers
from nilometer.simulated.fields.generator import Generator, quantised
from nilometer.types import FLOAT, HOUR, SECOND, Column


@dataclass(frozen=True)
class MovingPlume(Generator):
    """`wind` in metres a second along x and y; a puff starts at `source` (parts of width and height) every `release`."""

    wind: tuple[float, float] = (0.5, 0.1)
    source: tuple[float, float] = (0.0, 0.4)
    release: int = HOUR
    strength: float = 100.0
    sigma: float = 80.0
    diffusion: float = 1.0
    background: float = 5.0
    noise: float = 0.25

    def columns(self) -> tuple[Column, ...]:
        return (Column("concentration", FLOAT, "ug/m3"),)

    def values(self, times: Integers, random: np.random.Generator) -> dict[str, npt.NDArray[np.generic]]:
        seconds = (times - self.start) / SECOND
        places = self.locations()
        reading = self.background + np.abs(random.normal(0.0, self.noise, times.shape))
        for begin in np.arange(0.0, self.duration / SECOND, self.release / SECOND):
            reading += self._puff(places, seconds - begin)
        return {"concentration": quantised(reading)}

    def _puff(self, places: Floats, age: Floats) -> Floats:
        x = self.source[0] * self.width + self.wind[0] * age
        y = self.source[1] * self.height + self.wind[1] * age
        variance = self.sigma**2 + 2 * self.diffusion * np.maximum(age, 0.0)
        squared = (places[:, 0] - x) ** 2 + (places[:, 1] - y) ** 2
        return np.where(
            age >= 0, self.strength * self.sigma**2 / variance * np.exp(-squared / (2 * variance)), 0.0
        )

    def center(self, time: int, puff: int = 0) -> tuple[float, float]:
        """Where a puff's centre is at a time: what a detector of phenomena should find."""
        age = (time - self.start - puff * self.release) / SECOND
        return (
            self.source[0] * self.width + self.wind[0] * age,
            self.source[1] * self.height + self.wind[1] * age,
        )
