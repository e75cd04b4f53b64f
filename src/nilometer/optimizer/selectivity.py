"""Estimates the share of rows that a condition keeps.

A comparison of a measured column with a constant keeps what the column's statistics say. Otherwise SNEE's rules of
thumb apply (SNEE source report, section 4, item 2): a comparison keeps a third, `column = constant` a tenth,
`column = column` a twentieth. Conditions on different columns are taken as independent.

>>> from nilometer.types import BOOLEAN, INT
>>> from nilometer.expressions import ColumnReference, Literal
>>> depth = MeasuredColumn("depth", 0.0, 1_000, (0.0, 10.0, 20.0, 40.0), ())
>>> deep = Call(">", (ColumnReference("r.depth", INT), Literal(20, INT)), BOOLEAN)
>>> round(selectivity(deep), 3), round(selectivity(deep, {"r.depth": depth}), 3)
(0.333, 0.333)
>>> flat = Call(">", (ColumnReference("r.depth", INT), Literal(39, INT)), BOOLEAN)
>>> round(selectivity(flat), 3), round(selectivity(flat, {"r.depth": depth}), 3)
(0.333, 0.017)
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite

from nilometer.catalog.measured import MeasuredColumn
from nilometer.catalog.statistics import EQUALITY_SELECTIVITY, INEQUALITY_SELECTIVITY, JOIN_SELECTIVITY
from nilometer.expressions import (
    MIRROR,
    Call,
    ColumnReference,
    Expression,
    InList,
    Literal,
    columns_of,
    conjuncts,
)

Columns = Mapping[str, MeasuredColumn]


def selectivity(predicate: Expression | None, columns: Columns | None = None) -> float:
    """The share of rows for which the condition is assumed to be true. `columns` has the statistics of the columns that
    were measured, by their names in the plan."""
    known = columns or {}
    share = 1.0
    ranges: dict[str, tuple[float, float]] = {}
    for part in conjuncts(predicate):
        bound = _bound(part, known)
        if bound is None:
            share *= _part(part, known)
        else:
            name, low, high = bound
            least, most = ranges.get(name, (-inf, inf))
            ranges[name] = max(least, low), min(most, high)
    for name, (low, high) in ranges.items():
        share *= _between(known[name], low, high)
    return share


def _part(part: Expression, known: Columns) -> float:
    read = columns_of(part)
    measured = bool(read) and read <= known.keys()
    match part:
        case Call("or", arguments) if measured:
            missed = 1.0
            for argument in arguments:
                missed *= 1.0 - selectivity(argument, known)
            return 1.0 - missed
        case Call("not", (inner,)) if measured:
            return 1.0 - selectivity(inner, known)
        case Call("is_null", (ColumnReference(name=name),)) if measured:
            return known[name].nulls
        case Call("=", (left, right)) if columns_of(left) and columns_of(right):
            return _equal_columns(left, right, known)
        case Call("=", (ColumnReference(name=name), Literal(value=value))) if name in known:
            return 0.0 if value is None else known[name].equal(value)
        case Call("=", (Literal(value=value), ColumnReference(name=name))) if name in known:
            return 0.0 if value is None else known[name].equal(value)
        case Call("="):
            return EQUALITY_SELECTIVITY
        case Call("!=", (left, right)) if measured:
            return 1.0 - _part(Call("=", (left, right), part.type), known)
        case Call("<" | "<=" | ">" | ">="):
            return INEQUALITY_SELECTIVITY
        case InList(ColumnReference(name=name), items) if name in known:
            values = {item.value for item in items if item.value is not None}
            return min(1.0, sum(known[name].equal(value) for value in values))
        case InList(_, items):
            return min(1.0, len(items) * EQUALITY_SELECTIVITY)
        case _:
            return 1.0


def _equal_columns(left: Expression, right: Expression, known: Columns) -> float:
    """An equality of two columns keeps one pair in as many as the column with more distinct values has (System R)."""
    distinct = [
        known[side.name].distinct
        for side in (left, right)
        if isinstance(side, ColumnReference) and side.name in known
    ]
    return 1.0 / max(1, *distinct) if len(distinct) == 2 else JOIN_SELECTIVITY


def _bound(part: Expression, known: Columns) -> tuple[str, float, float] | None:
    """`column < constant` and its like over a measured column of numbers: the column, and the range that it leaves."""
    match part:
        case Call(way, (ColumnReference(name=name), Literal(value=value))) if way in MIRROR and way != "=":
            pass
        case Call(way, (Literal(value=value), ColumnReference(name=name))) if way in MIRROR and way != "=":
            way = MIRROR[way]
        case _:
            return None
    if name not in known or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    measured = known[name]
    if not measured.bounds and any(isinstance(value, str) for value, _ in measured.common):
        return None
    return (name, -inf, float(value)) if way in ("<", "<=") else (name, float(value), inf)


def _between(column: MeasuredColumn, low: float, high: float) -> float:
    """The share of readings from `low` to `high`. Whether an end belongs to it makes no difference to an estimate."""
    if low > high:
        return 0.0
    above = column.below(high) + column.equal(high) if isfinite(high) else 1.0 - column.nulls
    return min(1.0, max(0.0, above - (column.below(low) if isfinite(low) else 0.0)))
