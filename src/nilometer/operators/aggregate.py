"""Aggregates over windows or over a table: windows -> windows, table -> table (logical.Aggregate).

The answer has one row per group and evaluation. Without keys it has one row per evaluation, even of an empty
window (COUNT 0, else NULL). No state is kept from one round to the next, because every evaluation comes with
all its rows.

>>> from nilometer.expressions import Aggregate as Expression, ColumnReference
>>> from nilometer.types import INT, Column
>>> least = Expression("min", ColumnReference("depth", INT), False, INT)
>>> logic = Aggregate((), (("least", least),)).build()
>>> rows = [(1, 1, 70), (1, 1, 60), (3, 3, 50)]  # evaluation, tick, depth
>>> logic.update(0, pl.DataFrame(rows, window_dtypes(Schema((Column("depth", INT),))), orient="row"))
>>> ticks = [1, 2, 3]  # a window was evaluated at each, and at 2 it was empty
>>> evaluations = pl.DataFrame({"@evaluation": ticks, "@tick": ticks})
>>> logic.advance(Progress(4, evaluations=(evaluations,))).rows.rows()
[(1, 1, 60), (2, 2, None), (3, 3, 50)]
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.errors import InternalError
from nilometer.operators.aggregate_items import (
    Grouping,
    NamedAggregate,
    NamedExpression,
    check_items,
    output_schema,
)
from nilometer.operators.frames import conform, empty, from_bytes, to_bytes, window_dtypes
from nilometer.operators.limits import operator
from nilometer.operators.logic import EVALUATION, TICK, Output, Progress, no_evaluations
from nilometer.types import Schema


@dataclass(frozen=True)
class Aggregate:
    """Spec: (name, expression) keys and (name, aggregate) items; `windows` False for a table."""

    keys: tuple[NamedExpression, ...]
    items: tuple[NamedAggregate, ...]
    windows: bool = True

    def __post_init__(self) -> None:
        check_items(self.keys, self.items)

    @property
    def schema(self) -> Schema:
        """The visible columns of the answer."""
        return output_schema(self.keys, self.items)

    def build(self) -> AggregateLogic:
        """A fresh Logic."""
        return AggregateLogic(self)


class AggregateLogic:
    """Groups the rows of a round by evaluation and keys."""

    def __init__(self, spec: Aggregate) -> None:
        self._windows = spec.windows
        self._grouped = bool(spec.keys)
        self._grouping = Grouping(spec.keys, spec.items)
        self._columns = window_dtypes(spec.schema)
        self._rows: list[pl.DataFrame] = []

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take rows of windows, or of the table."""
        if port != 0:
            raise InternalError(f"an aggregate has no input {port}")
        self._rows.append(rows)

    @operator("AGGR")
    def advance(self, progress: Progress) -> Output:
        """Returns the aggregates of every evaluation of this round. For a table: of the rows given in this
        round.
        """
        rows = pl.concat(self._rows) if self._rows else None
        self._rows = []
        if not self._windows:
            if rows is None:
                return Output(empty(self._grouping.columns), no_evaluations())
            return Output(self._grouping(rows), no_evaluations())
        listed = progress.evaluations[0] if progress.evaluations else no_evaluations()
        return Output(self.aggregate(rows, listed), listed)

    def aggregate(self, rows: pl.DataFrame | None, listed: pl.DataFrame) -> pl.DataFrame:
        """Returns the aggregates of the rows of the listed evaluations."""
        if self._grouped:
            if rows is None or rows.height == 0:
                return empty(self._columns)
            return conform(self._grouping(rows, (EVALUATION, TICK)), self._columns)
        defaults = [
            pl.col(name).fill_null(0) for name, value in self._grouping.empty_row.items() if value == 0
        ]
        found, lost = empty(self._columns), None
        if rows is not None and rows.height:
            found, lost = self._grouping.answered(rows, (EVALUATION,))
        if lost is not None:
            listed = listed.join(lost, on=EVALUATION, how="anti", maintain_order="left")
        found = found.select(EVALUATION, *self._grouping.columns)
        joined = listed.join(found, on=EVALUATION, how="left", maintain_order="left").with_columns(defaults)
        return conform(joined, self._columns)

    def snapshot(self) -> dict[str, bytes]:
        """Returns the rows of a round that has begun. Between rounds there are none."""
        return {"rows": to_bytes(pl.concat(self._rows))} if self._rows else {}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._rows = [from_bytes(panes["rows"])] if "rows" in panes else []
