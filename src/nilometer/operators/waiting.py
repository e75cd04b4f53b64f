"""Waiting: rows in any order -> the rows that event time has passed, once each.

This is a reorder buffer, released by watermarks. The law: `release(W)` returns every row added so far whose
gate column is below W and that was not returned before. Rows released in the round in which they arrived are
never stored. For the others, a round writes the new ones and `bound`, the watermark below which no row waits
any more.

>>> waiting = Waiting({TICK: pl.Int64(), "x": pl.Int64()})
>>> waiting.add(pl.DataFrame({TICK: [5, 2], "x": [50, 20]}))
>>> waiting.release(3).rows(), len(waiting)
([(2, 20)], 1)
>>> waiting.release(6).rows(), len(waiting)
([(5, 50)], 0)
"""

from __future__ import annotations

import polars as pl

from nilometer.operators import frames
from nilometer.operators.logic import TICK
from nilometer.operators.panes import Panes


class Waiting:
    """A buffer gated by event time; `gate` is the column that must fall below the watermark."""

    def __init__(self, columns: frames.Dtypes, gate: str = TICK) -> None:
        self._columns = columns
        self._gate = gate
        self._new: list[pl.DataFrame] = []
        self._panes = Panes(gate, columns, None)
        self._bound: int | None = None

    def __len__(self) -> int:
        """The number of waiting rows."""
        return len(self._panes) + sum(rows.height for rows in self._new)

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows. Columns that are not among the buffer's are left out."""
        if rows.height:
            self._new.append(frames.conform(rows, self._columns))

    def release(self, watermark: int) -> pl.DataFrame:
        """Returns the rows with gate < watermark: first those that waited, in the order of their gates, then
        the others in arrival order.
        """
        new = frames.concatenate(self._new, self._columns)
        self._new = []
        taken = self._panes.take(watermark)
        self._bound = watermark
        if new.height:
            passed = new[self._gate] < watermark
            if not passed.all():
                self._panes.append(new.filter(~passed))
                new = new.filter(passed)
        return frames.concatenate([taken, new], self._columns)

    def between(self, low: int, high: int) -> pl.DataFrame:
        """Returns the waiting rows with low <= gate <= high. They go on waiting."""
        self._settle()
        return self._panes.between(low, high)

    def _settle(self) -> None:
        for rows in self._new:
            self._panes.append(rows)
        self._new = []

    def snapshot(self, prefix: str) -> dict[str, bytes]:
        """Returns the waiting rows as panes."""
        self._settle()
        panes = self._panes.snapshot(prefix)
        if self._panes.begun:
            panes[f"{prefix} from"] = str(self._bound).encode()
        return panes

    def restore(self, prefix: str, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""
        bound = panes.get(f"{prefix} from")
        self._bound = None if bound is None else int(bound)
        self._panes.restore(prefix, panes, self._bound)
