"""A random walk per sensor between two reflecting walls: the hardest ordinary stream for a threshold or a filter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Floats, Integers
from nilometer.simulated.fields.generator import Generator, quantised
from nilometer.types import FLOAT, Column


@dataclass(frozen=True)
class RandomWalk(Generator):
    """`value` moves by a normal step each interval, between `low` and `high`."""

    low: float = 0.0
    high: float = 100.0
    step: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low < self.high:
            raise ValueError("a random walk needs low < high")

    def columns(self) -> tuple[Column, ...]:
        return (Column("value", FLOAT),)

    def values(self, times: Integers, random: np.random.Generator) -> dict[str, npt.NDArray[np.generic]]:
        steps = random.normal(0.0, self.step, times.shape)
        if len(steps):
            steps[0] = random.uniform(self.low, self.high, self.sensor_count)
        return {"value": quantised(self._reflected(np.cumsum(steps, axis=0)))}

    def _reflected(self, free: Floats) -> Floats:
        """Fold the free walk back between the walls: a walk between mirrors is a free walk seen in them."""
        room = self.high - self.low
        folded = np.mod(free - self.low, 2 * room)
        return self.low + np.where(folded > room, 2 * room - folded, folded)
