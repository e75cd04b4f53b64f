"""A demand's filter <-> the text that is sent to a sensor, and the sensor's columnar evaluation of it.

The law: `read_filter(filter_text(p), columns) == p` for every filter that `demand_of` pushes (never NOW or
static attributes). A row passes exactly if `asks_for` says so; a row on which the filter fails passes, so
that its query reports the error.

>>> from nilometer.types import FLOAT, Column
>>> columns = (Column("pm25", FLOAT),)
>>> filter_text(read_filter("pm25 > 10.0 OR pm25 IS NULL", columns))
'pm25 > 10.0 OR pm25 IS NULL'
>>> filter_text(None), read_filter("TRUE", columns)
('TRUE', None)
>>> passing(read_filter("pm25 > 10.0", columns), pl.DataFrame({"pm25": [5.0, 11.0, None]})).tolist()
[False, True, False]
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.errors import NilometerError
from nilometer.expressions import TRUE, Expression
from nilometer.language import parse_expression
from nilometer.operators.evaluate.evaluate import Predicate, compile_predicate
from nilometer.plan.explain.expressions import print_expression, read_expression
from nilometer.types import Column, Schema


def filter_text(predicate: Expression | None) -> str:
    """The filter in the language, over bare column names; TRUE for none."""
    return str(TRUE) if predicate is None else print_expression(predicate)


def read_filter(text: str, columns: Iterable[Column]) -> Expression | None:
    """The filter in a text, bound to the stream's columns; None for TRUE. Raises a NilometerError if the text
    is no filter.
    """
    bound = read_expression(parse_expression(text), Schema(tuple(columns)))
    return None if bound == TRUE else bound


def passing(predicate: Expression | None, rows: pl.DataFrame) -> npt.NDArray[np.bool_]:
    """Whether each row is to be sent."""
    if predicate is None:
        return np.ones(rows.height, dtype=bool)
    return _passing(compile_predicate(predicate), rows)


def _passing(predicate: Predicate, rows: pl.DataFrame) -> npt.NDArray[np.bool_]:
    try:
        return predicate.mask(rows).to_numpy().astype(bool)
    except NilometerError:
        if rows.height <= 1:
            return np.ones(rows.height, dtype=bool)
    # Halve the rows until those on which the filter fails are alone.
    half = rows.height // 2
    return np.concatenate([_passing(predicate, rows[:half]), _passing(predicate, rows[half:])])
