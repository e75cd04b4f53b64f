"""COMPLETENESS(): the readings in a window divided by the readings expected (language.md;
algebra.Completeness).

A window at T expects sensors x length / interval readings. The window is clipped at the stream's first tick.
The first reading stands for the interval that it ends. So does a reading on a closed start, so that [NOW]
expects one reading per sensor. In a grouped query a group is one sensor. The answer is NULL where no reading
is expected.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.algebra import Completeness
from nilometer.kernels.arrays import Integers
from nilometer.operators.frames import Saved
from nilometer.operators.logic import ID, TICK
from nilometer.operators.window_scope import Scope

_FIRST = "@first"


class Expectation:
    """Computes how many readings are due. If the number of sensors is not declared, it records when each
    source was first heard.
    """

    def __init__(self, completeness: Completeness, scope: Scope, grouped: bool) -> None:
        self._completeness = completeness
        self._scope = scope
        self._sensors = 1 if grouped else completeness.sensors
        self._heard: pl.DataFrame | None = None
        self._saved = Saved()

    def update(self, rows: pl.DataFrame) -> None:
        """Record the sources of these rows. Call this before any predicate is applied."""
        if self._sensors is not None:
            return
        new = rows.select(ID, pl.col(TICK).alias(_FIRST)).drop_nulls(ID)
        heard = new if self._heard is None else pl.concat([self._heard, new])
        first = heard.group_by(ID, maintain_order=True).agg(pl.col(_FIRST).min())
        if self._heard is None or not first.equals(self._heard):
            self._heard = first

    def column(self, ticks: Integers, counts: Integers, first_tick: int | None) -> pl.Series:
        """Returns the completeness of windows at these ticks that hold `counts` readings."""
        due = self._sensors_at(ticks) * self._length(ticks, first_tick)
        with np.errstate(all="ignore"):
            values = counts * float(self._completeness.interval) / due
        column = pl.Series(self._completeness.name, values, dtype=pl.Float64)
        return pl.select(pl.when(pl.Series(due > 0)).then(column)).to_series().alias(self._completeness.name)

    def _sensors_at(self, ticks: Integers) -> Integers:
        if self._sensors is not None:
            return np.full(len(ticks), self._sensors, dtype=np.int64)
        if self._heard is None:
            return np.zeros(len(ticks), dtype=np.int64)
        heard: Integers = np.sort(self._heard.get_column(_FIRST).to_numpy())
        return np.asarray(np.searchsorted(heard, ticks, side="right"), dtype=np.int64)

    def _length(self, ticks: Integers, first_tick: int | None) -> Integers:
        if first_tick is None:
            return np.zeros(len(ticks), dtype=np.int64)
        interval, scope = self._completeness.interval, self._scope
        starts = np.full(len(ticks), first_tick - interval, dtype=np.int64)
        if scope.grid is not None:
            # A half-open window begins with a reading and ends before one: shift it by an interval.
            shift = interval if scope.end else 0
            lows = scope.lows(ticks)
            if lows is not None:
                starts = np.maximum(starts, lows + scope.end - shift)
            shifted: Integers = np.maximum(ticks - shift - starts, 0)
            return shifted
        if scope.start is not None:
            starts = np.maximum(starts, ticks - scope.start - (0 if scope.open_start else interval))
        length: Integers = np.maximum(ticks - scope.end - starts, 0)
        return length

    def snapshot(self) -> dict[str, bytes]:
        """Returns the time at which each source was first heard."""
        return {} if self._heard is None else {"heard": self._saved(self._heard)}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._heard = self._saved.load(panes["heard"]) if "heard" in panes else None
