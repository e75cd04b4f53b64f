"""Vectors at the door: text, JSON arrays and lists are read, or are garbled with a reason."""

from __future__ import annotations

import polars as pl
import pytest

from nilometer.ingest.readers.values import read_values
from nilometer.ingest.readers.vectors import vector_reasons
from nilometer.types import FLOAT, INT, Column, vector_of


@pytest.mark.parametrize(
    ("values", "expected", "garbled"),
    [
        (["1 2", " [1, 2.5] ", "1\t2"], [[1.0, 2.0], [1.0, 2.5], [1.0, 2.0]], []),
        (["", None, "null"], [None, None, None], []),
        (["1", "1 2 3", "1 x", "[1,]", "[[1, 2]]", "1 nan", "1 1e999"], [None] * 7, list(range(7))),
        ([[1, 2], [3], None], [[1.0, 2.0], None, None], [1]),
        ([[1.5, None], [3.0, float("inf")]], [None, None], [0, 1]),
    ],
)
def test_floats(values: list[object], expected: list[object], garbled: list[int]) -> None:
    read = read_values(pl.Series("v", values), vector_of(FLOAT, 2))
    assert read.values.to_list() == expected
    assert read.values.dtype == pl.Array(pl.Float64, 2)
    assert ([] if read.garbled is None else read.garbled.arg_true().to_list()) == garbled


def test_integers() -> None:
    read = read_values(pl.Series("v", ["1 2", "1.0 2e1", "1 2.5"]), vector_of(INT, 2))
    assert read.values.to_list() == [[1, 2], [1, 20], None]
    assert read.values.dtype == pl.Array(pl.Int64, 2)


def test_reasons() -> None:
    column = Column("counts", vector_of(INT, 2))
    reasons = vector_reasons(column, pl.Series(["1 2 3", "1 x", "1 2"]), pl.Series([True, True, False]))
    assert reasons.to_list() == [
        "counts has 3 elements, not 2",
        "counts has an element that is not an INT",
        None,
    ]
