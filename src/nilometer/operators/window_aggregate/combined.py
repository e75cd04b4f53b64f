"""The Logic of window and session aggregates of several kinds: each kind keeps its own partials, and their answers are joined.

    SELECT id, AVG(x), TWA(x), CORR(x, y), APPROX_PERCENTILE(x, 0.9), LAST(x) ... GROUP BY id

Sums and correlations slide (sliding.py), areas are paths (over_time.py), sketches are counts of buckets (sketched.py), and
of FIRST and LAST the deciding rows are kept (selection.py). None of them materialises a window. All see the same rows,
so they have the same evaluations and the same groups in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from nilometer.expressions import Aggregate as AggregateExpression
from nilometer.expressions import Expression
from nilometer.operators.aggregate_items import NamedAggregate
from nilometer.operators.aggregate_sieve import aggregate_sieve
from nilometer.operators.frames import conform, window_dtypes
from nilometer.operators.group_functions import OVER_TIME, SELECTIVE, SKETCHES
from nilometer.operators.limits import operator
from nilometer.operators.logic import EVALUATION, TICK, Logic, Output, Progress
from nilometer.operators.window_aggregate.components import slides
from nilometer.operators.window_aggregate.over_time import OverTimeLogic, over_time
from nilometer.operators.window_aggregate.sketched import SketchedLogic, sketched

if TYPE_CHECKING:
    from polars._typing import JoinStrategy

    from nilometer.operators.session_aggregate.session_aggregate import SessionAggregate
    from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate

    Spec: TypeAlias = WindowAggregate | SessionAggregate

_Kind = tuple[str, Expression | None, str]


def parted(spec: Spec) -> Logic | None:
    """A Logic for aggregates that do not all slide; None if one of them needs all rows of its window, or if all of
    them are decided by a few rows."""
    if not spec.sieves_early and aggregate_sieve(spec.row_keys, spec.items, spec.predicate):
        return None
    if spec.completeness is None and sketched(spec.items):
        return SketchedLogic(spec)
    if spec.completeness is None and over_time(spec.items, spec.time):
        return OverTimeLogic(spec)
    parts = kinds(spec)
    return CombinedLogic(spec, parts) if parts is not None and len(parts) > 1 else None


def kinds(spec: Spec) -> list[tuple[NamedAggregate, ...]] | None:
    """The aggregates by the partials that they share; None if one of them needs all rows of its window."""
    found: dict[_Kind, list[NamedAggregate]] = {}
    if spec.completeness is not None:
        found[("sliding", None, "")] = []  # counts the rows before the predicate, too
    for item in spec.items:
        kind = _kind(item[1], spec)
        if kind is None:
            return None
        found.setdefault(kind, []).append(item)
    return [tuple(items) for items in found.values()]


def decided_by_rows(items: Sequence[NamedAggregate]) -> bool:
    """Whether a few rows decide all of them, as for FIRST and LAST."""
    return all(aggregate.function in SELECTIVE for _, aggregate in items)


def _kind(aggregate: AggregateExpression, spec: Spec) -> _Kind | None:
    item: Sequence[NamedAggregate] = (("", aggregate),)
    if slides(item):
        return "sliding", None, ""
    if aggregate.function in SKETCHES and not aggregate.distinct:
        return aggregate.function, aggregate.argument, ""
    if aggregate.function in OVER_TIME and over_time(item, spec.time):
        return "over time", aggregate.argument, str(aggregate.rest[1:])
    if aggregate.function in SELECTIVE and spec.selective:
        return "selected", None, ""
    return None


class CombinedLogic:
    """A Logic for each kind."""

    def __init__(self, spec: Spec, parts: Sequence[tuple[NamedAggregate, ...]]) -> None:
        self._keys = [EVALUATION, *(name for name, _ in spec.keys)]
        self._output = window_dtypes(spec.schema)
        self._sieve = aggregate_sieve(spec.row_keys, spec.items, spec.predicate)
        # A group is missing from a kind in which it has no value; then it has no answer.
        self._how: JoinStrategy = "inner" if spec.completeness is None else "left"
        self._parts: list[Logic] = []
        for place, items in enumerate(parts):
            part: Spec = replace(spec, items=items)
            if place and part.completeness is not None:
                part = replace(part, completeness=None)
            self._parts.append(part.build())

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take rows of the stream."""
        rows = self._sieve(rows)
        for part in self._parts:
            part.update(port, rows)

    @operator("an aggregate of windows")
    def advance(self, progress: Progress) -> Output:
        """Join what the kinds answer at every evaluation below the watermark."""
        first, *others = (part.advance(progress) for part in self._parts)
        rows = first.rows
        for other in others:
            answers = other.rows.drop(TICK)
            rows = rows.join(answers, on=self._keys, how=self._how, nulls_equal=True, maintain_order="left")
        return Output(conform(rows, self._output), first.evaluations)

    def snapshot(self) -> dict[str, bytes]:
        """Returns the panes of all kinds."""
        return {
            f"{place} {name}": pane
            for place, part in enumerate(self._parts)
            for name, pane in part.snapshot().items()
        }

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        for place, part in enumerate(self._parts):
            prefix = f"{place} "
            part.restore({n.removeprefix(prefix): pane for n, pane in panes.items() if n.startswith(prefix)})
