"""Rows of a frame -> what a unit is given, and what it gave -> columns of a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from nilometer.operators import frames
from nilometer.operators.vectors import matrix_of, vectors_of
from nilometer.types import TIME, Column, Kind, Type
from nilometer.workers.functions import Argument
from nilometer.workers.units import Rows


def arguments_of(
    rows: pl.DataFrame, time: str, id: str, id_type: Type, taken: Sequence[tuple[str, Type]]
) -> list[Argument]:
    """The times, the ids, and the columns that the unit takes. None of them has a NULL."""
    own = [Argument(TIME, rows[time].to_numpy()), Argument(id_type, _array(rows[id]))]
    return own + [Argument(type_, _array(rows[name])) for name, type_ in taken]


def columns_of(columns: Sequence[Column], found: Rows) -> list[pl.Series]:
    """The columns that a unit gave, with these names."""
    given = []
    for column, (values, nulls) in zip(columns, found.columns, strict=True):
        if column.type.kind is Kind.VECTOR:
            given.append(vectors_of(column.name, values, ~nulls))
        else:
            whole = pl.Series(values.tolist() if values.dtype == object else values)
            if not len(whole):
                whole = whole.cast(frames.dtype(column.type))
            shown = pl.select(pl.when(pl.Series(~nulls)).then(whole)).to_series()
            given.append(shown.alias(column.name))
    return given


def _array(column: pl.Series) -> Any:
    if isinstance(column.dtype, pl.Array):
        return matrix_of(column)[0]
    if column.dtype == pl.String:
        return np.array(column.to_list(), dtype=object)
    return column.to_physical().to_numpy()
