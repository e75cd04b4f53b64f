"""Discrete values by Zipf's law at exponential gaps, as in papers on joins (DHTJoin section 5: exponents 0.9
to 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.kernels.arrays import Floats, Integers
from nilometer.simulated.fields.generator import Generator
from nilometer.types import INT, Column


@dataclass(frozen=True)
class Zipf(Generator):
    """`value` in 1..`distinct`, the k-th with probability proportional to k^-exponent; `interval` is the mean gap."""

    exponent: float = 1.2
    distinct: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distinct < 1 or self.exponent < 0:
            raise ValueError("Zipf's law needs values and an exponent that is not negative")

    def columns(self) -> tuple[Column, ...]:
        return (Column("value", INT),)

    def probabilities(self) -> Floats:
        """The probabilities of the values 1, 2, 3 ..."""
        weights: Floats = np.arange(1, self.distinct + 1, dtype=np.float64) ** -self.exponent
        shares: Floats = weights / weights.sum()
        return shares

    def times(self, random: np.random.Generator) -> Integers:
        """Sorted arrival times of all sensors together, as one column."""
        # Given their number, the arrivals of a Poisson process are uniform, so no chain of gaps is needed.
        count = random.poisson(self.duration / self.interval * self.sensor_count)
        return self.start + np.sort(random.integers(0, max(1, self.duration), count))[:, None]

    def values(self, times: Integers, random: np.random.Generator) -> dict[str, npt.NDArray[np.generic]]:
        ranks = np.searchsorted(np.cumsum(self.probabilities()), random.random(times.shape), side="right")
        return {"value": np.minimum(ranks, self.distinct - 1).astype(np.int64) + 1}

    def calm_frame(self) -> pl.DataFrame:
        random = np.random.default_rng((self.seed, 0))
        times = self.times(random)
        identifiers = random.integers(1, self.sensor_count + 1, times.shape[0])
        values = {name: column.ravel() for name, column in self.values(times, random).items()}
        return pl.DataFrame({"time": times.ravel(), "id": identifiers, **values})
