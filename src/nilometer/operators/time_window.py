"""Time windows, materialised: stream -> windows (logical.TimeWindow).

Every evaluation T below the watermark gives the rows with T - start <= tick <= T - end (RANGE: T - start <
tick). This operator is used where a window feeds a join, a projection or RSTREAM. An aggregate directly above
is fused with its window (window_aggregate.py). The cost of a round is that of its output: windows are index
ranges of the rows sorted by tick, and all are expanded at once.

>>> from nilometer.operators.frames import stream_dtypes
>>> from nilometer.types import INT, Column
>>> river = Schema((Column("depth", INT),))
>>> logic = TimeWindow(river, 10, 0, 5, True).build()  # RANGE 10 SLIDE 5
>>> rows = [(1, 1, 1, 0, 70), (6, 6, 1, 1, 60), (12, 12, 1, 2, 50)]  # tick, time, id, position, depth
>>> logic.update(0, pl.DataFrame(rows, stream_dtypes(river), orient="row"))
>>> logic.advance(Progress(watermark=16, first_tick=1)).rows.select(TICK, "depth").rows()
[(5, 70), (10, 70), (10, 60), (15, 60), (15, 50)]
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.algebra.grid import Grid
from nilometer.errors import InternalError
from nilometer.kernels.arrays import Integers
from nilometer.kernels.candidates import split
from nilometer.kernels.ranges import between, expand
from nilometer.operators.frames import concatenate, conform, dtypes, evaluations, window_dtypes
from nilometer.operators.limits import check_built, operator
from nilometer.operators.logic import EVALUATION, TICK, Output, Progress, no_evaluations
from nilometer.operators.panes import Panes
from nilometer.operators.row_ticks import RowTicks
from nilometer.operators.window_scope import BEGINNING, Scope
from nilometer.types import Schema

_PANES_PER_WINDOW = 16


@dataclass(frozen=True)
class TimeWindow:
    """Spec. `schema` are the visible columns. `start` None is UNBOUNDED. Without `slide` the window is
    evaluated at the multiples of `interval` (a sensed input) or, if that is None too, at every tick that has
    a row.
    """

    schema: Schema
    start: int | None
    end: int
    slide: int | None
    open_start: bool
    interval: int | None = None
    grid: Grid | None = None

    def __post_init__(self) -> None:
        _ = self.scope

    @property
    def scope(self) -> Scope:
        """The ticks that are evaluated and the ticks that each evaluation sees."""
        return Scope(self.start, self.end, self.slide, self.open_start, self.interval, self.grid)

    def build(self) -> TimeWindowLogic:
        """A fresh Logic."""
        return TimeWindowLogic(self)


class TimeWindowLogic:
    """Holds the rows that a future evaluation may see, in panes."""

    def __init__(self, spec: TimeWindow) -> None:
        self._scope = spec.scope
        self._columns = dtypes(spec.schema)
        self._output = window_dtypes(spec.schema)
        self._kept = {TICK: pl.Int64()} | self._columns
        reach = self._scope.reach
        span = None if reach is None else max(reach // _PANES_PER_WINDOW, self._scope.period or 0)
        self._panes = Panes(TICK, self._kept, span)
        self._pending: list[pl.DataFrame] = []
        self._elsewhere = RowTicks(spec.scope)
        self._since = BEGINNING

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take rows of the stream."""
        if port != 0:
            raise InternalError(f"a window has no input {port}")
        seen = self._scope.ever_seen(rows.get_column(TICK).to_numpy())
        kept = conform(rows, self._kept)
        self._pending.append(kept if seen is None else kept.filter(pl.Series(seen)))

    @operator("TIME_WINDOW")
    def advance(self, progress: Progress) -> Output:
        """Returns the windows of every evaluation below the watermark."""
        parts = list(self.windows(progress))
        ticks = np.concatenate([ticks for ticks, _ in parts]) if parts else np.empty(0, dtype=np.int64)
        rows = concatenate([rows for _, rows in parts], self._output)
        return Output(rows, evaluations(pl.Series(ticks)) if len(ticks) else no_evaluations())

    def windows(
        self, progress: Progress, limit: int | None = None
    ) -> Iterator[tuple[Integers, pl.DataFrame]]:
        """Yields the result of `advance` in parts of about `limit` rows: evaluations, and the rows of their
        windows.
        """
        self._settle()
        ticks = self._evaluations(progress)
        if len(ticks):
            yield from self._parts(ticks, limit)
        self._since = max(self._since, progress.watermark)
        needed = self._scope.needed_from(progress.first_tick, self._since)
        if needed is not None:
            self._panes.expire(needed)

    def snapshot(self) -> dict[str, bytes]:
        """Returns the panes of rows, and the watermark."""
        self._settle()
        return (
            {"meta": json.dumps({"since": self._since}).encode()}
            | self._panes.snapshot("pane")
            | self._elsewhere.snapshot()
        )

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._since = json.loads(panes["meta"])["since"]
        self._panes.restore("pane", panes)
        self._elsewhere.restore(panes)

    def _settle(self) -> None:
        self._panes.append(concatenate(self._pending, self._kept))
        self._pending = []

    def _evaluations(self, progress: Progress) -> Integers:
        if self._scope.period is not None:
            nothing = np.empty(0, dtype=np.int64)
            return self._scope.evaluations(progress.first_tick, self._since, progress.watermark, nothing)
        own = self._panes.between(self._since, progress.watermark - 1).get_column(TICK).to_numpy()
        new = np.concatenate([own, self._elsewhere.due(progress)])
        return self._scope.evaluations(progress.first_tick, self._since, progress.watermark, new)

    def _parts(self, ticks: Integers, limit: int | None) -> Iterator[tuple[Integers, pl.DataFrame]]:
        lows, highs = self._scope.lows(ticks), ticks - self._scope.end
        rows = self._panes.between(None if lows is None else int(lows[0]) + 1, int(highs[-1]))
        low, high = between(rows.get_column(TICK).to_numpy(), lows, highs)
        counts = np.maximum(high - low, 0)
        if limit is None:
            check_built(float(counts.sum()), len(self._output))
        for part in [slice(None)] if limit is None else split(counts, limit):
            owners, positions = expand(low[part], high[part])
            at = pl.Series(ticks[part][owners], dtype=pl.Int64)
            found = rows[positions].select(list(self._columns))
            yield ticks[part], pl.DataFrame([at.alias(EVALUATION), at.alias(TICK), *found.get_columns()])
