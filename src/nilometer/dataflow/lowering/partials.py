"""Makes, merges and evaluates the partial results of algebraic aggregates (SNEE's AGGR_INIT, AGGR_MERGE,
AGGR_EVAL).

`physical.partial_columns` names their columns. The law: however rows are divided among INITs, MERGE and EVAL
give the aggregate of all rows. STDEV and VARIANCE merge count, mean and squared deviations (Chan, Golub,
LeVeque 1979).
"""

from __future__ import annotations

import polars as pl

from nilometer.algebra import Collection
from nilometer.dataflow.lowering.fusion import Items
from nilometer.dataflow.lowering.stateless import SYSTEM
from nilometer.dataflow.stages import Transform
from nilometer.errors import DataError
from nilometer.expressions import Aggregate as AggregateExpression
from nilometer.expressions import Call, Expression, type_of
from nilometer.operators.aggregate_items import within
from nilometer.operators.frames import dtypes, empty, from_bytes, to_bytes
from nilometer.operators.logic import Output, Progress, no_evaluations
from nilometer.operators.set_aside import without
from nilometer.plan.logical import AggregateItem
from nilometer.plan.physical import AggregateEvaluate, AggregateInit, AggregateMerge
from nilometer.types import FLOAT, INT, Kind


def initial_items(node: AggregateInit) -> Items:
    """The aggregates whose values are the partial results. Squared deviations are computed from theirs."""
    items: list[tuple[str, AggregateExpression]] = []
    for item in node.items:
        aggregate, name = item.aggregate, item.name
        argument = aggregate.argument
        count = (f"{name}#count", AggregateExpression("count", argument, False, INT))
        match aggregate.function:
            case "count":
                items.append(count)
            case "avg":
                assert argument is not None
                items.append((f"{name}#sum", AggregateExpression("sum", _as_float(argument), False, FLOAT)))
                items.append(count)
            case "stdev" | "variance":
                items.append(count)
                items.append((f"{name}#mean", AggregateExpression("avg", argument, False, FLOAT)))
                items.append((f"{name}#deviations", AggregateExpression("variance", argument, False, FLOAT)))
            case function:
                items.append((f"{name}#{function}", aggregate))
    if node.completeness is not None:
        rows = AggregateExpression("count", None, False, INT)
        items.append((f"{node.completeness.name}#count", rows))
    return tuple(items)


def _as_float(argument: Expression) -> Expression:
    return argument if type_of(argument).kind is Kind.FLOAT else Call("float", (argument,), FLOAT)


def completed(node: AggregateInit) -> Transform:
    """Turns the sample variance of each group into its squared deviations from the mean."""
    changes = []
    for item in node.items:
        if item.aggregate.function in ("stdev", "variance"):
            count, variance = pl.col(f"{item.name}#count"), pl.col(f"{item.name}#deviations")
            deviations = variance.fill_null(0.0) * (count - 1).clip(0)
            changes.append(deviations.alias(f"{item.name}#deviations"))
    if not changes:
        return lambda rows: rows
    return lambda rows: rows.with_columns(changes)


class MergeLogic:
    """Merges the partial results of each group and evaluation into one. It keeps no state between rounds."""

    def __init__(self, node: AggregateMerge) -> None:
        self._windows = node.collection is Collection.WINDOWS
        self._groups = [*SYSTEM[node.collection], *(key.name for key in node.keys)]
        self._merged = [value for item in node.items for value in _merged(item)]
        if node.completeness is not None:
            self._merged.append(pl.col(f"{node.completeness.name}#count").sum())
        self._columns = dtypes(node.schema)
        self._integers = [
            f"{item.name}#sum"
            for item in node.items
            if item.aggregate.function == "sum" and item.aggregate.type.kind is Kind.INT
        ]
        self._system = SYSTEM[node.collection]
        self._parts: list[pl.DataFrame] = []

    def update(self, port: int, rows: pl.DataFrame) -> None:  # noqa: ARG002 - one port
        """Take partial results."""
        self._parts.append(rows)

    def advance(self, progress: Progress) -> Output:
        """The merged results of this round's evaluations."""
        listed = progress.evaluations[0] if self._windows else no_evaluations()
        if not self._parts:
            nothing = {name: pl.Int64() for name in self._system} | self._columns
            return Output(empty(nothing), listed)
        rows = pl.concat(self._parts)
        self._parts = []
        if self._groups:
            merged = rows.group_by(self._groups, maintain_order=True).agg(self._merged)
        else:
            merged = rows.select(self._merged)
        for name in self._integers:
            if not (inside := within(merged.get_column(name))).all():
                error = DataError("a SUM beyond 64 bits", hint="sum a FLOAT instead: SUM(x * 1.0)")
                merged = without(merged, ~inside, error)
        kept = [*self._system, *(pl.col(name).cast(dtype) for name, dtype in self._columns.items())]
        return Output(merged.select(kept), listed)

    def snapshot(self) -> dict[str, bytes]:
        """The rows of a round that has begun; empty between rounds."""
        return {"rows": to_bytes(pl.concat(self._parts))} if self._parts else {}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Restore a snapshot."""
        self._parts = [from_bytes(panes["rows"])] if "rows" in panes else []


def _merged(item: AggregateItem) -> list[pl.Expr]:
    name = item.name
    count = pl.col(f"{name}#count")
    match item.aggregate.function:
        case "count":
            return [count.sum()]
        case "sum":
            column = pl.col(f"{name}#sum")
            wide = column.cast(pl.Int128) if item.aggregate.type.kind is Kind.INT else column
            return [pl.when(column.count() > 0).then(wide.sum()).alias(f"{name}#sum")]
        case "min":
            return [pl.col(f"{name}#min").min()]
        case "max":
            return [pl.col(f"{name}#max").max()]
        case "avg":
            total = pl.col(f"{name}#sum")
            # A sum of rows that is NULL was beyond all floats. So is the whole.
            beyond = (total.is_null() & (count > 0)).any()
            return [
                pl.when((total.count() > 0) & ~beyond).then(total.sum()).alias(f"{name}#sum"),
                count.sum(),
            ]
        case _:
            mean, deviations = pl.col(f"{name}#mean"), pl.col(f"{name}#deviations")
            whole = (mean * count).sum() / count.sum()
            spread = deviations.sum() + (count * (mean - whole) ** 2).sum()
            common = pl.when(count.sum() > 0).then(whole)
            return [count.sum(), common.alias(f"{name}#mean"), spread.alias(f"{name}#deviations")]


def evaluated(node: AggregateEvaluate) -> Transform:
    """Computes the answer from merged partial results."""
    values = [
        *SYSTEM[node.collection],
        *(key.name for key in node.keys),
        *(_value(item).alias(item.name) for item in node.items),
    ]
    return lambda rows: rows.select(values)


def _value(item: AggregateItem) -> pl.Expr:
    name, function = item.name, item.aggregate.function
    count = pl.col(f"{name}#count")
    match function:
        case "count":
            return count
        case "avg":
            return pl.when(count > 0).then(pl.col(f"{name}#sum") / count)
        case "stdev" | "variance":
            variance = pl.when(count > 1).then(pl.col(f"{name}#deviations") / (count - 1))
            return variance.sqrt() if function == "stdev" else variance
        case _:
            return pl.col(f"{name}#{function}")
