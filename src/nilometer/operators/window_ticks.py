"""The ticks of a time window: its stream's rows, unchanged, and the evaluations of the window.

Some operators join several windows without materialising them (join_aggregate, join_changes). Each of their
inputs is evaluated from the first tick of its own stream, and only an operator over that stream alone knows
this tick.

A window that slides by 2 is evaluated at every even tick from the stream's first tick on:

>>> from nilometer.operators.logic import TICK
>>> logic = WindowTicks(Scope(start=4, end=0, slide=2, open_start=True), ((TICK, pl.Int64()),)).build()
>>> logic.update(0, pl.DataFrame({TICK: [3, 5]}))
>>> logic.advance(Progress(watermark=7, first_tick=3)).evaluations.get_column(TICK).to_list()
[4, 6]
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import polars as pl

from nilometer.errors import InternalError
from nilometer.operators.frames import Dtypes, concatenate, conform, evaluations, from_bytes, to_bytes
from nilometer.operators.limits import operator
from nilometer.operators.logic import Output, Progress
from nilometer.operators.row_ticks import RowTicks
from nilometer.operators.window_scope import BEGINNING, Scope


@dataclass(frozen=True)
class WindowTicks:
    """Spec. `columns` are the columns of the stream's rows, system columns included."""

    scope: Scope
    columns: tuple[tuple[str, pl.DataType], ...]

    def build(self) -> WindowTicksLogic:
        """A fresh Logic."""
        return WindowTicksLogic(self)


class WindowTicksLogic:
    """How far evaluations have come, and the ticks at which a window without a period must still be
    evaluated.
    """

    def __init__(self, spec: WindowTicks) -> None:
        self._scope = spec.scope
        self._columns: Dtypes = dict(spec.columns)
        self._parts: list[pl.DataFrame] = []
        self._ticks = RowTicks(spec.scope)
        self._since = BEGINNING

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take rows of the stream."""
        if port != 0:
            raise InternalError(f"a window has no input {port}")
        self._ticks.add(rows)
        self._parts.append(conform(rows, self._columns))

    @operator("TIME_WINDOW")
    def advance(self, progress: Progress) -> Output:
        """Returns the rows that came, and every evaluation below the watermark."""
        new = self._ticks.due(progress)
        ticks = self._scope.evaluations(progress.first_tick, self._since, progress.watermark, new)
        self._since = max(self._since, progress.watermark)
        rows = concatenate(self._parts, self._columns)
        self._parts = []
        return Output(rows, evaluations(pl.Series(ticks, dtype=pl.Int64)))

    def snapshot(self) -> dict[str, bytes]:
        """Returns the watermark, the waiting ticks, and the rows of a round that has begun. Between rounds
        there are no rows.
        """
        panes = {"meta": json.dumps({"since": self._since}).encode()} | self._ticks.snapshot()
        return panes | ({"rows": to_bytes(concatenate(self._parts, self._columns))} if self._parts else {})

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._since = json.loads(panes["meta"])["since"]
        self._ticks.restore(panes)
        self._parts = [from_bytes(panes["rows"])] if "rows" in panes else []
