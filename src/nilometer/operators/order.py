"""The order of a stream's tuples: (time, id, position), or within a source (time, position), NULL first.

A derived stream (a union, a window's rows) has no positions. There, the tuples' values order tuples of equal
times, so that an answer never depends on the order of arrival.

>>> tags = {"@time": [5, 3, 5, 3], ID: [2, 1, 1, 1], POSITION: [0, 3, 2, 1]}
>>> stream_order(pl.DataFrame({"@tick": [5, 3, 5, 3]} | tags), []).select(TIME, ID, POSITION).rows()
[(3, 1, 1), (3, 1, 3), (5, 1, 2), (5, 2, 0)]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from nilometer.kernels.stable_order import stable_order
from nilometer.operators.gathering import gather
from nilometer.operators.logic import ID, POSITION, TIME


def stream_order(rows: pl.DataFrame, values: Sequence[str]) -> pl.DataFrame:
    """Sorts the rows by (time, id, position), and then by `values` where there is no position."""
    return in_time(rows, [ID, POSITION, *_ties(rows, values)])


def source_order(rows: pl.DataFrame, values: Sequence[str]) -> pl.DataFrame:
    """Sorts the rows by (time, position), and then by `values` where there is no position."""
    return in_time(rows, [POSITION, *_ties(rows, values)])


def in_time(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Sorts the rows by time and then by these columns, NULLs first. A fast numeric sort
    orders the times. The slower sort by several columns runs only among rows of equal time.
    """
    order = stable_order(rows[TIME].to_numpy())
    times = rows[TIME].to_numpy()[order]
    equal = times[1:] == times[:-1]
    if equal.any():
        tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
        some = pl.DataFrame(gather(rows.select(TIME, *columns), order[tied])).with_row_index("@row")
        order[tied] = order[tied][some.sort(TIME, *columns, maintain_order=True)["@row"].to_numpy()]
    return pl.DataFrame(gather(rows, order))


def _ties(rows: pl.DataFrame, values: Sequence[str]) -> list[str]:
    if not rows[POSITION].null_count():
        return []
    return [
        name for name in values if not isinstance(rows.schema[name], pl.List)
    ]  # lists have no order in Polars
