"""The Logic of TWA and INTEGRAL of windows: rows -> a path per slice, group and source -> answers.

The area under the readings of one source in a slice is a partial of constant size: the first reading, the last one,
and the area between them (kernels/merging.py). Two such stretches, one after the other, make one. So it is an
aggregate with one key more, the source, which slides like a sum; a last step adds up the sources of each group.

A stretch is made of readings in the order of time. So readings wait until the watermark has passed them, and are
sorted. The state is these, and one path for each slice, group and source, however many readings there are.

This is for aggregates of one argument over the stream's own time (`WindowAggregate.time`): its order is that of ticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from nilometer.expressions import Aggregate as AggregateExpression
from nilometer.expressions import ColumnReference, Expression, type_of, walk
from nilometer.operators.aggregate_items import NamedAggregate
from nilometer.operators.aggregate_sieve import aggregate_sieve
from nilometer.operators.evaluate.evaluate import compile_expression, compile_predicate
from nilometer.operators.frames import Dtypes, conform, dtype, window_dtypes
from nilometer.operators.group_functions import OVER_TIME
from nilometer.operators.limits import operator
from nilometer.operators.logic import EVALUATION, TICK, TIME, Output, Progress
from nilometer.operators.waiting import Waiting
from nilometer.operators.window_aggregate.components import where
from nilometer.types import FLOAT, INT

if TYPE_CHECKING:
    from nilometer.operators.session_aggregate.session_aggregate import SessionAggregate
    from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate

_VALUE, _SOURCE = "@value", "@source"
_METHOD, _ORDER = 0, 1


def over_time(items: Sequence[NamedAggregate], time: str | None) -> bool:
    """Whether all aggregates are areas under one argument, over the stream's own time."""
    if not items or time is None or any(a.function not in OVER_TIME for _, a in items):
        return False
    times = {str(a.rest[_ORDER]) for _, a in items}
    return times == {time} and len({(a.argument, a.rest[_ORDER:]) for _, a in items}) == 1


class OverTimeLogic:
    """Readings that wait, and the paths of the others."""

    def __init__(self, spec: WindowAggregate | SessionAggregate) -> None:
        self._items = spec.items
        self._keys = [name for name, _ in spec.keys]
        self._output = window_dtypes(spec.schema)
        first = spec.items[0][1]
        assert first.argument is not None
        self._argument = compile_expression(first.argument)
        self._predicate = None if spec.predicate is None else compile_predicate(spec.predicate)
        self._sieve = aggregate_sieve(spec.row_keys, spec.items, spec.predicate)
        sources = first.rest[_ORDER + 1 :]
        self._paths = replace(
            spec,
            keys=(*spec.keys, *((_SOURCE, source) for source in sources)),
            items=tuple(_pieces({_method(a) for _, a in spec.items})),
        ).build()
        read = [e for _, e in spec.row_keys] + list(sources)
        read += [] if spec.predicate is None else [spec.predicate]
        held: Dtypes = {_VALUE: pl.Float64()}
        self._waiting = Waiting(spec.needed | held | _columns(read))

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        """Take readings of the stream."""
        rows = self._sieve(rows)
        if self._predicate is None:
            values = self._argument(rows)
        else:
            values = where(self._predicate.mask(rows), self._argument, rows)
        self._waiting.add(rows.with_columns(values.cast(pl.Float64).alias(_VALUE)))

    @operator("an aggregate of windows")
    def advance(self, progress: Progress) -> Output:
        """Add the readings below the watermark to their paths, and measure every evaluation below it."""
        ready = self._waiting.release(progress.watermark)
        if ready.height:
            self._paths.update(0, ready.sort(TIME, _VALUE))
        found = self._paths.advance(progress)
        groups = [EVALUATION, TICK, *self._keys]
        values = [_measured(a).alias(name) for name, a in self._items]
        answers = found.rows.group_by(groups, maintain_order=True).agg(values)
        if not self._keys:
            answers = found.evaluations.join(
                answers.drop(TICK), on=EVALUATION, how="left", maintain_order="left"
            )
        finite = [pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name, _ in self._items]
        return Output(conform(answers.with_columns(finite), self._output), found.evaluations)

    def snapshot(self) -> dict[str, bytes]:
        """Returns the waiting readings and the panes of the paths."""
        return self._waiting.snapshot("readings") | {
            f"paths {name}": pane for name, pane in self._paths.snapshot().items()
        }

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._waiting.restore("readings", panes)
        self._paths.restore(
            {name.removeprefix("paths "): pane for name, pane in panes.items() if name.startswith("paths ")}
        )


def _method(aggregate: AggregateExpression) -> Expression:
    return aggregate.rest[_METHOD]


def _pieces(methods: set[Expression]) -> list[NamedAggregate]:
    """The aggregates of one source of which its part in the answers consists."""
    value = ColumnReference(_VALUE, FLOAT)
    pieces = [
        ("@sum", AggregateExpression("sum", value, False, FLOAT)),
        ("@count", AggregateExpression("count", value, False, INT)),
    ]
    for method in sorted(methods, key=str):
        for function in ("area", "width"):
            piece = AggregateExpression(function, value, False, FLOAT, (method,))
            pieces.append((f"@{function} {method}", piece))
    return pieces


def _measured(aggregate: AggregateExpression) -> pl.Expr:
    """The answer of a group from the pieces of its sources."""
    area = pl.col(f"@area {_method(aggregate)}").sum()
    count = pl.col("@count").sum()
    if aggregate.function == "integral":
        return pl.when(count > 0).then(area / 1e6)
    width = pl.col(f"@width {_method(aggregate)}").sum()
    plain = pl.when(count > 0).then(pl.col("@sum").sum() / count)
    return pl.when(width > 0).then(area / width).otherwise(plain)


def _columns(expressions: Sequence[Expression]) -> Dtypes:
    references = [node for e in expressions for node in walk(e) if isinstance(node, ColumnReference)]
    return {node.name: dtype(type_of(node)) for node in references}
