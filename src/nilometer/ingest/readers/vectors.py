"""Reads vectors: a JSON array, a list, or numbers with blanks between them -> a column of Array.

The law is that of values.py: a vector is read, is NULL, or is marked garbled. It is garbled if it has another number
of elements than the declared one, or an element that is no number of the declared type, or none at all.

>>> from nilometer.types import FLOAT, vector_of
>>> from nilometer.ingest.readers.values import read_values
>>> read = read_values(pl.Series("v", ["[1, 2.5]", "3 4", "5", ""]), vector_of(FLOAT, 2))
>>> read.values.to_list(), read.garbled.to_list()
([[1.0, 2.5], [3.0, 4.0], None, None], [False, False, True, False])
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from nilometer.operators.vectors import vectors_of
from nilometer.types import Column, Kind, Type

_ARRAY = r"^\[[^\[\]]*\]$"


def read_vectors(found: pl.Series, declared: Type, read: Callable[[pl.Series, Type], pl.Series]) -> pl.Series:
    """The vectors of a column; NULL where there is none of the declared length. `read` reads elements."""
    assert declared.size is not None
    assert declared.element is not None
    lists = _lists(found)
    fitting = (lists.list.len() == declared.size).fill_null(False)
    elements = lists.filter(fitting).explode()
    numbers = read(elements, declared.element) if len(elements) else elements.cast(_plain(declared))
    absent = numbers.is_null().to_numpy().reshape(-1, declared.size).any(axis=1)
    whole = numbers.fill_null(0).to_numpy().reshape(-1, declared.size)
    matrix = np.zeros((len(found), declared.size), dtype=whole.dtype)
    known = fitting.to_numpy().copy()
    matrix[known] = whole
    known[known] = ~absent
    return vectors_of(found.name, matrix, known)


def vector_reasons(column: Column, found: pl.Series, garbled: pl.Series) -> pl.Series:
    """The reason `counts has 3 elements, not 16` for each garbled vector, or that an element is no number."""
    count = pl.lit(_lists(found).list.len())
    wrong = pl.concat_str(
        pl.lit(f"{column.name} has "), count.cast(pl.String), pl.lit(f" elements, not {column.type.size}")
    )
    element = pl.lit(f"{column.name} has an element that is not {_article(column.type.element)}")
    none = pl.lit(f"{column.name} is no vector of numbers")
    reason = (
        pl.when(count.is_null()).then(none).when(count != column.type.size).then(wrong).otherwise(element)
    )
    return pl.select(pl.when(garbled).then(reason)).to_series()


def _article(element: Type | None) -> str:
    return f"{'an' if element is not None and element.kind is Kind.INT else 'a'} {element}"


def _plain(declared: Type) -> pl.DataType:
    from nilometer.operators.frames import dtype

    assert declared.element is not None
    return dtype(declared.element)


def _lists(found: pl.Series) -> pl.Series:
    if isinstance(found.dtype, pl.List):
        return found
    if isinstance(found.dtype, pl.Array):
        return found.arr.to_list()
    if found.dtype.is_nested() or found.dtype == pl.Binary:
        return pl.Series(found.name, [None], dtype=pl.List(pl.String)).new_from_index(0, len(found))
    texts = found.cast(pl.String, strict=False).str.strip_chars()
    bracketed = texts.str.contains(_ARRAY).fill_null(False)
    inner = texts.str.slice(1).str.head(-1).str.strip_chars()
    commas = inner.str.replace_all(r"\s*,\s*", ",").str.split(",")
    blanks = texts.str.replace_all(r"\s+", " ").str.split(" ")
    lists = pl.select(pl.when(bracketed).then(commas).otherwise(blanks).alias(found.name)).to_series()
    return lists.set(lists.is_null() | (texts == "").fill_null(False), None)
