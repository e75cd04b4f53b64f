"""The functions of vectors as Polars expressions, computed by numpy over matrices: one row per vector.

A result with an element that is not finite is NULL as a whole. INT elements that do not fit 64 bits are found by
`overflows`, first by an estimate in doubles and then, where that is near the limit, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import polars as pl

from nilometer.expressions import Call, Literal, type_of
from nilometer.operators.evaluate.functions import Builder, full_length
from nilometer.operators.frames import dtype
from nilometer.operators.vectors import Matrix, matrix_of, vectors_of
from nilometer.types import INT_MAXIMUM, INT_MINIMUM, Kind

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "negative": np.negative,
    "float": lambda matrix: matrix.astype(np.float64),
}
_NEAR = 2.0**62


def _operand(column: pl.Series) -> tuple[Matrix, Any]:
    """A column as a matrix; one of numbers as a matrix of one column."""
    if isinstance(column.dtype, pl.Array):
        return matrix_of(column)
    known = column.is_not_null().to_numpy() if column.null_count() else None
    return column.fill_null(0).to_numpy().reshape(-1, 1), known


def _both(one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else one & other


def _of_matrices(function: Callable[..., Matrix], call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    """A numpy function of matrices; the result is NULL where one of them is."""
    wanted = dtype(call.type)

    def apply(columns: Sequence[pl.Series]) -> pl.Series:
        matrices, masks = zip(*map(_operand, columns), strict=True)
        with np.errstate(all="ignore"):
            found = function(*matrices)
        known = reduce(_both, masks)
        if found.ndim > 1:
            return vectors_of("", found, known).cast(wanted)
        column = pl.Series(found)
        return column if known is None else column.set(pl.Series(~known), None)

    inputs = [full_length(argument, e) for argument, e in zip(call.arguments, operands, strict=True)]
    return pl.map_batches(inputs, apply, return_dtype=wanted, is_elementwise=True)


def _element(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    vector, place = operands
    inside = (place >= 0) & (place < (type_of(call.arguments[0]).size or 0))
    return vector.arr.get(pl.when(inside).then(place), null_on_oob=True)


def _constant(call: Call, place: int) -> int:
    argument = call.arguments[place]
    assert isinstance(argument, Literal)
    return int(argument.value)


def _rebin(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    size, count = type_of(call.arguments[0]).size or 1, _constant(call, 1)
    starts = np.arange(0, size, count)
    return _of_matrices(lambda matrix, _: np.add.reduceat(matrix, starts, axis=1), call, operands)


def _slice(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    start, end = _constant(call, 1), _constant(call, 2)
    return _of_matrices(lambda matrix, *_: matrix[:, start:end], call, operands)


def _beside(*columns: Matrix) -> Matrix:
    found: Matrix = np.hstack(columns).astype(np.float64)
    return found


def _dot(one: Matrix, other: Matrix) -> Matrix:
    found: Matrix = np.einsum("ij,ij->i", one.astype(np.float64), other.astype(np.float64))
    return found


def _norm(matrix: Matrix) -> Matrix:
    found: Matrix = np.sqrt(_dot(matrix, matrix))
    return found


def _peaks(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    wanted = dtype(call.type)

    def apply(columns: Sequence[pl.Series]) -> pl.Series:
        from nilometer.kernels.peaks import peaks_of

        counts, known = matrix_of(columns[0])
        settings = [column.cast(pl.Float64) for column in columns[1:]]
        for setting in settings:
            if setting.null_count():
                known = _both(known, setting.is_not_null().to_numpy())
        rows = len(counts)
        given = [setting.fill_null(0.0).to_numpy() for setting in settings]
        given += [np.full(rows, value) for value in (5.0, 0.0)[len(given) - 2 :]]
        starts, found = peaks_of(np.ascontiguousarray(counts, dtype=np.float64), *given)
        fields = zip(("energy", "area", "sigma"), found.T, strict=True)
        flat = pl.DataFrame({name: np.ascontiguousarray(values) for name, values in fields})
        owner = np.repeat(np.arange(rows), np.diff(starts))
        listed = (
            pl.DataFrame({"owner": owner, "peak": flat.to_struct("peak")})
            .group_by("owner", maintain_order=True)
            .agg("peak")
        )
        every = pl.DataFrame({"owner": np.arange(rows)}).join(
            listed, on="owner", how="left", maintain_order="left"
        )
        column = every.get_column("peak").fill_null([]).cast(wanted)
        return column if known is None else column.set(pl.Series(~known), None)

    inputs = [full_length(argument, e) for argument, e in zip(call.arguments, operands, strict=True)]
    return pl.map_batches(inputs, apply, return_dtype=wanted, is_elementwise=True)


def _regrid(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    from nilometer.kernels.regrid import regrid

    bins, width = _constant(call, 3), float(call.arguments[4].value)  # type: ignore[attr-defined]

    def onto(counts: Matrix, e0: Matrix, gain: Matrix, *_: Matrix) -> Matrix:
        first, each = (
            np.broadcast_to(column.ravel().astype(np.float64), len(counts)).copy() for column in (e0, gain)
        )
        return np.asarray(regrid(np.ascontiguousarray(counts, dtype=np.float64), first, each, bins, width))

    return _of_matrices(onto, call, operands)


def _length(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    size = pl.lit(type_of(call.arguments[0]).size, dtype=pl.Int64)
    return pl.when(operands[0].is_not_null()).then(size)


def elementwise(call: Call) -> Builder | None:
    """The builder of an operator, or of LENGTH, one of whose operands is a vector; None if none is."""
    if not any(type_of(argument).kind is Kind.VECTOR for argument in call.arguments):
        return None
    if call.function == "length":
        return _length
    function = _ARITHMETIC.get(call.function)
    return None if function is None else lambda call, operands: _of_matrices(function, call, operands)


VECTORS: dict[str, Builder] = {
    "vector": lambda call, operands: _of_matrices(_beside, call, operands),
    "element": _element,
    "dot": lambda call, operands: _of_matrices(_dot, call, operands),
    "norm": lambda call, operands: _of_matrices(_norm, call, operands),
    "rebin": _rebin,
    "slice": _slice,
    "regrid": _regrid,
    "peaks": _peaks,
}


# ---- overflow --------------------------------------------------------------------------------------------------------


def overflows(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr | None:
    """Where an element of an INT vector does not fit 64 bits; None if the call gives no such vector."""
    element = call.type.element
    if call.type.kind is not Kind.VECTOR or element is None or element.kind is not Kind.INT:
        return None
    if call.function == "rebin":
        starts = np.arange(0, type_of(call.arguments[0]).size or 1, _constant(call, 1))

        def exact(matrix: Matrix, *_: Matrix) -> Matrix:
            return np.asarray(np.add.reduceat(matrix, starts, axis=1))
    elif call.function in ("+", "-", "*", "negative"):
        exact = _ARITHMETIC[call.function]
    else:
        return None

    def apply(columns: Sequence[pl.Series]) -> pl.Series:
        matrices = [_operand(column)[0] for column in columns]
        estimate = np.abs(exact(*(matrix.astype(np.float64) for matrix in matrices)))
        near = np.flatnonzero((estimate >= _NEAR).any(axis=1))
        happens = np.zeros(len(estimate), dtype=bool)
        if len(near):
            whole = exact(*(matrix[near if len(matrix) > 1 else [0]].astype(object) for matrix in matrices))
            happens[near] = ((whole > INT_MAXIMUM) | (whole < INT_MINIMUM)).any(axis=1)
        return pl.Series(happens)

    known = reduce(pl.Expr.and_, (operand.is_not_null() for operand in operands))
    inputs = [full_length(argument, e) for argument, e in zip(call.arguments, operands, strict=True)]
    return known & pl.map_batches(inputs, apply, return_dtype=pl.Boolean(), is_elementwise=True)
