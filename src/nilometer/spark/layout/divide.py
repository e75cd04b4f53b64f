"""Divides rows among buckets by the hash of their keys. The hash is the same on every machine and in every
version.

Values that are equal in the language have one hash: an INT and a FLOAT of the same value, 0.0 and -0.0, NULL
and NULL. The law: rows with equal keys go to one bucket, whichever columns and fragments they come from; each
bucket's rows keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.errors import DataError
from nilometer.expressions import Expression, type_of
from nilometer.operators.evaluate.evaluate import Evaluator, compile_expression
from nilometer.operators.frames import dtype
from nilometer.operators.value_hashes import hashes_of_rows
from nilometer.spark.layout.grid import Grid
from nilometer.spark.layout.stripes import Stripes


def divide(
    rows: pl.DataFrame, keys: Sequence[Expression], buckets: int, copying: Stripes | Grid | None = None
) -> list[tuple[int, pl.DataFrame]]:
    """The buckets that get rows, ascending, each with its rows. Without keys, bucket 0 gets them all. With
    stripes or a grid, a row may be in several buckets.
    """
    if not rows.height:
        return []
    if buckets == 1 or not keys:
        return [(0, rows)]
    from nilometer.kernels.stable_hash import in_buckets

    order: npt.NDArray[Any]
    values = [_values(rows, key) for key in keys]
    match copying:
        case None:
            order, starts = in_buckets(hashes_of_rows(values), buckets)
        case Stripes():
            order, starts = copying.spread(values[0], buckets)
        case Grid():
            order, starts = copying.spread(values, buckets)
    filled = np.flatnonzero(np.diff(starts))
    if len(filled) == 1:
        return [(int(filled[0]), rows)]
    ordered = rows.select(pl.all().gather(pl.Series(order)))
    return [(int(b), ordered[int(starts[b]) : int(starts[b + 1])]) for b in filled]


def _values(rows: pl.DataFrame, key: Expression) -> pl.Series:
    values = _evaluated(rows, compile_expression(key), dtype(type_of(key)))
    return values.new_from_index(0, rows.height) if len(values) == 1 < rows.height else values


def _evaluated(rows: pl.DataFrame, key: Evaluator, kind: pl.DataType) -> pl.Series:
    """The key of each row, NULL if it is an error. The key may be evaluated here for rows for which the plan
    never evaluates it, because a condition above drops them. If the plan does evaluate it, the error is
    raised there.
    """
    try:
        return key(rows)
    except DataError:
        if rows.height == 1:
            return pl.Series([None], dtype=kind)
        half = rows.height // 2
        return pl.concat([_evaluated(part, key, kind) for part in (rows[:half], rows[half:])])
