"""CLASSIFY as a Polars expression: (model, vector) -> label, confidence, second label and margin, by a kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import polars as pl

from nilometer.algebra.conversion_errors import place_of
from nilometer.algebra.models import NONE, Model, read_model, wrong_length
from nilometer.errors import DataError
from nilometer.expressions import Call, type_of
from nilometer.operators.evaluate.functions import Builder, full_length
from nilometer.operators.frames import dtype
from nilometer.operators.vectors import Matrix, matrix_of


def classified(text: str, matrix: Matrix) -> Matrix:
    """The class, confidence, second class and margin of each row of the matrix."""
    from nilometer.kernels import classification

    model = read_model(text)
    if matrix.shape[1] != model.size:
        raise wrong_length(model, matrix.shape[1])
    kind, arrays = _arrays(text)
    above = math.inf if model.above is None else model.above
    numbers = np.ascontiguousarray(matrix, dtype=np.float64)
    labels = len(model.labels)
    if kind == "tree":
        names = ("feature", "threshold", "left", "right", "shares")
        found = classification.tree(numbers, *(arrays[name] for name in names))
    elif kind == "nearest":
        found = classification.nearest(
            numbers, arrays["vectors"], arrays["classes"], labels, model.count, above
        )
    else:
        found = classification.clusters(
            numbers, arrays["vectors"], arrays["classes"], labels, arrays["purity"], above
        )
    if NONE in model.labels:
        found[0][found[0] == model.labels.index(NONE)] = -1
    return np.asarray(found)


@lru_cache(maxsize=32)
def _arrays(text: str) -> tuple[str, dict[str, Any]]:
    """The arrays of a model, made once for each text."""
    model: Model = read_model(text)
    whole = ("feature", "left", "right", "classes")
    kinds = {name: np.int64 if name in whole else np.float64 for name in model.arrays}
    return model.kind, {name: np.array(values, dtype=kinds[name]) for name, values in model.arrays.items()}


def _classify(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    wanted = dtype(call.type)

    def apply(columns: Sequence[pl.Series]) -> pl.Series:
        texts, vectors = columns
        present = (texts.is_not_null() & vectors.is_not_null()).to_numpy().copy()
        matrix, _ = matrix_of(vectors)
        found = np.full((4, len(matrix)), np.nan)
        labels = np.full((2, len(matrix)), None, dtype=object)
        for text in texts.filter(pl.Series(present)).unique().to_list():
            rows = np.flatnonzero(present & (texts == text).fill_null(False).to_numpy())
            if read_model(text).size != matrix.shape[1]:
                present[rows] = False  # a check of its own finds them: Unfit
                continue
            found[:, rows] = classified(text, matrix[rows])
            names = np.array([*read_model(text).labels, None], dtype=object)  # the last one is that of -1
            labels[:, rows] = names[found[(0, 2), :][:, rows].astype(np.int64)]
        fields = {
            "label": pl.Series(labels[0].tolist(), dtype=pl.String),
            "confidence": pl.Series(found[1]),
            "second": pl.Series(labels[1].tolist(), dtype=pl.String),
            "margin": pl.Series(found[3]),
        }
        column = pl.DataFrame(fields).to_struct("").cast(wanted)
        return pl.select(pl.when(pl.Series(present)).then(column)).to_series()

    inputs = [full_length(argument, e) for argument, e in zip(call.arguments, operands, strict=True)]
    return pl.map_batches(inputs, apply, return_dtype=wanted, is_elementwise=True)


@dataclass(frozen=True)
class Unfit:
    """Vectors that are not of the length that a model takes, in rows for which the guards are true."""

    call: Call
    operands: tuple[pl.Expr, ...]
    guards: tuple[pl.Expr, ...]

    def failing(self, frame: pl.DataFrame) -> Iterator[tuple[pl.Series, DataError]]:
        """The rows with such vectors, by model."""
        size = type_of(self.call.arguments[1]).size
        if frame.height == 0 or size is None:
            return
        text, vector = self.operands
        needed = reduce(pl.Expr.and_, self.guards, vector.is_not_null())
        columns = frame.with_columns(text.alias("@model"), needed.alias("@needed"))
        texts, wanted = columns.get_column("@model"), columns.get_column("@needed")
        for one in texts.filter(wanted).drop_nulls().unique(maintain_order=True).to_list():
            model = read_model(one)
            if model.size != size:
                error = wrong_length(model, size)
                error.detail = place_of(self.call)
                yield (texts == one).fill_null(False) & wanted, error


def unfit(call: Call, operands: Sequence[pl.Expr], guards: tuple[pl.Expr, ...]) -> Unfit:
    """The check of a call of CLASSIFY."""
    pairs = zip(call.arguments, operands, strict=True)
    return Unfit(call, tuple(full_length(argument, value) for argument, value in pairs), guards)


def _field(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    name = call.arguments[1]
    return operands[0].struct.field(name.value)  # type: ignore[attr-defined]


CLASSIFICATION: dict[str, Builder] = {"classify": _classify, "field": _field}
