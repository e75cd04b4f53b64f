"""The shared half of joins of a stream or windows with a table: the rows since the last round, and the versions of
the table.

The table is given before the first `advance`. A later `update` of its port is the next version of the stored
extent, for rows from the tick `holds_from` on. Between rounds the state is the table alone.

>>> from nilometer.types import INT, Column
>>> beside = BesideTable(Schema((Column("k", INT),)), {"@tick": pl.Int64()}, port=1)
>>> beside.update(1, pl.DataFrame({"k": [7]}))
>>> beside.update(0, pl.DataFrame({"@tick": [3]}))
>>> rows = beside.settle(Progress(watermark=0))
>>> [(some["@tick"].to_list(), table["k"].to_list()) for some, table in beside.tables.met(rows)]
[([3], [7])]
"""

from __future__ import annotations

import polars as pl

from nilometer.operators import frames
from nilometer.operators.logic import Progress
from nilometer.operators.stored_rows import StoredRows, visible
from nilometer.operators.stored_versions import StoredVersions
from nilometer.types import Schema


class BesideTable:
    """Keeps the table, which is at `port`, and the other side's rows, which have these `columns`."""

    def __init__(self, table: Schema, columns: frames.Dtypes, port: int) -> None:
        self.port = port
        self.tables = StoredVersions(table)
        self._table_schema = table
        self._columns = columns
        self._given: pl.DataFrame | None = None
        self._parts: list[pl.DataFrame] = []

    def update(self, port: int, rows: pl.DataFrame) -> None:
        if port == self.port:
            self._given = rows
        elif rows.height:
            self._parts.append(frames.conform(rows, self._columns))

    def settle(self, progress: Progress) -> pl.DataFrame:
        """Take a new version of the table, if there is one. Returns the rows since the last round."""
        if self._given is not None:
            self.tables.put(self._given, progress.holds_from)
            self._given = None
        rows = frames.concatenate(self._parts, self._columns)
        self._parts = []
        return rows

    def snapshot(self) -> dict[str, bytes]:
        panes = self.tables.to_panes()
        rows = frames.concatenate(self._parts, self._columns)
        if rows.height:
            panes["rows"] = frames.to_bytes(rows)
        if self._given is not None:
            # The rows are numbered, because a table of which no column is read would lose its height.
            given = StoredRows(self._table_schema)
            given.put(self._given)
            panes["given"] = given.to_bytes()
        return panes

    def restore(self, panes: dict[str, bytes]) -> None:
        self.tables.from_panes(panes)
        self._parts = [frames.from_bytes(panes["rows"])] if "rows" in panes else []
        self._given = None
        if "given" in panes:
            given = StoredRows(self._table_schema)
            given.from_bytes(panes["given"])
            self._given = visible(given.rows, frames.dtypes(self._table_schema))
