"""Row windows: stream -> windows (logical.RowWindow).

Rows count from the query's start in the order (time, id, position), ties broken by the visible columns, NULLs first;
a row has its number for good once its tick is below the watermark. At every `slide`-th row n the rows n - start ... n - end are
the window; its evaluation is n, its tick that of row n.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.errors import InternalError
from nilometer.kernels.ranges import Integers, expand, multiples, windows
from nilometer.operators.frames import (
    Dtypes,
    concatenate,
    conform,
    dtypes,
    empty,
    stream_dtypes,
    window_dtypes,
)
from nilometer.operators.logic import EVALUATION, ID, POSITION, TICK, TIME, Output, Progress, no_evaluations
from nilometer.operators.window_panes import Panes
from nilometer.types import INT, Schema, Type, ceil_to

ORDINAL = "@ordinal"
_PANES_PER_WINDOW = 16
_PENDING_SPAN = 60_000_000
"""Panes of rows still waiting for the watermark cover at most a minute, unless they are small."""


@dataclass(frozen=True)
class RowWindow:
    """Spec. RANGE n is start n - 1, end 0; `start` None is UNBOUNDED. `id_type` is that of the stream's sources."""

    schema: Schema
    start: int | None
    end: int
    slide: int
    id_type: Type = INT

    def __post_init__(self) -> None:
        if self.end < 0 or (self.start is not None and self.start < self.end):
            raise InternalError("a window that ends before it starts")
        if self.slide <= 0:
            raise InternalError("a window that does not slide")

    def build(self) -> RowWindowLogic:
        """A fresh Logic."""
        return RowWindowLogic(self)


class RowWindowLogic:
    """Holds rows that have no number yet, and numbered ones that a window to come holds."""

    def __init__(self, spec: RowWindow) -> None:
        self._spec = spec
        self._columns = dtypes(spec.schema)
        self._output = window_dtypes(spec.schema)
        self._unnumbered: Dtypes = stream_dtypes(spec.schema, spec.id_type)
        self._numbered: Dtypes = {ORDINAL: pl.Int64(), TICK: pl.Int64()} | self._columns
        self._waiting = Panes(TICK, self._unnumbered, _PENDING_SPAN)
        span = None if spec.start is None else max(spec.start // _PANES_PER_WINDOW, spec.slide)
        self._rows = Panes(ORDINAL, self._numbered, span)
        self._pending: list[pl.DataFrame] = []
        self._count = 0

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take rows of the stream."""
        if port != 0:
            raise InternalError(f"a window has no input {port}")
        self._pending.append(conform(rows, self._unnumbered))

    def advance(self, progress: Progress) -> Output:
        """Number the rows below the watermark; evaluate at every `slide`-th of them."""
        self._settle()
        final = self._waiting.take(progress.watermark)
        if final.height == 0:
            return Output(empty(self._output), no_evaluations())
        order = [TIME, ID, POSITION, *self._columns]
        final = final.sort(order, nulls_last=False, maintain_order=True)
        first, self._count = self._count + 1, self._count + final.height
        ordinals = pl.Series(ORDINAL, np.arange(first, self._count + 1, dtype=np.int64))
        self._rows.append(final.with_columns(ordinals).select(list(self._numbered)))
        evaluated = multiples(self._spec.slide, first, self._count + 1)
        ticks = final.get_column(TICK).to_numpy()[evaluated - first]
        listed = pl.DataFrame({EVALUATION: evaluated, TICK: ticks})
        output = Output(self._windows(evaluated, ticks), listed)
        if self._spec.start is not None:
            self._rows.expire(ceil_to(self._count + 1, self._spec.slide) - self._spec.start)
        return output

    def snapshot(self) -> dict[str, bytes]:
        """Both kinds of panes, and the number of rows so far."""
        self._settle()
        meta = {"meta": json.dumps({"count": self._count}).encode()}
        return meta | self._waiting.snapshot("waiting") | self._rows.snapshot("pane")

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._count = json.loads(panes["meta"])["count"]
        self._waiting.restore("waiting", panes)
        self._rows.restore("pane", panes)

    def _settle(self) -> None:
        self._waiting.append(concatenate(self._pending, self._unnumbered))
        self._pending = []

    def _windows(self, evaluated: Integers, ticks: Integers) -> pl.DataFrame:
        if not len(evaluated):
            return empty(self._output)
        start, end = self._spec.start, self._spec.end
        reach = None if start is None else start + 1
        low = None if reach is None else int(evaluated[0]) - reach + 1
        rows = self._rows.between(low, int(evaluated[-1]) - end)
        owners, positions = expand(*windows(rows.get_column(ORDINAL).to_numpy(), evaluated, reach, end))
        found = rows[positions].select(list(self._columns))
        return pl.DataFrame(
            [pl.Series(EVALUATION, evaluated[owners]), pl.Series(TICK, ticks[owners]), *found.get_columns()]
        )
