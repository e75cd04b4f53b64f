"""The shared half of operators over two tables: EXCEPT, INTERSECT, UNION and joins of tables.

The answer comes in the first round, and again in every round with a new version of a side. The state is the two
tables.

>>> from nilometer.types import INT, Column
>>> a = Schema((Column("x", INT),))
>>> pair = TablePair(a, a, a)
>>> pair.update(0, pl.DataFrame({"x": [1, 2]}))
>>> both = lambda left, right: pl.concat([left, right])
>>> pair.when_changed(both).rows["x"].to_list(), pair.when_changed(both).rows["x"].to_list()
([1, 2], [])
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from nilometer.operators import frames
from nilometer.operators.logic import Output, no_evaluations
from nilometer.operators.stored_rows import StoredRows, visible
from nilometer.types import Schema


class TablePair:
    """Keeps both tables. A Logic over it defines `advance`, by `when_changed`; `schema` is the answer's."""

    def __init__(self, left: Schema, right: Schema, schema: Schema) -> None:
        self._columns = frames.dtypes(schema)
        self._tables = (StoredRows(left), StoredRows(right))
        self._changed = False

    def update(self, port: int, rows: pl.DataFrame) -> None:
        self._tables[port].put(rows)
        self._changed = True

    def when_changed(self, combine: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]) -> Output:
        """The answer to two tables of which one is new, or nothing."""
        if not self._changed:
            return Output(frames.empty(self._columns), no_evaluations())
        self._changed = False
        left, right = (table.rows for table in self._tables)
        return Output(visible(combine(left, right), self._columns), no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        left, right = self._tables
        changed = b"yes" if self._changed else b"no"
        return {"left": left.to_bytes(), "right": right.to_bytes(), "changed": changed}

    def restore(self, panes: dict[str, bytes]) -> None:
        for name, table in zip(("left", "right"), self._tables, strict=True):
            table.from_bytes(panes[name])
        self._changed = panes["changed"] == b"yes"
