"""Vectors: columns of Polars' Array <-> matrices of numpy, one row per vector.

A vector has no missing elements: it is NULL as a whole. A matrix has zeros where a vector is NULL, and `known` says
which are not (None: all are there).

>>> matrix, known = matrix_of(pl.Series([[1.0, 2.0], None], dtype=pl.Array(pl.Float64, 2)))
>>> matrix.tolist(), known.tolist()
([[1.0, 2.0], [0.0, 0.0]], [True, False])
>>> vectors_of("v", matrix, known).to_list()
[[1.0, 2.0], None]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Matrix = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


def matrix_of(column: pl.Series) -> tuple[Matrix, Mask | None]:
    """The vectors as rows of a matrix, and which of them are not NULL."""
    assert isinstance(column.dtype, pl.Array)
    size = column.dtype.size
    missing = column.null_count()
    known = column.is_not_null().to_numpy() if missing else None
    flat = column.reshape((-1,))
    flat = flat.fill_null(0) if missing else flat
    return flat.to_numpy().reshape(len(column), size), known


def vectors_of(name: str, matrix: Matrix, known: Mask | None = None) -> pl.Series:
    """A column of vectors. It is NULL outside of the mask, and where an element is not a finite number."""
    if matrix.dtype == np.float64:
        finite: Mask = np.asarray(np.isfinite(matrix).all(axis=1))
        if not finite.all():
            known = finite if known is None else known & finite
    rows, size = matrix.shape
    element = pl.Float64() if matrix.dtype == np.float64 else pl.Int64()
    flat = pl.Series(name, np.ascontiguousarray(matrix).reshape(-1), dtype=element)
    column = flat.reshape((rows, size)) if rows else pl.Series(name, [], dtype=pl.Array(element, size))
    if known is None or known.all():
        return column
    return pl.select(pl.when(pl.Series(known)).then(column).alias(name)).to_series()
