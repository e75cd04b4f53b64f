"""Partial aggregates of vectors: the kernels of `entries` and `sliding`, element by element.

The partials of a vector of n elements are a matrix with one row per element and one column per entry; those of a sum
of FLOATs have two rows per element, (high, low). Each row is contiguous, so an element is aggregated exactly as a
column of numbers is. One call serves all elements.

>>> reduce_vectors(
...     0, np.float64(0.0), np.array([0, 1, 0]), np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]), 2
... )
array([[ 4.,  2.],
       [40., 20.]])
"""

from __future__ import annotations

import numba
import numpy as np

from nilometer.kernels.entries import reduce_rows, reduce_sums, sum_rows
from nilometer.kernels.sliding import rebuild, rebuild_sums, slide, slide_sums


@numba.njit(cache=True)
def reduce_vectors(operation, identity, entry_of, values, count):  # type: ignore[no-untyped-def]
    """As `reduce_rows`, for each row of the matrix."""
    results = np.empty((values.shape[0], count), dtype=values.dtype)
    for element in range(values.shape[0]):
        results[element] = reduce_rows(operation, identity, entry_of, values[element], count)
    return results


@numba.njit(cache=True)
def sum_vectors(entry_of, values, count):  # type: ignore[no-untyped-def]
    """As `sum_rows`: one row per element in, two out."""
    results = np.empty((2 * values.shape[0], count), dtype=np.float64)
    for element in range(values.shape[0]):
        results[2 * element : 2 * element + 2] = sum_rows(entry_of, values[element], count)
    return results


@numba.njit(cache=True)
def reduce_vector_sums(entry_of, values, count):  # type: ignore[no-untyped-def]
    """As `reduce_sums`, for each pair of rows."""
    results = np.empty((values.shape[0], count), dtype=np.float64)
    for row in range(0, values.shape[0], 2):
        results[row : row + 2] = reduce_sums(entry_of, values[row : row + 2], count)
    return results


@numba.njit(cache=True)
def slide_vectors(  # type: ignore[no-untyped-def]
    operation,
    identity,
    taken,
    left,
    groups,
    values,
    nexts,
    front,
    back,
    first,
    pivot,
    last,
    ends,
    answered,
):
    """As `slide`, for each row of the matrices."""
    results = np.empty((values.shape[0], len(answered)), dtype=values.dtype)
    for element in range(values.shape[0]):
        results[element] = slide(
            operation,
            identity,
            taken,
            left,
            groups,
            values[element],
            nexts[element],
            front[element],
            back[element],
            first,
            pivot,
            last,
            ends,
            answered,
        )
    return results


@numba.njit(cache=True)
def slide_vector_sums(  # type: ignore[no-untyped-def]
    taken, left, groups, values, nexts, front, back, first, pivot, last, ends, answered
):
    """As `slide_sums`, for each pair of rows."""
    results = np.empty((values.shape[0], len(answered)), dtype=np.float64)
    for row in range(0, values.shape[0], 2):
        both = slice(row, row + 2)
        results[both] = slide_sums(
            taken,
            left,
            groups,
            values[both],
            nexts[both],
            front[both],
            back[both],
            first,
            pivot,
            last,
            ends,
            answered,
        )
    return results


@numba.njit(cache=True)
def rebuild_vectors(operation, groups, values, nexts, front, back, first, pivot, last):  # type: ignore[no-untyped-def]
    """As `rebuild`, for each row of the matrices."""
    for element in range(values.shape[0]):
        rebuild(
            operation,
            groups,
            values[element],
            nexts[element],
            front[element],
            back[element],
            first,
            pivot,
            last,
        )


@numba.njit(cache=True)
def rebuild_vector_sums(groups, values, nexts, front, back, first, pivot, last):  # type: ignore[no-untyped-def]
    """As `rebuild_sums`, for each pair of rows."""
    for row in range(0, values.shape[0], 2):
        both = slice(row, row + 2)
        rebuild_sums(groups, values[both], nexts[both], front[both], back[both], first, pivot, last)
