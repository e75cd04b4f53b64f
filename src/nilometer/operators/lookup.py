"""Lookup: rows with a tick, and a table -> each row joined with the table, its system columns kept.

The Logic of stream ⋈ table and windows ⋈ table. It remembers nothing but the table, which is given before the first
`advance`; a later `update` of the table's port replaces it (a stored extent's next version), from that round on.
"""

from __future__ import annotations

import polars as pl

from nilometer.operators import frames
from nilometer.operators.logic import Output, Progress, no_evaluations
from nilometer.operators.matching import Matching
from nilometer.operators.stored_rows import StoredRows
from nilometer.operators.validation import require


class Lookup:
    """`columns` are those of the answer, `system` the names of its system columns, `table` the table's port."""

    def __init__(
        self, matching: Matching, columns: frames.Dtypes, system: tuple[str, ...], table: int = 1
    ) -> None:
        require(table in (0, 1), f"a table at port {table}")
        if table == 0:
            matching = matching.mirrored()
        self._table_port = table
        self._matcher = matching.build()
        self._columns = columns
        self._row_columns = {name: columns[name] for name in system} | frames.dtypes(matching.left)
        self._table = StoredRows(matching.right)
        self._parts: list[pl.DataFrame] = []

    def update(self, port: int, rows: pl.DataFrame) -> None:
        if port == self._table_port:
            self._table.put(rows)
        elif rows.height:
            self._parts.append(frames.conform(rows, self._row_columns))

    def advance(self, progress: Progress) -> Output:
        rows = frames.concatenate(self._parts, self._row_columns)
        self._parts = []
        joined = self._matcher(rows, self._table.rows) if rows.height else frames.empty(self._columns)
        listed = progress.evaluations[1 - self._table_port] if progress.evaluations else no_evaluations()
        return Output(joined.select(*self._columns), listed)

    def snapshot(self) -> dict[str, bytes]:
        rows = frames.concatenate(self._parts, self._row_columns)
        panes = {"table": self._table.to_bytes()}
        return panes | {"rows": frames.to_bytes(rows)} if rows.height else panes

    def restore(self, panes: dict[str, bytes]) -> None:
        self._table.from_bytes(panes["table"])
        self._parts = [frames.from_bytes(panes["rows"])] if "rows" in panes else []
