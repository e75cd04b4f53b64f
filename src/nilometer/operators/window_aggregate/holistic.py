"""The Logic of window aggregates that include a holistic one: MEDIAN, DISTINCT, MIN and MAX of text or
BOOLEAN.

A holistic aggregate has no partial of constant size (Gray et al., Data Cube, 1997). So windows are
materialised in parts of bounded size, and Polars groups them. The state is the rows of the window, restricted
to the columns that are read. If a few rows decide all aggregates (FIRST, LAST, ARG_MAX, ARG_MIN), only these are
kept of each slice and group (selection.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from nilometer.expressions import Aggregate as AggregateExpression
from nilometer.expressions import ColumnReference, Expression, walk
from nilometer.kernels.arrays import Integers
from nilometer.operators.aggregate import Aggregate
from nilometer.operators.aggregate_items import Grouping
from nilometer.operators.aggregate_sieve import aggregate_sieve
from nilometer.operators.evaluate.evaluate import compile_predicate
from nilometer.operators.frames import concatenate, conform, evaluations, window_dtypes
from nilometer.operators.limits import operator
from nilometer.operators.logic import EVALUATION, TICK, Output, Progress, no_evaluations
from nilometer.operators.time_window import TimeWindow
from nilometer.operators.window_aggregate.completeness import Expectation
from nilometer.operators.window_aggregate.selection import Selection, selects
from nilometer.types import INT, Column, Schema

if TYPE_CHECKING:
    from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate

_ROWS_AT_ONCE = 4_000_000
_HEARD = "@heard"


class HolisticLogic:
    """A materialised window with the aggregate above it."""

    def __init__(self, spec: WindowAggregate) -> None:
        read = [e for _, e in spec.keys] + [e for _, e in spec.items]
        if spec.predicate is not None:
            read.append(spec.predicate)
        self._window = TimeWindow(
            _columns_read(read), spec.start, spec.end, spec.slide, spec.open_start, spec.interval, spec.grid
        ).build()
        self._predicate = compile_predicate(spec.predicate)
        self._aggregate = Aggregate(spec.keys, spec.items).build()
        self._output = window_dtypes(spec.schema)
        self._keys = [name for name, _ in spec.keys]
        self._selection = Selection(spec) if selects(spec) else None
        # Where rows decide which ticks are evaluated, one without a value is set aside in each of its windows.
        self._sieve = None
        if spec.sieves_early:
            self._sieve = aggregate_sieve(spec.keys, spec.items, spec.predicate) or None
        self._expectation = None
        if spec.completeness is not None:
            self._expectation = Expectation(spec.completeness, spec.scope, grouped=bool(spec.keys))
            self._heard = Grouping(spec.keys, [(_HEARD, AggregateExpression("count", None, False, INT))])

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take rows of the stream."""
        if self._expectation is not None:
            self._expectation.update(rows)
        if self._sieve is not None:
            rows = self._sieve(rows)
        self._window.update(port, rows if self._selection is None else self._selection(rows))

    @operator("an aggregate of windows")
    def advance(self, progress: Progress) -> Output:
        """Aggregate every evaluation below the watermark."""
        listed, found = [no_evaluations()], []
        for ticks, rows in self._window.windows(progress, _ROWS_AT_ONCE):
            part = evaluations(pl.Series(ticks))
            listed.append(part)
            answers = self._aggregate.aggregate(self._predicate(rows), part)
            if self._expectation is not None:
                answers = self._with_completeness(self._expectation, answers, rows, progress.first_tick)
            found.append(conform(answers, self._output))
        return Output(concatenate(found, self._output), pl.concat(listed))

    def snapshot(self) -> dict[str, bytes]:
        """Returns the window's panes and the state of `Expectation`."""
        panes = self._window.snapshot()
        return panes if self._expectation is None else panes | self._expectation.snapshot()

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._window.restore(panes)
        if self._expectation is not None:
            self._expectation.restore(panes)

    def _with_completeness(
        self, expectation: Expectation, answers: pl.DataFrame, rows: pl.DataFrame, first_tick: int | None
    ) -> pl.DataFrame:
        heard = self._heard(rows, (EVALUATION,))
        keys = [EVALUATION, *self._keys]
        joined = answers.join(heard, on=keys, how="left", nulls_equal=True, maintain_order="left")
        counts: Integers = joined.get_column(_HEARD).fill_null(0).to_numpy().astype(np.int64)
        column = expectation.column(joined.get_column(TICK).to_numpy(), counts, first_tick)
        return joined.drop(_HEARD).with_columns(column)


def _columns_read(expressions: list[Expression]) -> Schema:
    references = [node for e in expressions for node in walk(e) if isinstance(node, ColumnReference)]
    return Schema(tuple({node.name: Column(node.name, node.type) for node in references}.values()))
