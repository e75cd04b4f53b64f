"""The last row of each source at each of some moments, and the rows that later moments can still show.

>>> rows = pl.DataFrame({ID: [1, 2, 1], "at": [3, 4, 9], "x": [30, 40, 90]})
>>> last_at(rows, "at", pl.Series([2, 5, 9])).select(MOMENT, ID, "x").rows()
[(5, 1, 30), (5, 2, 40), (9, 1, 90), (9, 2, 40)]
>>> still_needed(rows, "at", 8).rows()
[(1, 3, 30), (2, 4, 40), (1, 9, 90)]
"""

from __future__ import annotations

import polars as pl

from nilometer.operators.limits import check_built
from nilometer.operators.logic import ID
from nilometer.types import INT_MAXIMUM

MOMENT = "@moment"


def last_at(rows: pl.DataFrame, by: str, moments: pl.Series) -> pl.DataFrame:
    """For each moment and source, the last row whose `by` is not above the moment. Rows are sorted by `by`."""
    sources = rows.select(pl.col(ID).unique(maintain_order=True))
    check_built(sources.height * len(moments), rows.width + 1)
    wanted = pl.DataFrame({MOMENT: moments.cast(pl.Int64)}).join(sources, how="cross", maintain_order="left")
    right = rows.with_columns(pl.col(by).alias("@found"))
    found = wanted.join_asof(
        right,
        left_on=MOMENT,
        right_on="@found",
        by=ID,
        strategy="backward",
        coalesce=False,
        check_sortedness=False,
    )
    return found.filter(pl.col("@found").is_not_null()).drop("@found")


def still_needed(rows: pl.DataFrame, by: str, following: int) -> pl.DataFrame:
    """The rows that a moment from `following` on may show: all but those that a later one has replaced by then."""
    later = pl.col(by).shift(-1).over(ID)
    return rows.filter(later.is_null() | (later > min(following, INT_MAXIMUM)))
