"""LATEST: a stream -> windows; at each evaluation the last tuple of each source in the window.

The state is, for each source, its last tuple and those that an evaluation before it can still show.

>>> from nilometer.types import Column
>>> river = Schema((Column("R.depth", INT),))
>>> logic = Latest(river, ("R.depth",), Scope(None, 0, 5, False), "L").build()
>>> rows = [(1, 1, 2, 0, 40), (3, 3, 1, 1, 70), (4, 4, 2, 2, 45)]  # tick, time, id, position, depth
>>> logic.update(0, pl.DataFrame(rows, frames.stream_dtypes(river), orient="row"))
>>> logic.advance(Progress(watermark=6, first_tick=1)).rows.rows()
[(5, 5, 4, 2, 45), (5, 5, 3, 1, 70)]
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.algebra.table_function import Frame, FunctionCall
from nilometer.algebra.table_functions import LATEST
from nilometer.operators import frames
from nilometer.operators.last_of_each.moments import MOMENT, last_at, still_needed
from nilometer.operators.limits import check_kept, operator
from nilometer.operators.logic import EVALUATION, ID, TICK, TIME, Output, Progress
from nilometer.operators.order import source_order
from nilometer.operators.validation import require
from nilometer.operators.waiting import Waiting
from nilometer.operators.window_scope import BEGINNING, Scope
from nilometer.types import INT, INT_MAXIMUM, INT_MINIMUM, Schema, Type, ceil_to


@dataclass(frozen=True)
class Latest:
    """The last tuples of the sources, with these columns of the input."""

    input: Schema
    columns: tuple[str, ...]
    scope: Scope
    alias: str
    id_type: Type = INT

    def __post_init__(self) -> None:
        require(self.scope.slide is not None, "LATEST without evaluations")
        require(set(self.columns) <= set(self.input.names), "LATEST of columns that are not there")

    @classmethod
    def of(cls, call: FunctionCall, input: Schema) -> Latest:
        """Returns the operator of a call."""
        frame = call.window
        assert isinstance(frame, Frame)
        scope = Scope(frame.start, frame.end, frame.slide, frame.open_start)
        return cls(input, call.columns, scope, call.alias, call.id_type.plain)

    @property
    def schema(self) -> Schema:
        """`alias.time`, `alias.id` and the columns."""
        return FunctionCall(LATEST, self.alias, self.id_type, self.columns).schema(self.input)

    def build(self) -> LatestLogic:
        return LatestLogic(self)


class LatestLogic:
    """The tuples that wait, and those that an evaluation can still show."""

    def __init__(self, spec: Latest) -> None:
        self._spec = spec
        self._visible = list(spec.input.names)
        self._output = frames.window_dtypes(spec.schema)
        self._input = frames.stream_dtypes(spec.input, spec.id_type)
        self._waiting = Waiting(self._input)
        self._rows = frames.empty(self._input)
        self._since = BEGINNING
        self._saved = frames.Saved()

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._waiting.add(rows.drop_nulls(ID))

    @operator("LATEST")
    def advance(self, progress: Progress) -> Output:
        scope, slide = self._spec.scope, self._spec.scope.slide
        assert slide is not None
        new = self._waiting.release(progress.watermark)
        rows = self._rows
        if new.height:
            rows = frames.concatenate([rows, source_order(new, self._visible)], self._input)
        none = np.empty(0, dtype=np.int64)
        ticks = scope.evaluations(progress.first_tick, self._since, progress.watermark, none)
        self._since = max(self._since, progress.watermark)
        shown = self._shown(rows, pl.Series(ticks, dtype=pl.Int64))
        if new.height or len(ticks):
            following = ceil_to(max(progress.watermark, INT_MINIMUM + slide), slide)
            rows = still_needed(rows, TICK, following - scope.end)
            if scope.reach is not None:
                rows = rows.filter(pl.col(TICK) > min(following - scope.reach, INT_MAXIMUM))
            check_kept(rows.height)
            self._rows = rows
        return Output(shown, frames.evaluations(pl.Series(ticks, dtype=pl.Int64)))

    def _shown(self, rows: pl.DataFrame, ticks: pl.Series) -> pl.DataFrame:
        if not rows.height or not len(ticks):
            return frames.empty(self._output)
        scope = self._spec.scope
        found = last_at(rows, TICK, ticks - scope.end)
        tick = pl.col(MOMENT) + scope.end
        if scope.reach is not None:
            found = found.filter(pl.col(TICK) > tick - scope.reach)
        time, id_, *others = self._spec.schema.names
        columns = zip(self._spec.columns, others, strict=True)
        chosen = found.select(
            tick.alias(EVALUATION),
            tick.alias(TICK),
            pl.col(TIME).alias(time),
            pl.col(ID).alias(id_),
            *(pl.col(name).alias(other) for name, other in columns),
        )
        return frames.conform(chosen, self._output)

    def snapshot(self) -> dict[str, bytes]:
        meta = {"meta": json.dumps({"since": self._since}).encode()}
        return self._waiting.snapshot("waiting") | {"rows": self._saved(self._rows)} | meta

    def restore(self, panes: dict[str, bytes]) -> None:
        self._waiting.restore("waiting", panes)
        self._rows = self._saved.load(panes["rows"])
        self._since = json.loads(panes["meta"])["since"]
