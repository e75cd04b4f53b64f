"""Splits a stateless plan over one stream into a range of one column and the remaining work.

    Deliver · (Project | Select | Rename)* · SpAcquire[x > 3 AND x <= 9 AND p]
        =>  x in (3, 9],  then the rest with p

The conditions that compare one column with constants form the range. If several columns are compared, the one
with the most conditions is used. The filter bank (filter_bank.py) indexes the ranges of all queries.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.stages import Round, Stage
from nilometer.expressions import Call, ColumnReference, Expression, Literal, conjunction, conjuncts, type_of
from nilometer.operators.evaluate.evaluate import compile_predicate
from nilometer.operators.logic import TICK
from nilometer.plan import physical
from nilometer.types import Kind

NUMBERS = frozenset({Kind.INT, Kind.FLOAT, Kind.TIME, Kind.DURATION})
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@dataclass(frozen=True)
class Range:
    """The bounds of a column's values; None means no bound."""

    column: str
    low: Any = None
    low_closed: bool = True
    high: Any = None
    high_closed: bool = True

    def narrowed(self, function: str, bound: Any) -> Range:
        """The range with one more comparison."""
        result = self
        if function in (">", ">=", "="):
            closed = function != ">"
            if self.low is None or (bound, not closed) > (self.low, not self.low_closed):
                result = replace(result, low=bound, low_closed=closed)
        if function in ("<", "<=", "="):
            closed = function != "<"
            if self.high is None or (bound, closed) < (self.high, self.high_closed):
                result = replace(result, high=bound, high_closed=closed)
        return result


class Filter:
    """The work that a query does on the tuples in its range. `mapping` is set if that is only choosing and
    naming columns."""

    def __init__(self, plan: physical.Node, extents: Extents) -> None:
        acquire = stateless_over(plan)
        assert acquire is not None, "a plan that is no filter"
        self.stream = acquire.stream.name.lower()
        self.range, rest = _range(acquire)
        reduced = replace(acquire, predicate=rest)
        bare = _over(plan, reduced)
        self.mapping = _mapping(bare)
        flow = Dataflow(bare, extents)
        self._stage: Stage = flow.stages[flow.root]

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """The answer's names and the stream's columns, if choosing and naming them is the only work. Filters
        with equal `columns` are served together."""
        return tuple((self.mapping or {}).items())

    def __call__(self, rows: pl.DataFrame, now: Round) -> pl.DataFrame:
        """The answer's rows for tuples in the range."""
        return self._stage.step({}, replace(now, admitted={self.stream: rows})).rows


def stateless_over(plan: physical.Node) -> physical.SpAcquire | None:
    """The occurrence of a stream below a stateless plan; None if the plan has state or a join."""
    while isinstance(
        plan, physical.Deliver | physical.Project | physical.Select | physical.Rename | physical.Exchange
    ):
        plan = plan.input
    return plan if isinstance(plan, physical.SpAcquire) else None


def _over(plan: physical.Node, leaf: physical.SpAcquire) -> physical.Node:
    return leaf if not plan.inputs else plan.with_inputs((_over(plan.inputs[0], leaf),))


def _range(acquire: physical.SpAcquire) -> tuple[Range | None, Expression | None]:
    """The range of one column, under the stream's own name for it, and the rest of the predicate."""
    conditions = conjuncts(acquire.predicate)
    simple = [_comparison(condition, acquire) for condition in conditions]
    if any(part.overflows for part in compile_predicate(acquire.predicate).parts):
        # An overflow is an error unless an earlier condition is false. Later conditions must not hide it.
        first = simple.index(None)
        simple[first:] = [None] * (len(simple) - first)
    counted = Counter(found[0] for found in simple if found is not None)
    if not counted:
        return None, acquire.predicate
    column = max(counted, key=lambda name: (counted[name], name))
    result = Range(column)
    rest = []
    for condition, found in zip(conditions, simple, strict=True):
        if found is not None and found[0] == column:
            result = result.narrowed(found[1], found[2])
        else:
            rest.append(condition)
    return result, conjunction(rest)


def _comparison(condition: Expression, acquire: physical.SpAcquire) -> tuple[str, str, Any] | None:
    """A column of the stream, a comparison and a constant of the same type; None if the condition has another
    form."""
    match condition:
        case Call(function, (ColumnReference(name) as column, Literal(value))) if function in MIRRORED:
            pass
        case Call(function, (Literal(value), ColumnReference(name) as column)) if function in MIRRORED:
            function = MIRRORED[function]
        case _:
            return None
    kinds = {type_of(argument).kind for argument in condition.arguments}
    found = acquire.stream.column(name.removeprefix(f"{acquire.alias}."))
    if value is None or found is None or len(kinds) > 1 or not kinds <= NUMBERS or value != value:
        return None
    if found.type.kind is not type_of(column).kind:
        return None
    return found.name, function, value


def _mapping(node: physical.Node) -> dict[str, str] | None:
    """The answer's columns with the stream's columns behind them; None if the plan does more than choose and
    name columns."""
    match node:
        case physical.SpAcquire(stream=stream, sensors=None, predicate=None):
            own = {f"{node.alias}.{c.name}": stream.column(c.name) for c in node.columns}
            return (
                {name: found.name for name, found in own.items() if found is not None}
                if all(own.values())
                else None
            )
        case physical.Rename() | physical.Exchange() | physical.Project() | physical.Deliver():
            below = _mapping(node.input)
        case _:
            return None
    if below is None:
        return None
    match node:
        case physical.Rename():
            return {
                new: below[old] for old, new in zip(node.input.schema.names, node.schema.names, strict=True)
            }
        case physical.Project(items=items):
            if not all(isinstance(item.expression, ColumnReference) for item in items):
                return None
            return {
                i.name: below[i.expression.name] for i in items if isinstance(i.expression, ColumnReference)
            }
        case physical.Deliver(tick=tick):
            return ({"tick": TICK} if tick else {}) | {name: below[name] for name in node.schema.names}
    return below
