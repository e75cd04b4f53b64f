"""Latest windows: two operands' evaluations -> at each tick of their union, each side's latest window at or
before it.

Window joins and unions of windows fire at the union of the operands' ticks (language.md, "Window joins"). The
ticks are a set: where several evaluations of one side share a tick, the last one counts. Before its first
evaluation, a side is empty. The state of a side is only its latest window.

>>> union_of_ticks(pl.Series([1, 3]), pl.Series([2, 3])).tolist()
[1, 2, 3]
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import polars as pl

from nilometer.kernels.arrays import Integers
from nilometer.kernels.ranges import expand
from nilometer.operators import frames
from nilometer.operators.gathering import gather
from nilometer.operators.limits import check_built
from nilometer.operators.logic import EVALUATION, EVALUATIONS_SCHEMA, TICK, no_evaluations
from nilometer.types import Schema


class LatestWindow:
    """One side of a join or union. Call `take` with rows, then `settle` with the round's evaluations, then
    `sizes` and `rows`, then `forget`.
    """

    def __init__(self, schema: Schema) -> None:
        self._columns = frames.window_dtypes(schema)
        self._visible = list(schema.names)
        self._parts: list[pl.DataFrame] = []
        self._windows = no_evaluations()
        self._saved = frames.Saved(), frames.Saved()
        self._settle_on(no_evaluations())

    def take(self, rows: pl.DataFrame) -> None:
        """Take rows of evaluations that `settle` will list."""
        if rows.height:
            self._parts.append(frames.conform(rows, self._columns))

    def settle(self, evaluations: pl.DataFrame) -> pl.Series:
        """Take the round's evaluations. Returns their ticks, ascending, each once."""
        if not evaluations.height and len(self._parts) <= 1:
            return evaluations[TICK]  # nothing has changed since `forget`
        ordered = evaluations.select(pl.col(*EVALUATIONS_SCHEMA)).sort(EVALUATION)
        last = ordered.unique(TICK, keep="last", maintain_order=True)
        self._settle_on(pl.concat([self._windows, last]))
        return last[TICK]

    def _settle_on(self, windows: pl.DataFrame) -> None:
        rows = frames.concatenate(self._parts, self._columns)
        if not rows[EVALUATION].is_sorted():
            rows = rows.sort(EVALUATION, maintain_order=True)
        self._windows = windows
        self._parts = [rows]
        self._rows = rows.select(self._visible)
        numbers = rows[EVALUATION].to_numpy()
        wanted = windows[EVALUATION].to_numpy()
        self._starts = np.searchsorted(numbers, wanted, side="left").astype(np.int64)
        self._counts = np.searchsorted(numbers, wanted, side="right").astype(np.int64) - self._starts

    def _ranges(self, ticks: Integers) -> tuple[Integers, Integers]:
        window = np.searchsorted(self._windows[TICK].to_numpy(), ticks, side="right") - 1
        none = window < 0
        if none.all():
            return np.zeros_like(ticks), np.zeros_like(ticks)
        return self._starts[window], np.where(none, 0, self._counts[window])

    def sizes(self, ticks: Integers) -> Integers:
        """The number of rows in the latest window at each tick."""
        return self._ranges(ticks)[1]

    def rows(self, ticks: Integers) -> pl.DataFrame:
        """The latest window's rows at each tick, with @evaluation = @tick = that tick."""
        starts, counts = self._ranges(ticks)
        check_built(float(counts.sum()), len(self._columns))
        owners, members = expand(starts, starts + counts)
        at = pl.Series(ticks[owners])
        return pl.DataFrame([at.alias(EVALUATION), at.alias(TICK), *gather(self._rows, members)])

    def forget(self) -> None:
        """End the round: keep only the latest window."""
        if not self._windows.height:
            return
        kept = self._parts[0]
        if self._windows.height > 1 or self._counts[-1] < kept.height:
            kept = kept.slice(int(self._starts[-1]), int(self._counts[-1])).clone()
            self._parts = []
            self.take(kept)
            self._settle_on(self._windows.tail(1))

    def to_panes(self, name: str) -> dict[str, bytes]:
        """Returns the state as two panes."""
        (rows,) = self._parts if len(self._parts) == 1 else [frames.concatenate(self._parts, self._columns)]
        return {f"{name}.rows": self._saved[0](rows), f"{name}.windows": self._saved[1](self._windows)}

    def from_panes(self, name: str, panes: dict[str, bytes]) -> None:
        """Take back what `to_panes` gave."""
        self._parts = [self._saved[0].load(panes[f"{name}.rows"])]
        self._settle_on(self._saved[1].load(panes[f"{name}.windows"]))


def union_of_ticks(*ticks: pl.Series) -> Integers:
    """The set of all ticks, ascending."""
    return reduce(np.union1d, [series.to_numpy() for series in ticks]).astype(np.int64)
