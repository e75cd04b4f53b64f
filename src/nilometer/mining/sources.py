"""Numbers 0, 1, ... for the sources of a stream, so that their state can stand in arrays.

>>> sources = Sources(pl.Int64())
>>> sources.numbers(pl.Series([7, 3, 7])).tolist(), sources.ids.to_list()
([0, 1, 0], [7, 3])
>>> sources.keep(np.array([False, True]))
... sources.ids.to_list()
[3]
"""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.kernels.arrays import Booleans, Integers
from nilometer.operators.logic import ID

MANY = 64
"""Fewer sources are never forgotten: it is not worth the work."""


class Sources:
    """The ids of the sources, in the order of their numbers."""

    def __init__(self, dtype: pl.DataType) -> None:
        self.ids = pl.Series(ID, [], dtype=dtype)

    def __len__(self) -> int:
        return len(self.ids)

    def numbers(self, ids: pl.Series) -> Integers:
        """The sources' numbers; new sources get new ones."""
        known = pl.DataFrame({ID: self.ids, "@number": pl.int_range(len(self.ids), eager=True)})
        found = ids.alias(ID).to_frame().join(known, on=ID, how="left", maintain_order="left")
        if found["@number"].null_count():
            new = found.filter(pl.col("@number").is_null())[ID].unique(maintain_order=True)
            self.ids = pl.concat([self.ids, new])
            return self.numbers(ids)
        return found["@number"].to_numpy()

    def keep(self, alive: Booleans) -> None:
        """Forget the others; numbers close up in their order."""
        self.ids = self.ids.filter(pl.Series(alive))

    def worth_forgetting(self, alive: Booleans) -> bool:
        """Whether so many sources are gone that the rest should be numbered anew."""
        return len(alive) > MANY and 2 * int(np.count_nonzero(alive)) < len(alive)
