"""The home of a tuple in a divided SIMILAR: the tuple is answered in one bucket and has copies where other
tuples may look for it.

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
    """The width of the stripes in which values within epsilon are looked for: twice the range that a
    tuple reaches, which is epsilon below and epsilon above it.
    """
    return 4 * epsilon


@dataclass(frozen=True)
class StripeHome:
    """One of several buckets to which stripes of this width are assigned."""

    width: float
    buckets: int
    bucket: int

    def __post_init__(self) -> None:
        require(self.width > 0 and 0 <= self.bucket < self.buckets, "no such bucket of stripes")

    def holds(self, values: pl.Series) -> npt.NDArray[np.bool_]:
        """A mask of the values that are at home here."""
        numbers = values.cast(pl.Float64).to_numpy()
        home: npt.NDArray[np.bool_] = buckets_of(stripes(numbers, self.width), self.buckets) == self.bucket
        return home
