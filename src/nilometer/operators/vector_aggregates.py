"""SUM, AVG, MIN and MAX of vectors in groups of rows, element by element (`aggregate_items` for vectors).

Polars groups the numbers of the rows, and a kernel aggregates the vectors with these numbers: no list of numbers is
ever made of a vector.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.kernels.vector_partials import reduce_vectors, sum_vectors
from nilometer.operators.vectors import Mask, Matrix, matrix_of, vectors_of
from nilometer.types import INT_MAXIMUM

ROW = "@row number"
"""The column that numbers the rows before they are grouped."""
FUNCTIONS = frozenset({"sum", "avg", "min", "max"})

_HALF = 32
_LOWER = (1 << _HALF) - 1


def grouped_vectors(function: str, column: pl.Series, rows: pl.Series) -> tuple[pl.Series, pl.Series | None]:
    """The aggregate of the vectors in each list of row numbers; NULL of an empty list. The second column tells the
    groups whose SUM of INTs does not fit, None if all do."""
    lengths = rows.list.len().to_numpy().astype(np.int64)
    order = rows.filter(pl.Series(lengths > 0)).explode().to_numpy().astype(np.int64)
    entry_of = np.repeat(np.arange(len(lengths)), lengths)
    values = np.ascontiguousarray(matrix_of(column)[0][order].T)
    found, outside = _reduced(function, entry_of, values, lengths)
    name = rows.name
    return vectors_of(name, found.T, lengths > 0), None if outside is None else pl.Series(outside)


def _reduced(function: str, entry_of: Matrix, values: Matrix, lengths: Matrix) -> tuple[Matrix, Mask | None]:
    groups = len(lengths)
    whole = values.dtype == np.int64
    if function in ("min", "max"):
        operation = 1 if function == "min" else 2
        identity = values.dtype.type(0)
        if values.size:
            identity = values.max() if function == "min" else values.min()
        return reduce_vectors(operation, identity, entry_of, values, groups), None
    counts = np.maximum(lengths, 1)
    if not whole:
        total = sum_vectors(entry_of, values, groups)[0::2]
        return (total / counts if function == "avg" else total), None
    high, low = (
        reduce_vectors(0, np.int64(0), entry_of, half, groups) for half in (values >> _HALF, values & _LOWER)
    )
    if function == "avg":
        return (high * float(1 << _HALF) + low) / counts, None
    high = high + (low >> _HALF)
    limit = INT_MAXIMUM >> _HALF
    outside = ((high > limit) | (high < -limit - 1)).any(axis=0)
    return (high << _HALF) | (low & _LOWER), outside if outside.any() else None
