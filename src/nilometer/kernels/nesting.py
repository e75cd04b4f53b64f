"""Nests flat values by offsets into a column of lists, without touching a value.

>>> nested(pl.Series("times", [1, 2, 3]), np.array([0, 2, 2, 3])).to_list()
[[1, 2], [], [3]]
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl


def nested(values: pl.Series, offsets: npt.NDArray[np.int64]) -> pl.Series:
    """List i holds values[offsets[i]:offsets[i + 1]]."""
    import pyarrow as pa  # imported late: it loads more slowly than all kernels, and few queries return lists

    lists = pa.LargeListArray.from_arrays(pa.array(offsets, type=pa.int64()), values.to_arrow())
    series = pl.Series(values.name, lists)
    return series.cast(pl.List(values.dtype))
