"""A plume over a field: Gaussian puffs released at one edge, which the wind carries and which widen on their
way.

C(x, y, t) = background + sum of strength x (sigma0/sigma)^2 x exp(-d^2 / (2 sigma^2)), where d is the
distance to the puff's centre and sigma grows with the square root of its age (a Lagrangian puff model).
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
    """`wind` is in metres per second along x and y. A puff starts at `source` (shares of width and height)
    every `release`. With `mirrored`, so does a second one on the other side of the field's middle line (along x): if the
    wind drives the one towards the line, the two meet there, and part again."""

    wind: tuple[float, float] = (0.5, 0.1)
    source: tuple[float, float] = (0.0, 0.4)
    release: int = HOUR
    strength: float = 100.0
    sigma: float = 80.0
    diffusion: float = 1.0
    background: float = 5.0
    noise: float = 0.25
    mirrored: bool = False

    def columns(self) -> tuple[Column, ...]:
        return (Column("concentration", FLOAT, "ug/m3"),)

    def values(self, times: Integers, random: np.random.Generator) -> dict[str, npt.NDArray[np.generic]]:
        seconds = (times - self.start) / SECOND
        places = self.locations()
        reading = self.background + np.abs(random.normal(0.0, self.noise, times.shape))
        for begin in np.arange(0.0, self.duration / SECOND, self.release / SECOND):
            reading += self._puff(places, seconds - begin)
            if self.mirrored:
                reading += self._puff(places * (1.0, -1.0) + (0.0, self.height), seconds - begin)
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
        """The position of a puff's centre at a time, which a detector of phenomena should find."""
        age = (time - self.start - puff * self.release) / SECOND
        return (
            self.source[0] * self.width + self.wind[0] * age,
            self.source[1] * self.height + self.wind[1] * age,
        )
