"""Waiting: rows in any order -> the rows that event time has passed, once each.

The law: `release(W)` gives every row added so far whose gate column is below W and that was not given before.
"""

from __future__ import annotations

import polars as pl

from nilometer.operators import frames
from nilometer.operators.logic import TICK


class Waiting:
    """A buffer gated by event time; `gate` is the column that must fall below the watermark."""

    def __init__(self, columns: frames.Dtypes, gate: str = TICK) -> None:
        self._columns = columns
        self._gate = gate
        self._parts: list[pl.DataFrame] = []

    def add(self, rows: pl.DataFrame) -> None:
        """Take rows; columns that were not asked for are left out."""
        if rows.height:
            self._parts.append(frames.conform(rows, self._columns))

    def release(self, watermark: int) -> pl.DataFrame:
        """The rows with gate < watermark, in the order of their arrival."""
        rows = frames.concatenate(self._parts, self._columns)
        passed = rows[self._gate] < watermark
        if passed.all():
            self._parts = []
            return rows
        self._parts = [rows.filter(~passed)]
        return rows.filter(passed)

    def to_bytes(self) -> bytes:
        """The rows that wait."""
        return frames.to_bytes(frames.concatenate(self._parts, self._columns))

    def from_bytes(self, data: bytes) -> None:
        """Take back what `to_bytes` gave."""
        self._parts = [frames.from_bytes(data)]
