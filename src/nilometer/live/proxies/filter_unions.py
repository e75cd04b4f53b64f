"""The union of filters: a filter that passes what any of them passes, short enough for a sensor.

Few filters are compared each with each, and those that imply another are left out. Of many, only the hull is kept: for
each column that all of them bound, the union of their intervals, at most PARTS of them, where the smallest gaps are closed
first. That takes O(n log n), and a reading that no filter wants is still held back if it lies outside all intervals of a
column.

The law: what one of the filters passes, and what one of them fails on, the union passes.

>>> from nilometer.types import INT
>>> def between(low, high):
...     x = ColumnReference("x", INT)
...     return Call(
...         "and",
...         (Call(">", (x, Literal(low, INT)), BOOLEAN), Call("<=", (x, Literal(high, INT)), BOOLEAN)),
...         BOOLEAN,
...     )
>>> str(union(between(10 * n, 10 * n + 15) for n in range(1000)))
'x > 0 AND x <= 10005'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from nilometer.expressions import Call, ColumnReference, Expression, Literal, conjunction, conjuncts
from nilometer.plan.implication import implies, quiet, threshold
from nilometer.types import BOOLEAN

FEW = 16
"""Up to this many filters are compared each with each."""

PARTS = 8
"""The most intervals of a column that a sensor is told."""


def union(predicates: Iterable[Expression | None]) -> Expression | None:
    """A filter that passes what any of them passes; None passes everything. A filter that implies another is
    left out.
    """
    parts: dict[Expression, None] = {}
    for predicate in predicates:
        if predicate is None:
            return None
        parts.update(dict.fromkeys(_disjuncts(predicate)))
    if len(parts) > FEW:
        return _hull(parts)
    kept: list[Expression] = []
    for part in parts:
        if any(implies(part, other) for other in kept):
            continue
        kept = [other for other in kept if not implies(other, part)]
        kept.append(part)
    return _any_of(kept)


def _any_of(kept: list[Expression]) -> Expression | None:
    if not kept:
        return None
    # In one order, whatever the order of the queries, so that the same demand is not sent to a sensor twice.
    kept.sort(key=str)
    return kept[0] if len(kept) == 1 else Call("or", tuple(kept), BOOLEAN)


def _disjuncts(predicate: Expression) -> tuple[Expression, ...]:
    match predicate:
        case Call("or", arguments):
            return tuple(part for argument in arguments for part in _disjuncts(argument))
        case _:
            return (predicate,)


# ---- hulls of many filters -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Interval:
    """Values between two bounds; None is open. `above`, `below`: the bound itself is not in it."""

    low: Literal | None = None
    above: bool = False
    high: Literal | None = None
    below: bool = False

    @property
    def start(self) -> tuple[float, bool]:
        return (float("-inf"), False) if self.low is None else (self.low.value, self.above)

    @property
    def end(self) -> tuple[float, bool]:
        return (float("inf"), True) if self.high is None else (self.high.value, not self.below)

    def within(self, way: str, bound: Literal) -> _Interval:
        """The values that a comparison passes, too."""
        found = self
        if way in (">", ">=", "=") and (bound.value, way == ">") > found.start:
            found = replace(found, low=bound, above=way == ">")
        if way in ("<", "<=", "=") and (bound.value, way != "<") < found.end:
            found = replace(found, high=bound, below=way == "<")
        return found

    @property
    def empty(self) -> bool:
        (low, above), (high, closed) = self.start, self.end
        return low > high or (low == high and (above or not closed))

    def expression(self, column: ColumnReference) -> Expression:
        """The condition that a value is in the interval."""
        if self.low is not None and self.high is not None and self.low.value == self.high.value:
            return Call("=", (column, self.low), BOOLEAN)
        parts: list[Expression] = []
        if self.low is not None:
            parts.append(Call(">" if self.above else ">=", (column, self.low), BOOLEAN))
        if self.high is not None:
            parts.append(Call("<" if self.below else "<=", (column, self.high), BOOLEAN))
        found = conjunction(parts)
        assert found is not None, "an interval without bounds"
        return found


def _hull(parts: Iterable[Expression]) -> Expression | None:
    """The columns that all filters bound, each with the union of their intervals; None if there is no such column."""
    columns: dict[ColumnReference, list[_Interval]] | None = None
    for part in parts:
        box = _box(part)
        if box is None:
            return None
        if any(interval.empty for interval in box.values()):
            continue
        if columns is None:
            columns = {column: [interval] for column, interval in box.items()}
            continue
        columns = {column: found for column, found in columns.items() if column in box}
        for column, found in columns.items():
            found.append(box[column])
        if not columns:
            return None
    conditions = []
    for column, intervals in sorted((columns or {}).items(), key=lambda item: item[0].name):
        merged = _merged(intervals)
        if not any(each.low is None and each.high is None for each in merged):
            conditions.append(_any_of([each.expression(column) for each in merged]))
    return conjunction([condition for condition in conditions if condition is not None])


def _box(part: Expression) -> dict[ColumnReference, _Interval] | None:
    """The interval of each column that a filter bounds; None if the filter may fail: then it asks for the tuple."""
    box: dict[ColumnReference, _Interval] = {}
    for condition in conjuncts(part):
        if not quiet(condition):
            return None
        found = threshold(condition)
        if found is not None:
            column, way, bound = found
            box[column] = box.get(column, _Interval()).within(way, bound)
    return box


def _merged(intervals: list[_Interval]) -> list[_Interval]:
    """The union of intervals, in order. If there are more than PARTS, the smallest gaps are closed."""
    merged: list[_Interval] = []
    for each in sorted(intervals, key=lambda interval: interval.start):
        if merged and each.start <= merged[-1].end:
            if each.end > merged[-1].end:
                merged[-1] = replace(merged[-1], high=each.high, below=each.below)
        else:
            merged.append(each)
    if len(merged) <= PARTS:
        return merged
    gaps = [after.start[0] - before.end[0] for before, after in pairwise(merged)]
    kept = set(sorted(range(len(gaps)), key=lambda place: -gaps[place])[: PARTS - 1])
    closed = [merged[0]]
    for place, each in enumerate(merged[1:]):
        if place in kept:
            closed.append(each)
        else:
            closed[-1] = replace(closed[-1], high=each.high, below=each.below)
    return closed
