"""Stored rows: the version of a table that an operator works with. It keeps the number of rows even if no
column is read.

`COUNT(*)` of a product reads no column at all, and then a frame's height is easily lost (by `select`, or in
Arrow's bytes). So the rows are kept with a number, `@row`, which `visible` removes again.
"""

from __future__ import annotations

import polars as pl

from nilometer.operators import frames
from nilometer.operators.limits import check_kept
from nilometer.types import Schema

ROW = "@row"


class StoredRows:
    """A table of this schema, empty until `put` is called."""

    def __init__(self, schema: Schema) -> None:
        self._columns = frames.dtypes(schema)
        self.rows = frames.empty({ROW: pl.Int64()} | self._columns)
        self._saved = frames.Saved()

    def put(self, rows: pl.DataFrame) -> None:
        """Replace the table by a new version."""
        check_kept(rows.height)
        columns = frames.conform(rows, self._columns).get_columns() if self._columns else []
        self.rows = pl.DataFrame([pl.int_range(rows.height, eager=True).alias(ROW), *columns])

    def to_bytes(self) -> bytes:
        """Returns the rows as bytes."""
        return self._saved(self.rows)

    def from_bytes(self, data: bytes) -> None:
        """Take back what `to_bytes` gave."""
        self.rows = self._saved.load(data)


def visible(rows: pl.DataFrame, columns: frames.Dtypes) -> pl.DataFrame:
    """Returns the rows with only these columns. The number of rows stays the same if there are none."""
    return rows.select(*columns) if columns else pl.DataFrame(height=rows.height)
