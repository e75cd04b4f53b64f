"""Readings -> the newest of each sensor: the one with the greatest time, and of equals the one that came last.

A column that the newest reading lacks keeps the value that it had before, because many sensors send their columns in
messages of their own.

>>> rows = pl.DataFrame({"@position": [0, 1], "id": [5, 5], "time": [20, 10], "depth": [None, 1.5]})
>>> merged(rows, "id", "time").rows()
[(0, 5, 20, 1.5)]
"""

from __future__ import annotations

import polars as pl

from nilometer.operators.logic import POSITION


def merged(rows: pl.DataFrame, identity: str, time: str) -> pl.DataFrame:
    """One row for each sensor, by position."""
    rows = rows.drop_nulls([identity, time]).sort(time, POSITION)
    values = [name for name in rows.columns if name not in (POSITION, identity, time)]
    lacking = [name for name in values if rows.get_column(name).null_count()]
    if lacking:
        rows = rows.with_columns(pl.col(lacking).forward_fill().over(identity))
    return rows.unique(subset=[identity], keep="last", maintain_order=True).sort(POSITION)
