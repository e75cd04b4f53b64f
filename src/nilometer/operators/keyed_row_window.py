"""Row windows per key: stream -> windows (logical.RowWindow with keys).

Rows are counted for each key, in the order (time, id, position). At every `slide`-th row n of a key, the
window is the key's rows n - start ... n - end. Its tick is that of row n; its evaluation is the number of
that row among the rows of all keys.

>>> from nilometer.operators.frames import stream_dtypes
>>> from nilometer.types import Column
>>> river = Schema((Column("id", INT), Column("depth", INT)))
>>> logic = KeyedRowWindow(river, 1, 0, 1, ("id",)).build()  # RANGE 2 ROWS PER id
>>> rows = [
...     (5, 5, 1, 0, 1, 70),
...     (6, 6, 2, 1, 2, 60),
...     (7, 7, 1, 2, 1, 50),
... ]  # tick, time, id, position, id, depth
>>> logic.update(0, pl.DataFrame(rows, stream_dtypes(river), orient="row"))
>>> logic.advance(Progress(watermark=10)).rows.rows()  # evaluation, tick, id, depth
[(1, 5, 1, 70), (2, 6, 2, 60), (3, 7, 1, 70), (3, 7, 1, 50)]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.errors import InternalError
from nilometer.kernels.ranges import expand
from nilometer.operators.frames import dtypes, empty, evaluations, window_dtypes
from nilometer.operators.last_rows import LastRows
from nilometer.operators.limits import check_built, check_kept, operator
from nilometer.operators.logic import EVALUATION, TICK, Output, Progress
from nilometer.operators.row_window import ORDINAL, RowNumbers
from nilometer.operators.validation import require
from nilometer.types import INT, Schema, Type

_RANK = "@rank"
_PLACE = "@place"


@dataclass(frozen=True)
class KeyedRowWindow:
    """Spec, as `RowWindow`, with the columns whose values count rows of their own."""

    schema: Schema
    start: int
    end: int
    slide: int
    keys: tuple[str, ...]
    id_type: Type = INT

    def __post_init__(self) -> None:
        if self.end < 0 or self.start < self.end or self.slide <= 0:
            raise InternalError("a window that ends before it starts, or does not slide")
        missing = set(self.keys) - set(self.schema.names)
        require(bool(self.keys) and not missing, f"rows per {self.keys}, which ({self.schema}) does not have")

    def build(self) -> KeyedRowWindowLogic:
        """A fresh Logic."""
        return KeyedRowWindowLogic(self)


class KeyedRowWindowLogic:
    """Holds the rows that have no number yet, and the last rows of each key, with their numbers."""

    def __init__(self, spec: KeyedRowWindow) -> None:
        self._spec = spec
        self._columns = dtypes(spec.schema)
        self._output = window_dtypes(spec.schema)
        self._numbers = RowNumbers(spec.schema, spec.id_type)
        kept = self._columns | {_RANK: pl.Int64(), ORDINAL: pl.Int64()}
        self._last = LastRows(list(spec.keys), kept, ORDINAL)

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take rows of the stream."""
        self._numbers.update(port, rows)

    @operator("ROW_WINDOW")
    def advance(self, progress: Progress) -> Output:
        """Number the rows below the watermark; evaluate at every `slide`-th of each key."""
        new = self._numbers.advance(progress.watermark)
        if not new.height:
            return Output(empty(self._output), evaluations(pl.Series([], dtype=pl.Int64)))
        check_kept(len(self._last) + new.height)
        keys = list(self._spec.keys)
        old = self._last.of(new.select(keys)).with_columns(pl.lit(None, pl.Int64).alias(TICK))
        columns = [*self._columns, _RANK, ORDINAL, TICK]
        rows = pl.concat(
            [old.select(columns), new.with_columns(pl.lit(None, pl.Int64).alias(_RANK)).select(columns)]
        )
        # Old rows of a key come before its new ones, and carry their ranks on.
        rows = rows.sort(*keys, ORDINAL, maintain_order=True)
        rows = rows.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).over(keys).alias(_PLACE))
        before = (pl.col(_RANK) - pl.col(_PLACE)).max().over(keys).fill_null(1)
        rows = rows.with_columns((before + pl.col(_PLACE)).alias(_RANK))
        self._last.put(rows.filter(pl.col(_PLACE) >= pl.len().over(keys).cast(pl.Int64) - self._kept))
        return self._evaluated(rows)

    @property
    def _kept(self) -> int:
        """How many rows of a key a later window may hold; one at least tells the key's number."""
        return max(self._spec.start, 1)

    def _evaluated(self, rows: pl.DataFrame) -> Output:
        spec = self._spec
        ranks = rows.get_column(_RANK).to_numpy()
        at = np.flatnonzero(rows.get_column(TICK).is_not_null().to_numpy() & (ranks % spec.slide == 0))
        numbers = rows.get_column(ORDINAL).to_numpy()[at]
        at = at[np.argsort(numbers, kind="stable")]
        ranks = ranks[at]
        low = at - np.minimum(spec.start, ranks - 1)
        high = np.maximum(at - spec.end + 1, low)
        check_built(float((high - low).sum()), len(self._output))
        owners, positions = expand(low, high)
        ordinals = rows.get_column(ORDINAL).to_numpy()[at]
        ticks = rows.get_column(TICK).fill_null(0).to_numpy()[at]
        found = rows[positions].select(list(self._columns))
        answer = pl.DataFrame(
            [pl.Series(EVALUATION, ordinals[owners]), pl.Series(TICK, ticks[owners]), *found.get_columns()]
        )
        listed = pl.DataFrame({EVALUATION: pl.Series(ordinals), TICK: pl.Series(ticks)})
        return Output(answer, listed)

    def snapshot(self) -> dict[str, bytes]:
        """Returns the rows that wait, the number of rows so far, and the last rows of each key."""
        return self._numbers.snapshot() | self._last.snapshot("last")

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._numbers.restore(panes)
        self._last.restore("last", panes)
