"""The ticks at which a window without a period must still be evaluated: those of its stream's rows.

Where a stream is divided among buckets, a bucket has only some of the rows. The ticks of all rows then come as evaluations
of the input (spark/layout/division.py).

>>> from nilometer.operators.frames import evaluations
>>> ticks = RowTicks(Scope(start=4, end=0, slide=None, open_start=True))
>>> ticks.add(pl.DataFrame({TICK: [3, 5]}))
>>> elsewhere = evaluations(pl.Series([4, 9]))
>>> ticks.due(Progress(watermark=6, evaluations=(elsewhere,))).tolist()
[3, 5, 4]
>>> ticks.due(Progress(watermark=10)).tolist()
[9]
"""

from __future__ import annotations

import polars as pl

from nilometer.kernels.arrays import Integers
from nilometer.operators.logic import TICK, Progress
from nilometer.operators.waiting import Waiting
from nilometer.operators.window_scope import Scope


class RowTicks:
    """The ticks that have come. A window with a period needs none."""

    def __init__(self, scope: Scope) -> None:
        self._needed = scope.period is None
        self._ticks = Waiting({TICK: pl.Int64()})

    def add(self, rows: pl.DataFrame) -> None:
        """Note the ticks of these rows."""
        if self._needed:
            self._ticks.add(rows.select(pl.col(TICK).unique()))

    def due(self, progress: Progress) -> Integers:
        """The ticks below the watermark that were not given before, in any order. A tick may come twice."""
        if self._needed and progress.evaluations:
            self._ticks.add(progress.evaluations[0])
        found: Integers = self._ticks.release(progress.watermark).get_column(TICK).to_numpy()
        return found

    def snapshot(self) -> dict[str, bytes]:
        """Returns the ticks that wait."""
        return self._ticks.snapshot("ticks")

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._ticks.restore("ticks", panes)
