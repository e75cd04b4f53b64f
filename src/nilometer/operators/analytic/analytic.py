"""ANALYTIC over rows that are all there: windows -> windows, table -> table (logical.Analytic).

The rows of each evaluation are sorted by the keys of the partition, by ORDER BY and by the columns that decide
ties. No state is kept from one round to the next, because every evaluation comes with all its rows.

>>> from nilometer.expressions import ColumnReference
>>> from nilometer.types import INT, Column
>>> depth = ColumnReference("depth", INT)
>>> river = Schema((Column("depth", INT),))
>>> number = AnalyticItem("n", AnalyticFunction.ROW_NUMBER, INT)
>>> logic = Analytic(river, (), (SortKey(depth, descending=True),), ("depth",), (number,)).build()
>>> rows = [(1, 1, 60), (1, 1, 70), (3, 3, 50)]  # evaluation, tick, depth
>>> logic.update(0, pl.DataFrame(rows, window_dtypes(river), orient="row"))
>>> logic.advance(Progress(4)).rows.rows()
[(1, 1, 70, 1), (1, 1, 60, 2), (3, 3, 50, 1)]
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.algebra import SortKey
from nilometer.algebra.analytic import (
    AGGREGATES,
    FRAMED,
    SHIFTS,
    AnalyticFunction,
    AnalyticItem,
)
from nilometer.expressions import Expression
from nilometer.operators.analytic.functions import (
    counts,
    deviations,
    extremes,
    finite,
    float_sums,
    means,
    medians,
    moments,
    place_of,
    shifted,
    value_in_frame,
    whole_sums,
)
from nilometer.operators.analytic.partitions import Order, Partitions, Range
from nilometer.operators.evaluate.evaluate import Evaluator, compile_expression
from nilometer.operators.frames import (
    concatenate,
    conform,
    dtype,
    dtypes,
    empty,
    from_bytes,
    to_bytes,
    window_dtypes,
)
from nilometer.operators.limits import check_built, operator
from nilometer.operators.logic import EVALUATION, Output, Progress, no_evaluations
from nilometer.operators.validation import require, require_columns
from nilometer.types import Column, Schema


@dataclass(frozen=True)
class Analytic:
    """Adds `items` to the rows of windows; `windows` False for a table."""

    input: Schema
    partition: tuple[Expression, ...]
    order: tuple[SortKey, ...]
    ties: tuple[str, ...]
    items: tuple[AnalyticItem, ...]
    windows: bool = True

    def __post_init__(self) -> None:
        for expression in (*self.partition, *(item.expression for item in self.order)):
            require_columns(expression, self.input, "OVER")
        check_analytic(self.items, self.input)

    @property
    def schema(self) -> Schema:
        """The input's columns and then the items."""
        return self.input + Schema(tuple(Column(item.name, item.type) for item in self.items))

    def build(self) -> AnalyticLogic:
        return AnalyticLogic(self)


def check_analytic(items: tuple[AnalyticItem, ...], schema: Schema) -> None:
    """Refuse a wrong list of items."""
    for item in items:
        for expression in item.expressions:
            require_columns(expression, schema, item.function)
        require((item.frame is not None) == (item.function in FRAMED), f"the frame of {item.function}")
        require(item.offset >= 0, f"{item.function} by {item.offset}")


class AnalyticLogic:
    """Orders the rows of a round by evaluation and partition."""

    def __init__(self, spec: Analytic) -> None:
        self._windows = spec.windows
        self._input = window_dtypes(spec.input) if spec.windows else dtypes(spec.input)
        self._columns = window_dtypes(spec.schema) if spec.windows else dtypes(spec.schema)
        self._items = spec.items
        self._keys = [(f"@key{n}", compile_expression(each)) for n, each in enumerate(spec.partition)]
        self._order = [
            (f"@order{n}", compile_expression(each.expression)) for n, each in enumerate(spec.order)
        ]
        self._orderings = spec.order
        self._ties = spec.ties
        self._arguments = arguments_of(spec.items)
        self._rows: list[pl.DataFrame] = []

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        self._rows.append(conform(rows, self._input))

    @operator("ANALYTIC")
    def advance(self, progress: Progress) -> Output:
        rows = concatenate(self._rows, self._input)
        self._rows = []
        listed = no_evaluations()
        if self._windows and progress.evaluations:
            listed = progress.evaluations[0]
        if not rows.height:
            return Output(empty(self._columns), listed)
        check_built(rows.height, len(self._columns) + len(self._keys) + len(self._order))
        ordered = self._ordered(rows)
        by = [EVALUATION] if self._windows else []
        parts = Partitions.of(
            ordered, [*by, *(name for name, _ in self._keys)], [name for name, _ in self._order]
        )
        order = None
        if len(self._orderings) == 1 and ordered.schema["@order0"].is_numeric():
            order = Order.of(ordered["@order0"], self._orderings[0].descending)
        found = [
            item_column(item, number, ordered, parts, order).rename(item.name)
            for number, item in enumerate(self._items)
        ]
        return Output(conform(ordered.with_columns(found), self._columns), listed)

    def _ordered(self, rows: pl.DataFrame) -> pl.DataFrame:
        rows = rows.with_columns(
            evaluator(rows).alias(name) for name, evaluator in (*self._keys, *self._order, *self._arguments)
        )
        by: list[pl.Expr] = [pl.col(EVALUATION)] if self._windows else []
        by += [part for name, _ in self._keys for part in _parts(rows, name)]
        descending, nulls_last = [False] * len(by), [False] * len(by)
        for (name, _), item in zip(self._order, self._orderings, strict=True):
            by.append(pl.col(name))
            descending.append(item.descending)
            nulls_last.append(not item.nulls_first)
        ties = [part for name in self._ties for part in _parts(rows, name)]
        by += ties
        descending += [False] * len(ties)
        nulls_last += [False] * len(ties)
        if not by:
            return rows
        return rows.sort(by, descending=descending, nulls_last=nulls_last, maintain_order=True)

    def snapshot(self) -> dict[str, bytes]:
        """Returns the rows of a round that has begun. Between rounds there are none."""
        return {"rows": to_bytes(concatenate(self._rows, self._input))} if self._rows else {}

    def restore(self, panes: dict[str, bytes]) -> None:
        self._rows = [from_bytes(panes["rows"])] if "rows" in panes else []


def _parts(rows: pl.DataFrame, name: str) -> list[pl.Expr]:
    """The column, or the fields of a point, NULL first."""
    kind = rows.schema[name]
    if isinstance(kind, pl.Struct):
        return [pl.col(name).is_not_null(), *(pl.col(name).struct.field(f.name) for f in kind.fields)]
    return [pl.col(name)]


def arguments_of(items: tuple[AnalyticItem, ...]) -> list[tuple[str, Evaluator]]:
    """The compiled arguments and defaults of the items, by the names of their columns."""
    compiled = []
    for number, item in enumerate(items):
        if item.argument is not None:
            compiled.append((f"@argument{number}", compile_expression(item.argument)))
        if item.default is not None:
            compiled.append((f"@default{number}", compile_expression(item.default)))
    return compiled


def item_column(
    item: AnalyticItem, number: int, rows: pl.DataFrame, parts: Partitions, order: Order | None
) -> pl.Series:
    """The item's value in each of the ordered rows."""
    values = None if item.argument is None else rows.get_column(f"@argument{number}")
    if item.function in SHIFTS:
        assert values is not None
        default = None if item.default is None else rows.get_column(f"@default{number}")
        return shifted(item, parts, values, default)
    if item.frame is None:
        return pl.Series(place_of(item, parts))
    frame = parts.frame(item.frame, order)
    if item.function not in AGGREGATES:
        assert values is not None
        return value_in_frame(item, values, frame)
    return _aggregate(item, values, frame).cast(dtype(item.type))


def _aggregate(item: AnalyticItem, values: pl.Series | None, frame: Range) -> pl.Series:
    count = counts(values, frame)
    if item.function is AnalyticFunction.COUNT or values is None:
        return pl.Series(count)
    match item.function:
        case AnalyticFunction.STDEV | AnalyticFunction.VARIANCE:
            return deviations(item, moments(values, frame))
        case AnalyticFunction.MEDIAN:
            return medians(values, frame)
        case AnalyticFunction.AVG:
            return means(float_sums(values, frame), count)
        case AnalyticFunction.SUM if values.dtype.is_float():
            return finite(pl.Series(float_sums(values, frame)[0]), count)
        case AnalyticFunction.SUM:
            sums = whole_sums(values, frame, None, f"{item.function}({item.argument}) OVER")
            return finite(pl.Series(sums), count)
        case _:
            return extremes(values, frame, greatest=item.function is AnalyticFunction.MAX)
