"""Splits a stateless plan over one stream into conditions on single columns and the remaining work.

    Deliver · (Project | Select | Rename)* · SpAcquire[x > 3 AND x <= 9 AND k IN ('a', 'b') AND p]
        =>  x in (3, 9],  k in {a, b},  then the rest with p

The conditions compare a column with constants: a range, an equality, an IN list. The filter bank (filter_bank.py)
indexes those of all queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.stages import Round, Stage
from nilometer.expressions import (
    Call,
    ColumnReference,
    Expression,
    InList,
    Literal,
    conjunction,
    conjuncts,
    type_of,
)
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

    def contains(self, value: Any) -> bool:
        """Whether a value lies in the range."""
        above = self.low is None or value > self.low or (self.low_closed and value == self.low)
        below = self.high is None or value < self.high or (self.high_closed and value == self.high)
        return above and below


@dataclass(frozen=True)
class Values:
    """The values that a column may have: numbers, or strings."""

    column: str
    values: frozenset[Any]

    def within(self, limits: Range) -> Values:
        """Those of them that a range contains."""
        return Values(self.column, frozenset(value for value in self.values if limits.contains(value)))


Condition = Range | Values


class Filter:
    """The work that a query does on the tuples that fit its conditions. `mapping` is set if that is only choosing
    and naming columns. `range` is set if there is one condition, and it is a range."""

    def __init__(self, plan: physical.Node, extents: Extents) -> None:
        acquire = stateless_over(plan)
        assert acquire is not None, "a plan that is no filter"
        self.stream = acquire.stream.name.lower()
        self.conditions, rest = conditions_of(acquire)
        one = next(iter(self.conditions.values())) if len(self.conditions) == 1 else None
        self.range = one if isinstance(one, Range) else None
        reduced = replace(acquire, predicate=rest)
        bare = _over(plan, reduced)
        self.mapping = _mapping(bare)
        self.columns: tuple[tuple[str, str], ...] = tuple((self.mapping or {}).items())
        """The answer's names and the stream's columns, if choosing and naming them is the only work. Filters with equal
        `columns` are served together."""
        self._bare, self._extents = bare, extents

    @cached_property
    def _stage(self) -> Stage:
        """The work, compiled when it is first needed: filters that choose and name columns never need it."""
        flow = Dataflow(self._bare, self._extents)
        return flow.stages[flow.root]

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


def conditions_of(acquire: physical.SpAcquire) -> tuple[dict[str, Condition], Expression | None]:
    """The condition on each column, under the stream's own name for it, and the rest of the predicate."""
    listed = conjuncts(acquire.predicate)
    simple = [_comparison(condition, acquire) or _membership(condition, acquire) for condition in listed]
    # A comparison of a column with a constant cannot overflow.
    if None in simple and any(part.overflows for part in compile_predicate(acquire.predicate).parts):
        # An overflow is an error unless an earlier condition is false. Later conditions must not hide it.
        first = simple.index(None)
        simple[first:] = [None] * (len(simple) - first)
    found: dict[str, Condition] = {}
    for one in simple:
        match one:
            case (column, str(function), bound):
                before = found.get(column)
                if isinstance(before, Values):
                    found[column] = before.within(Range(column).narrowed(function, bound))
                else:
                    found[column] = (before or Range(column)).narrowed(function, bound)
            case Values() as wanted:
                before = found.get(wanted.column)
                if isinstance(before, Values):
                    found[wanted.column] = Values(wanted.column, before.values & wanted.values)
                else:
                    found[wanted.column] = wanted if before is None else wanted.within(before)
    rest = conjunction([condition for condition, one in zip(listed, simple, strict=True) if one is None])
    return found, rest


def _membership(condition: Expression, acquire: physical.SpAcquire) -> Values | None:
    """A column of the stream that equals a string, or is in a list of constants of its type."""
    items: Sequence[Literal]
    match condition:
        case InList(operand=ColumnReference(name) as column, items=items):
            pass
        case Call("=", (ColumnReference(name) as column, Literal() as item)) | Call(
            "=", (Literal() as item, ColumnReference(name) as column)
        ):
            items = (item,)
        case _:
            return None
    kind = type_of(column).kind
    found = acquire.stream.column(name.removeprefix(f"{acquire.alias}."))
    if found is None or found.type.kind is not kind or kind not in (*NUMBERS, Kind.STRING):
        return None
    values = set()
    for item in items:
        if item.value is not None:  # NULL equals nothing
            if type_of(item).kind is not kind or item.value != item.value:
                return None
            values.add(item.value)
    return Values(found.name, frozenset(values))


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
