"""Gathering: a frame and row numbers -> the columns at those rows. A NULL number gives a row of NULLs.

The result is columns and not a frame, because a side of a join may have no visible column left, and a frame
without columns has no height. Number columns without a NULL are gathered by numpy, which is several times as
fast as Polars: Polars looks for NULLs and starts threads.

>>> [column.to_list() for column in gather(pl.DataFrame({"x": [10, 20]}), pl.Series([1, None, 0]))]
[[20, None, 10]]
"""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.kernels.arrays import Integers

_PLAIN = (pl.Int64(), pl.Float64())


def gather(frame: pl.DataFrame, places: Integers | pl.Series) -> list[pl.Series]:
    """Returns the frame's columns at these rows."""
    if not frame.width:
        return []
    if isinstance(places, pl.Series):
        if places.null_count():
            return frame.select(pl.all().gather(places)).get_columns()
        places = places.to_numpy().astype(np.int64, copy=False)
    return [gathered(column, places) for column in frame.get_columns()]


def gathered(column: pl.Series, places: Integers) -> pl.Series:
    """Returns the values at these places, all of which exist."""
    if column.dtype in _PLAIN and not column.null_count() and column.n_chunks() == 1:
        return pl.Series(column.name, column.to_numpy()[places])
    return column.gather(places)
