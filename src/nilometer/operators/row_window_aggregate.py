"""Aggregates of row windows, fused: stream -> windows (logical.Aggregate over Select? over RowWindow).

    Aggregate(keys, items) · Select(predicate) · RowWindow(w)   =>   RowWindowAggregate   if nothing reads NOW

Once rows have their numbers, a row window is a time window whose clock is the number. The n-th row has tick
n, and the window n - start <= tick <= n - end is evaluated at every multiple of the slide. So this is a
WindowAggregate over numbered rows, with the same constant cost per row for any range / slide. Its evaluations
then get the ticks of the rows at which they took place.

>>> from nilometer.expressions import Aggregate, ColumnReference
>>> from nilometer.operators.frames import stream_dtypes
>>> from nilometer.types import Column
>>> river = Schema((Column("depth", INT),))
>>> total = Aggregate("sum", ColumnReference("depth", INT), False, INT)
>>> logic = RowWindowAggregate(river, 1, 0, 2, items=(("both", total),)).build()  # RANGE 2 ROWS SLIDE 2 ROWS
>>> rows = [(5, 5, 1, 0, 70), (6, 6, 1, 1, 60), (7, 7, 1, 2, 50), (9, 9, 2, 3, 40)]  # tick, time, id, ...
>>> logic.update(0, pl.DataFrame(rows, stream_dtypes(river), orient="row"))
>>> logic.advance(Progress(watermark=10)).rows.rows()  # evaluation, tick, both
[(2, 6, 130), (4, 9, 90)]
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.expressions import Expression
from nilometer.operators.aggregate_items import NamedAggregate, NamedExpression
from nilometer.operators.frames import conform, window_dtypes
from nilometer.operators.limits import operator
from nilometer.operators.logic import EVALUATION, TICK, Output, Progress
from nilometer.operators.row_window import ORDINAL, RowNumbers, RowWindow, evaluated_rows
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.operators.window_scope import MOST_EVALUATIONS
from nilometer.types import INT, Schema, Type

_PREFIX = "numbered/"


@dataclass(frozen=True)
class RowWindowAggregate:
    """Spec: the window as in `RowWindow`; keys, items and predicate as in `WindowAggregate`.

    `input_schema` are all visible columns of the stream: they decide the order of rows that are equal in all
    else.
    """

    input_schema: Schema
    start: int | None
    end: int
    slide: int
    keys: tuple[NamedExpression, ...] = ()
    items: tuple[NamedAggregate, ...] = ()
    predicate: Expression | None = None
    id_type: Type = INT

    def __post_init__(self) -> None:
        RowWindow(self.input_schema, self.start, self.end, self.slide, self.id_type)
        _ = self.numbered

    @property
    def numbered(self) -> WindowAggregate:
        """The aggregate over a stream whose ticks are the rows' numbers."""
        return WindowAggregate(
            self.start, self.end, self.slide, False, None, self.keys, self.items, self.predicate
        )

    @property
    def schema(self) -> Schema:
        """The visible columns of the answer."""
        return self.numbered.schema

    def build(self) -> RowWindowAggregateLogic:
        """A fresh Logic."""
        return RowWindowAggregateLogic(self)


class RowWindowAggregateLogic:
    """Numbers rows and passes them to a window aggregate whose clock is the number."""

    def __init__(self, spec: RowWindowAggregate) -> None:
        self._slide = spec.slide
        self._numbers = RowNumbers(spec.input_schema, spec.id_type)
        self._aggregate = spec.numbered.build()
        self._output = window_dtypes(spec.schema)

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take rows of the stream."""
        self._numbers.update(port, rows)

    @operator("an aggregate of row windows")
    def advance(self, progress: Progress) -> Output:
        """Number the rows below the watermark; aggregate at every `slide`-th of them."""
        before = self._numbers.count + 1
        final = self._numbers.advance(progress.watermark)
        if final.height:
            self._aggregate.update(0, final.with_columns(pl.col(ORDINAL).alias(TICK)))
        # Many rows at once are not a gap in time, so they are evaluated in steps of at most MOST_EVALUATIONS.
        after = self._numbers.count + 1
        steps = [*range(before + MOST_EVALUATIONS, after, MOST_EVALUATIONS), after]
        answers = pl.concat([self._aggregate.advance(Progress(step, 1)).rows for step in steps])
        listed = evaluated_rows(final, self._slide)
        rows = answers.drop(TICK).join(listed, on=EVALUATION, how="left", maintain_order="left")
        return Output(conform(rows, self._output), listed)

    def snapshot(self) -> dict[str, bytes]:
        """Returns the panes of both."""
        inner = {_PREFIX + name: data for name, data in self._aggregate.snapshot().items()}
        return self._numbers.snapshot() | inner

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._numbers.restore(panes)
        inner = {name.removeprefix(_PREFIX): data for name, data in panes.items() if name.startswith(_PREFIX)}
        self._aggregate.restore(inner)
