"""LIMIT of a stream: the first tuples by (time, id, position), and after them no more (logical.Limit).

A tuple waits until its tick is complete, because an earlier one may still come. The state is the waiting
tuples and the number of those that have passed. Once the last tuple has left, nothing is kept.

>>> from nilometer.types import Column
>>> river = Schema((Column("depth", INT),))
>>> logic = Limit(river, limit=2).build()
>>> rows = [(5, 5, 1, 0, 70), (3, 3, 1, 1, 71), (4, 4, 1, 2, 72)]  # tick, time, id, position, depth
>>> logic.update(0, pl.DataFrame(rows, frames.stream_dtypes(river), orient="row"))
>>> logic.advance(Progress(watermark=9)).rows["depth"].to_list()
[71, 72]
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.operators import frames
from nilometer.operators.limits import operator
from nilometer.operators.logic import Output, Progress, no_evaluations
from nilometer.operators.order import stream_order
from nilometer.operators.validation import require
from nilometer.operators.waiting import Waiting
from nilometer.types import INT, Schema, Type


@dataclass(frozen=True)
class Limit:
    """At most `limit` tuples after the first `offset`."""

    schema: Schema
    limit: int | None
    offset: int = 0
    id_type: Type = INT

    def __post_init__(self) -> None:
        require(self.limit is None or self.limit >= 0, "a negative LIMIT")
        require(self.offset >= 0, "a negative OFFSET")

    def build(self) -> LimitLogic:
        return LimitLogic(self)


class LimitLogic:
    """The waiting tuples, and how many have passed."""

    def __init__(self, spec: Limit) -> None:
        self._offset = spec.offset
        self._last = None if spec.limit is None else spec.offset + spec.limit
        self._columns = frames.stream_dtypes(spec.schema, spec.id_type)
        self._values = list(spec.schema.names)
        self._waiting = Waiting(self._columns)
        self._passed = 0

    def _is_finished(self) -> bool:
        """Whether no tuple can come any more."""
        return self._last is not None and self._passed >= self._last

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        if not self._is_finished():
            self._waiting.add(rows)

    @operator("LIMIT")
    def advance(self, progress: Progress) -> Output:
        rows = self._waiting.release(progress.watermark)
        if self._is_finished() or not rows.height:
            return Output(frames.empty(self._columns), no_evaluations())
        skipped = max(0, self._offset - self._passed)
        kept = None if self._last is None else max(0, self._last - self._passed - skipped)
        self._passed += rows.height
        rows = stream_order(rows, self._values).slice(skipped, kept)
        if self._is_finished():
            self._waiting = Waiting(self._columns)
        return Output(rows.select(*self._columns), no_evaluations())

    def snapshot(self) -> dict[str, bytes]:
        return self._waiting.snapshot("waiting") | {"passed": str(self._passed).encode()}

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore("waiting", panes)
        self._passed = int(panes["passed"])
