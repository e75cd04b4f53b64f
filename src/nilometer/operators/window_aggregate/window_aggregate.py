"""Aggregates of time windows, fused: stream -> windows (logical.Aggregate over Select? over TimeWindow).

    Aggregate(keys, items) · Select(predicate) · TimeWindow(w)   =>   WindowAggregate   if nothing reads NOW

Aggregates with partials of constant size (COUNT, SUM, AVG, MIN, MAX, STDEV, VARIANCE, CORR, COVAR, REGR) never
materialise a window: rows become partials of slices, and the windows slide over these at constant cost per tuple
(sliding.py). So do sketches (sketched.py), TWA and INTEGRAL (over_time.py), and any of these together (combined.py). If one
of the aggregates is holistic (MEDIAN, DISTINCT, ARRAY_AGG), windows are materialised in parts (holistic.py).

The rows before the predicate determine the evaluations. This also holds for windows without a slide over a
pushed input. An ungrouped aggregate gives one row per evaluation, a grouped one a row per group with a row in
the window.

>>> import polars as pl
>>> from nilometer.expressions import Aggregate, ColumnReference
>>> from nilometer.operators.frames import stream_dtypes
>>> from nilometer.operators.logic import Progress
>>> from nilometer.types import INT
>>> most = Aggregate("max", ColumnReference("depth", INT), False, INT)
>>> logic = WindowAggregate(10, 0, 5, True, items=(("most", most),)).build()  # RANGE 10 SLIDE 5
>>> rows = [(1, 1, 1, 0, 70), (6, 6, 1, 1, 60), (12, 12, 1, 2, 50)]  # tick, time, id, position, depth
>>> logic.update(0, pl.DataFrame(rows, stream_dtypes(Schema((Column("depth", INT),))), orient="row"))
>>> logic.advance(Progress(watermark=16, first_tick=1)).rows.select("@tick", "most").rows()
[(5, 70), (10, 70), (15, 60)]
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.algebra import Completeness
from nilometer.algebra.grid import Grid
from nilometer.errors import InternalError
from nilometer.expressions import Expression, uses_now
from nilometer.operators.aggregate_items import NamedAggregate, NamedExpression, check_items, output_schema
from nilometer.operators.frames import Dtypes
from nilometer.operators.logic import TICK, TIME, Logic
from nilometer.operators.window_aggregate.components import slides
from nilometer.operators.window_scope import Scope
from nilometer.types import FLOAT, Column, Schema


@dataclass(frozen=True)
class WindowAggregate:
    """Spec.

    Parameters
    ----------
    start, end, slide, open_start, interval, grid
        The window, as in `TimeWindow`.
    keys
        (name, expression) pairs; none: one row per evaluation, also of an empty window.
    items
        (name, aggregate) pairs.
    predicate
        Which rows of the window count; None for all.
    completeness
        Adds a last column, of the rows before the predicate.
    time
        The column that holds the time of each tuple, if there is one.

    References
    ----------
    Krishnamurthy, Wu, Franklin: On-the-fly sharing for streamed aggregation, SIGMOD 2006 (slices).
    Tangwongsan, Hirzel, Schneider: Low-latency sliding-window aggregation, DEBS 2017 (two stacks).
    """

    start: int | None
    end: int
    slide: int | None
    open_start: bool
    interval: int | None = None
    keys: tuple[NamedExpression, ...] = ()
    items: tuple[NamedAggregate, ...] = ()
    predicate: Expression | None = None
    completeness: Completeness | None = None
    grid: Grid | None = None
    time: str | None = None

    def __post_init__(self) -> None:
        _ = self.scope, self.schema
        check_items(self.keys, self.items)
        if not fusible(self.keys, self.items, self.predicate):
            raise InternalError("an aggregate that reads NOW cannot be fused with its window")

    @property
    def scope(self) -> Scope:
        """The ticks that are evaluated and the ticks that each evaluation sees."""
        return Scope(self.start, self.end, self.slide, self.open_start, self.interval, self.grid)

    @property
    def schema(self) -> Schema:
        """The visible columns of the answer."""
        schema = output_schema(self.keys, self.items)
        return (
            schema if self.completeness is None else schema + Schema((Column(self.completeness.name, FLOAT),))
        )

    @property
    def sliding(self) -> bool:
        """Whether every aggregate has partials of constant size."""
        return slides(self.items)

    @property
    def selective(self) -> bool:
        """Whether FIRST and LAST may be made from the rows that decide them: the clock says when windows are
        evaluated."""
        return self.scope.period is not None

    @property
    def needed(self) -> Dtypes:
        """The columns without which no tuple has a window."""
        return {TICK: pl.Int64(), TIME: pl.Int64()}

    @property
    def row_keys(self) -> tuple[NamedExpression, ...]:
        """The keys that read tuples: all of them."""
        return self.keys

    @property
    def sieves_early(self) -> bool:
        """Whether a row without a value may be set aside before anything else sees it: it decides neither when windows
        are evaluated nor how complete they are."""
        return self.scope.period is not None and self.completeness is None

    def build(self) -> Logic:
        """Returns a fresh Logic. Modules that need numba are imported here, so that planning starts without
        it.
        """
        if self.sliding:
            from nilometer.operators.window_aggregate.sliding import SlidingLogic

            return SlidingLogic(self)
        from nilometer.operators.window_aggregate.combined import parted

        logic = parted(self)
        if logic is not None:
            return logic
        from nilometer.operators.window_aggregate.holistic import HolisticLogic

        return HolisticLogic(self)


def fusible(
    keys: tuple[NamedExpression, ...], items: tuple[NamedAggregate, ...], predicate: Expression | None
) -> bool:
    """Whether an aggregate can be fused with its window: no expression in it depends on the window in which a
    row is seen.
    """
    expressions = [expression for _, expression in keys] + [item for _, item in items]
    return not any(uses_now(e) for e in expressions) and (predicate is None or not uses_now(predicate))
