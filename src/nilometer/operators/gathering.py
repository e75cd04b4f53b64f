"""Gathering: a frame and row numbers -> the columns at those rows; a NULL number gives a row of NULLs.

Columns, not a frame: a side of a join may have no visible column left, and a frame without columns has no height.
"""

from __future__ import annotations

import polars as pl

from nilometer.kernels.ranges import Integers


def gather(frame: pl.DataFrame, places: Integers | pl.Series) -> list[pl.Series]:
    """The frame's columns, at these rows."""
    if not frame.width:
        return []
    if isinstance(places, pl.Series):
        return frame.select(pl.all().gather(places)).get_columns()
    return frame[places].get_columns()
