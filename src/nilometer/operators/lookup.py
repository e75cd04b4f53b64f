"""Lookup: rows with a tick, and a table -> each row joined with the table, its system columns kept.

This is the Logic of stream ⋈ table and windows ⋈ table. Its only state is the table, which is given before
the first `advance`. A later `update` of the table's port is the next version of the stored extent, for rows
from the tick `holds_from` on.
"""

from __future__ import annotations

import polars as pl

from nilometer.operators import frames
from nilometer.operators.limits import operator
from nilometer.operators.logic import Output, Progress, no_evaluations
from nilometer.operators.matching import Matching
from nilometer.operators.stored_rows import StoredRows, visible
from nilometer.operators.stored_versions import StoredVersions
from nilometer.operators.validation import require


class Lookup:
    """`columns` are the columns of the answer, `system` the names of its system columns, `table` the table's
    port.
    """

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
        self._table_schema = matching.right
        self._tables = StoredVersions(matching.right)
        self._table_columns = frames.dtypes(matching.right)
        self._given: pl.DataFrame | None = None
        self._parts: list[pl.DataFrame] = []

    def update(self, port: int, rows: pl.DataFrame) -> None:
        if port == self._table_port:
            self._given = rows
        elif rows.height:
            self._parts.append(frames.conform(rows, self._row_columns))

    @operator("a join with a table")
    def advance(self, progress: Progress) -> Output:
        if self._given is not None:
            self._tables.put(self._given, progress.holds_from)
            self._given = None
        rows = frames.concatenate(self._parts, self._row_columns)
        self._parts = []
        joined = [self._matcher(some, table) for some, table in self._tables.met(rows) if some.height]
        self._tables.forget(progress.watermark)
        listed = progress.evaluations[1 - self._table_port] if progress.evaluations else no_evaluations()
        found = frames.concatenate([part.select(*self._columns) for part in joined], self._columns)
        return Output(found, listed)

    def snapshot(self) -> dict[str, bytes]:
        panes = self._tables.to_panes()
        rows = frames.concatenate(self._parts, self._row_columns)
        if rows.height:
            panes["rows"] = frames.to_bytes(rows)
        if self._given is not None:
            # The rows are numbered, because a table of which no column is read would lose its height.
            panes["given"] = self._numbered(self._given).to_bytes()
        return panes

    def restore(self, panes: dict[str, bytes]) -> None:
        self._tables.from_panes(panes)
        self._parts = [frames.from_bytes(panes["rows"])] if "rows" in panes else []
        self._given = None
        if "given" in panes:
            table = StoredRows(self._table_schema)
            table.from_bytes(panes["given"])
            self._given = visible(table.rows, self._table_columns)

    def _numbered(self, rows: pl.DataFrame) -> StoredRows:
        table = StoredRows(self._table_schema)
        table.put(rows)
        return table
