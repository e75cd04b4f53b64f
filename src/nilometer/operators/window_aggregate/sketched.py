"""The Logic of window aggregates that are sketches of one argument: APPROX_PERCENTILE, APPROX_COUNT_DISTINCT.

A DDSketch is a count for each bucket, a HyperLogLog the set of its (register, rank) pairs. So a sketch is an
aggregate with one key more: the bucket or pair. That aggregate has partials of constant size and slides; sketches of
slices merge by addition. Its state has at most one partial for each slice, group and bucket (about 70,000 buckets and
850,000 pairs, of which data use a few hundred), however many rows there are. A last step reads the answers from the
buckets of each window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from nilometer.expressions import Aggregate as AggregateExpression
from nilometer.expressions import ColumnReference
from nilometer.operators.aggregate_items import NamedAggregate
from nilometer.operators.aggregate_sieve import aggregate_sieve
from nilometer.operators.evaluate.evaluate import compile_expression, compile_predicate
from nilometer.operators.frames import conform, window_dtypes
from nilometer.operators.group_functions import SKETCHES, read_sketch, share_of, sketch_of
from nilometer.operators.limits import operator
from nilometer.operators.logic import EVALUATION, TICK, Output, Progress
from nilometer.operators.window_aggregate.components import where
from nilometer.types import INT

if TYPE_CHECKING:
    from nilometer.operators.session_aggregate.session_aggregate import SessionAggregate
    from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate

_SKETCHED = "@sketched"
_COUNT = "@count"


def sketched(items: Sequence[NamedAggregate]) -> bool:
    """Whether all aggregates are sketches of one kind and argument, or counts of rows."""
    kinds = {(a.function, a.argument) for _, a in items if a.argument is not None}
    return len(kinds) == 1 and next(iter(kinds))[0] in SKETCHES


class SketchedLogic:
    """The counts of rows by group and bucket, and the answers that are read from them."""

    def __init__(self, spec: WindowAggregate | SessionAggregate) -> None:
        self._items = spec.items
        self._keys = [name for name, _ in spec.keys]
        sketch = next(a for _, a in spec.items if a.argument is not None)
        assert sketch.argument is not None
        self._function = sketch.function
        self._argument = compile_expression(sketch.argument)
        self._predicate = None if spec.predicate is None else compile_predicate(spec.predicate)
        self._sieve = aggregate_sieve(spec.row_keys, spec.items, spec.predicate)
        self._output = window_dtypes(spec.schema)
        counts = replace(
            spec,
            keys=(*spec.keys, (_SKETCHED, ColumnReference(_SKETCHED, INT))),
            items=((_COUNT, AggregateExpression("count", None, False, INT)),),
        )
        self._counts = counts.build()

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Put the value of each row into its bucket."""
        rows = self._sieve(rows)
        if self._predicate is None:
            values = self._argument(rows)
        else:
            values = where(self._predicate.mask(rows), self._argument, rows)
        self._counts.update(port, rows.with_columns(sketch_of(self._function, values).alias(_SKETCHED)))

    @operator("an aggregate of windows")
    def advance(self, progress: Progress) -> Output:
        """Read the answers of every evaluation below the watermark from its buckets."""
        found = self._counts.advance(progress)
        groups = [EVALUATION, TICK, *self._keys]
        values = [self._value(aggregate).alias(name) for name, aggregate in self._items]
        answers = found.rows.group_by(groups, maintain_order=True).agg(values)
        if not self._keys:
            answers = found.evaluations.join(
                answers.drop(TICK), on=EVALUATION, how="left", maintain_order="left"
            )
        for name, aggregate in self._items:
            column = answers.get_column(name)
            if aggregate.argument is None:
                column = column.fill_null(0)
            else:
                column = read_sketch(self._function, column)
            answers = answers.with_columns(column.alias(name))
        return Output(conform(answers, self._output), found.evaluations)

    def snapshot(self) -> dict[str, bytes]:
        """Returns the panes of the counts."""
        return self._counts.snapshot()

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._counts.restore(panes)

    def _value(self, aggregate: AggregateExpression) -> pl.Expr:
        if aggregate.argument is None:
            return pl.col(_COUNT).sum()
        known = pl.col(_SKETCHED).is_not_null()
        buckets = pl.col(_SKETCHED).filter(known)
        if aggregate.function == "approx_count_distinct":
            return buckets.cast(pl.Int32)
        return _of_rank(buckets, pl.col(_COUNT).filter(known), share_of(aggregate))


def _of_rank(buckets: pl.Expr, counts: pl.Expr, share: float) -> pl.Expr:
    """The bucket of the value of that rank; group_functions has the same without counts."""
    rank = pl.max_horizontal((counts.sum().cast(pl.Float64) * share - 1e-9).ceil(), 1.0)
    return buckets.sort().filter(counts.sort_by(buckets).cum_sum() >= rank).first()
