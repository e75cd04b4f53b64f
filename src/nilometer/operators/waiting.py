"""Waiting: rows in any order -> the rows that event time has passed, once each.

A reorder buffer, released by watermarks. The law: `release(W)` gives every row added so far whose gate column
is below W and that was not given before. Rows that are released in the round in which they came are never
stored; of the others a round writes those that are new, and `bound`, the watermark below which none waits any
more.

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
        """How many wait."""
        return len(self._panes) + sum(rows.height for rows in self._new)

    def add(self, rows: pl.DataFrame) -> None:
        """Take rows; columns that were not asked for are left out."""
        if rows.height:
            self._new.append(frames.conform(rows, self._columns))

    def release(self, watermark: int) -> pl.DataFrame:
        """The rows with gate < watermark: those that waited in the order of their gates, then the others as they came."""
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

    def snapshot(self, prefix: str) -> dict[str, bytes]:
        """The rows that wait, as panes."""
        for rows in self._new:
            self._panes.append(rows)
        self._new = []
        panes = self._panes.snapshot(prefix)
        if self._panes.begun:
            panes[f"{prefix} from"] = str(self._bound).encode()
        return panes

    def restore(self, prefix: str, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""
        bound = panes.get(f"{prefix} from")
        self._bound = None if bound is None else int(bound)
        self._panes.restore(prefix, panes, self._bound)
