"""Where a tuple of a divided SIMILAR is at home: it answers in one bucket, and has copies where others may look for it.

>>> home = StripeHome(stripe_width(1.0), 2, 0)
>>> other = StripeHome(stripe_width(1.0), 2, 1)
>>> values = pl.Series([0.0, 10.0, 20.0, 30.0])
>>> (home.holds(values) ^ other.holds(values)).tolist()  # each is at home in one of them
[True, True, True, True]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.kernels.stripes import buckets_of, stripes
from nilometer.operators.validation import require


def stripe_width(epsilon: float) -> float:
    """Of stripes in which values within epsilon are looked for: twice as far as a tuple reaches, below and above it."""
    return 4 * epsilon


@dataclass(frozen=True)
class StripeHome:
    """One of so many buckets, to which stripes of this width go."""

    width: float
    buckets: int
    bucket: int

    def __post_init__(self) -> None:
        require(self.width > 0 and 0 <= self.bucket < self.buckets, "no such bucket of stripes")

    def holds(self, values: pl.Series) -> npt.NDArray[np.bool_]:
        """Which of the values are at home here."""
        numbers = values.cast(pl.Float64).to_numpy()
        home: npt.NDArray[np.bool_] = buckets_of(stripes(numbers, self.width), self.buckets) == self.bucket
        return home
