"""The order of a stream's tuples: (time, id, position), or within a source (time, position), NULL first.

A derived stream (a union, a window's rows) has no positions; equal times are then put in order by the tuples' values, so
that an answer never depends on the order of arrival.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from nilometer.operators.logic import ID, POSITION, TIME


def stream_order(rows: pl.DataFrame, values: Sequence[str]) -> pl.DataFrame:
    """The rows by (time, id, position), and then by `values` where there is no position."""
    return rows.sort(TIME, ID, POSITION, *_ties(rows, values), maintain_order=True)


def source_order(rows: pl.DataFrame, values: Sequence[str]) -> pl.DataFrame:
    """The rows by (time, position), and then by `values` where there is no position."""
    return rows.sort(TIME, POSITION, *_ties(rows, values), maintain_order=True)


def _ties(rows: pl.DataFrame, values: Sequence[str]) -> list[str]:
    if not rows[POSITION].null_count():
        return []
    return [
        name for name in values if not isinstance(rows.schema[name], pl.List)
    ]  # lists have no order in Polars
