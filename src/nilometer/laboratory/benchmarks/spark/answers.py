"""Compares two answers as bags of rows, with numbers equal up to 1e-9."""

from __future__ import annotations

import numpy as np
import polars as pl

TOLERANCE = 1e-9


def before(answer: pl.DataFrame, sentinel: int) -> pl.DataFrame:
    """The answer without the rows of the sentinel: whether its own windows are answered depends on how a log
    ends."""
    return answer.filter(pl.col("tick" if "tick" in answer.columns else "time") < sentinel)


def difference(ours: pl.DataFrame, theirs: pl.DataFrame) -> str | None:
    """The first difference; None if the answers are equal."""
    if set(ours.columns) != set(theirs.columns):
        return f"columns {sorted(ours.columns)} and {sorted(theirs.columns)}"
    if ours.height != theirs.height:
        return f"{ours.height:,} and {theirs.height:,} rows"
    # Sort by integers first: two rows that are equal except for rounding must not swap places.
    order = sorted(ours.columns, key=lambda name: (ours.schema[name].is_float(), name))
    one = ours.select(order).sort(order)
    other = theirs.select(pl.col(name).cast(ours.schema[name]) for name in order).sort(order)
    for name in order:
        a, b = one[name], other[name]
        if not bool((a.is_null() == b.is_null()).all()):
            return f"{name}: NULL in different rows"
        if not ours.schema[name].is_float():
            if not a.equals(b):
                return f"{name}: different values"
        elif not np.allclose(a.fill_null(0).to_numpy(), b.fill_null(0).to_numpy(), TOLERANCE, TOLERANCE):
            return f"{name}: different beyond {TOLERANCE:g}"
    return None
