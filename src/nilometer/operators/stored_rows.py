"""Stored rows: the version of a table that an operator works with, row for row also where no column is left of it.

`COUNT(*)` of a product reads no column at all, and then a frame's height is easily lost (by `select`, by Arrow's bytes):
so the rows are kept with a number, `@row`, which `visible` takes off again.
"""

from __future__ import annotations

import polars as pl

from nilometer.operators import frames
from nilometer.operators.limits import check_kept
from nilometer.types import Schema

ROW = "@row"


class StoredRows:
    """A table of this schema; empty until it is `put`."""

    def __init__(self, schema: Schema) -> None:
        self._columns = frames.dtypes(schema)
        self.rows = frames.empty({ROW: pl.Int64()} | self._columns)
        self._saved = frames.Saved()

    def put(self, rows: pl.DataFrame) -> None:
        """A new version of the table."""
        check_kept(rows.height)
        columns = frames.conform(rows, self._columns).get_columns() if self._columns else []
        self.rows = pl.DataFrame([pl.int_range(rows.height, eager=True).alias(ROW), *columns])

    def to_bytes(self) -> bytes:
        """The rows."""
        return self._saved(self.rows)

    def from_bytes(self, data: bytes) -> None:
        """Take back what `to_bytes` gave."""
        self.rows = self._saved.load(data)


def visible(rows: pl.DataFrame, columns: frames.Dtypes) -> pl.DataFrame:
    """The rows with these columns alone; as many if there are none."""
    return rows.select(*columns) if columns else pl.DataFrame(height=rows.height)
