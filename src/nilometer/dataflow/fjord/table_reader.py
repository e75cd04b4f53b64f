"""A stored table -> pieces of its snapshot, when it is pulled: read at the first call, then a piece a transition.

PostgreSQL and SQLite are read through ADBC (ingest/readers/databases.py). Only a pull queue calls it: a table is asked, it
does not push, and the plan above mixes its rows with pushed streams without knowing.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from nilometer.dataflow.fjord.messages import Status
from nilometer.dataflow.fjord.module import Module

PIECE_ROWS = 65_536


class TableReader(Module):
    """`read` gives the snapshot in the columns that the plan wants."""

    def __init__(self, name: str, read: Callable[[], pl.DataFrame]) -> None:
        super().__init__(f"table {name}")
        self._read = read
        self._rest: pl.DataFrame | None = None
        self._over = False

    def _step(self) -> Status:
        if self._over:
            return Status.END
        rows = self._read() if self._rest is None else self._rest
        self.give(rows[:PIECE_ROWS])
        self._rest = rows[PIECE_ROWS:]
        if not self._rest.height:
            self._rest, self._over = None, True
        return Status.WORKED
