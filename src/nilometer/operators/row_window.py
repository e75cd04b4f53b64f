"""Row windows: stream -> windows (logical.RowWindow).

Rows are counted from the query's start in the order (time, id, position). The visible columns break ties,
NULLs first. A row's number is final once its tick is below the watermark. At every `slide`-th row n, the
window is the rows n - start ... n - end. Its evaluation is n, and its tick is that of row n.

>>> from nilometer.types import Column
>>> river = Schema((Column("depth", INT),))
>>> logic = RowWindow(river, 1, 0, 2).build()  # RANGE 2 ROWS SLIDE 2 ROWS
>>> rows = [(5, 5, 1, 0, 70), (6, 6, 1, 1, 60), (7, 7, 1, 2, 50), (9, 9, 2, 3, 40)]  # tick, time, id, ...
>>> logic.update(0, pl.DataFrame(rows, stream_dtypes(river), orient="row"))
>>> logic.advance(Progress(watermark=10)).rows.rows()  # evaluation, tick, depth
[(2, 6, 70), (2, 6, 60), (4, 9, 50), (4, 9, 40)]
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.errors import InternalError
from nilometer.kernels.arrays import Integers
from nilometer.kernels.ranges import expand, windows
from nilometer.operators.frames import (
    Dtypes,
    dtypes,
    empty,
    stream_dtypes,
    window_dtypes,
)
from nilometer.operators.limits import check_built, operator
from nilometer.operators.logic import EVALUATION, ID, POSITION, TICK, Output, Progress
from nilometer.operators.order import in_time
from nilometer.operators.panes import Panes
from nilometer.operators.waiting import Waiting
from nilometer.types import INT, Schema, Type, ceil_to

ORDINAL = "@ordinal"
_PANES_PER_WINDOW = 16


@dataclass(frozen=True)
class RowWindow:
    """Spec. RANGE n is start n - 1, end 0; `start` None is UNBOUNDED. `id_type` is the type of the stream's
    ids.
    """

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


class RowNumbers:
    """Gives rows their final numbers, 1, 2, ..., once their tick is below the watermark."""

    def __init__(self, schema: Schema, id_type: Type) -> None:
        self._columns: Dtypes = stream_dtypes(schema, id_type)
        self._order = [ID, POSITION, *schema.names]
        self._waiting = Waiting(self._columns)
        self.count = 0

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take rows of the stream."""
        if port != 0:
            raise InternalError(f"a window has no input {port}")
        self._waiting.add(rows)

    def advance(self, watermark: int) -> pl.DataFrame:
        """Returns the rows that get their numbers now, in order, with a column ORDINAL."""
        final = in_time(self._waiting.release(watermark), self._order)
        first, self.count = self.count + 1, self.count + final.height
        ordinals = np.arange(first, self.count + 1, dtype=np.int64)
        return final.with_columns(pl.Series(ORDINAL, ordinals))

    def snapshot(self) -> dict[str, bytes]:
        """Returns the rows that wait, and the number of rows that already have a number."""
        numbers = json.dumps({"count": self.count}).encode()
        return {"numbers": numbers} | self._waiting.snapshot("waiting")

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self.count = json.loads(panes["numbers"])["count"]
        self._waiting.restore("waiting", panes)


def evaluated_rows(numbered: pl.DataFrame, slide: int) -> pl.DataFrame:
    """Returns the evaluations at every `slide`-th row: the row's number and its tick."""
    at = numbered.filter(pl.col(ORDINAL) % slide == 0)
    return at.select(pl.col(ORDINAL).alias(EVALUATION), TICK)


class RowWindowLogic:
    """Holds the rows that have no number yet, and the numbered rows that a future window holds."""

    def __init__(self, spec: RowWindow) -> None:
        self._spec = spec
        self._columns = dtypes(spec.schema)
        self._output = window_dtypes(spec.schema)
        self._numbered: Dtypes = {ORDINAL: pl.Int64()} | self._columns
        self._numbers = RowNumbers(spec.schema, spec.id_type)
        span = None if spec.start is None else max(spec.start // _PANES_PER_WINDOW, spec.slide)
        self._rows = Panes(ORDINAL, self._numbered, span)

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take rows of the stream."""
        self._numbers.update(port, rows)

    @operator("ROW_WINDOW")
    def advance(self, progress: Progress) -> Output:
        """Number the rows below the watermark; evaluate at every `slide`-th of them."""
        final = self._numbers.advance(progress.watermark)
        self._rows.append(final.select(list(self._numbered)))
        listed = evaluated_rows(final, self._spec.slide)
        rows = self._windows(listed.get_column(EVALUATION).to_numpy(), listed.get_column(TICK).to_numpy())
        if self._spec.start is not None:
            self._rows.expire(ceil_to(self._numbers.count + 1, self._spec.slide) - self._spec.start)
        return Output(rows, listed)

    def snapshot(self) -> dict[str, bytes]:
        """Returns both kinds of panes, and the number of rows so far."""
        return self._numbers.snapshot() | self._rows.snapshot("pane")

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._numbers.restore(panes)
        self._rows.restore("pane", panes)

    def _windows(self, evaluated: Integers, ticks: Integers) -> pl.DataFrame:
        if not len(evaluated):
            return empty(self._output)
        start, end = self._spec.start, self._spec.end
        reach = None if start is None else start + 1
        low = None if reach is None else int(evaluated[0]) - reach + 1
        rows = self._rows.between(low, int(evaluated[-1]) - end)
        first, last = windows(rows.get_column(ORDINAL).to_numpy(), evaluated, reach, end)
        check_built(float(np.maximum(last - first, 0).sum()), len(self._output))
        owners, positions = expand(first, last)
        found = rows[positions].select(list(self._columns))
        return pl.DataFrame(
            [pl.Series(EVALUATION, evaluated[owners]), pl.Series(TICK, ticks[owners]), *found.get_columns()]
        )
