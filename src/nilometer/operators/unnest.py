"""UNNEST: rows -> one row for each element of a list (logical.Unnest). It has no state.

>>> from nilometer.expressions import ColumnReference
>>> from nilometer.types import INT, list_of
>>> numbers = Unnesting("n", ColumnReference("l", list_of(INT)), stream=False)
>>> numbers(pl.DataFrame({"k": [1, 2, 3], "l": [[4, None], [], None]})).select("k", "n").rows()
[(1, 4), (1, None)]
"""

from __future__ import annotations

import polars as pl

from nilometer.expressions import Expression, columns_of
from nilometer.operators.evaluate.evaluate import compile_expression
from nilometer.operators.limits import check_built, operator
from nilometer.operators.logic import POSITION


class Unnesting:
    """The rows with the elements of a list as the last column. The rows of a stream lose their positions, because
    several of them come from one tuple. A `dropped` list is in none of them."""

    def __init__(self, name: str, expression: Expression, stream: bool, *, dropped: bool = False) -> None:
        self._name = name
        self._list = compile_expression(expression)
        self._stream = stream
        self._dropped = tuple(columns_of(expression)) if dropped else ()

    @operator("UNNEST")
    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows of all elements; a row whose list is NULL or empty gives none."""
        lists = self._list(rows)
        counts = lists.list.len().fill_null(0)
        rows = rows.drop(self._dropped)
        check_built(float(counts.sum()), rows.width + 1)
        for column in rows.iter_columns():
            if column.dtype == pl.List:  # each row gets a copy of it
                check_built(float((column.list.len().fill_null(0).cast(pl.Float64) * counts).sum()), 1)
        if self._stream:
            rows = rows.with_columns(pl.lit(None, dtype=rows.schema[POSITION]).alias(POSITION))
        return rows.with_columns(lists.alias(self._name)).filter(counts > 0).explode(self._name)
