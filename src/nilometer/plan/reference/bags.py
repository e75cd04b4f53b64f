"""Selects, projects, renames, unites and joins bags at one tick.

The same functions serve tables, the content of a window and, one tuple at a time, streams. `now` is the tick
of the evaluation, None for tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from nilometer.algebra import BagOperator, JoinKind
from nilometer.expressions import Expression, columns_of
from nilometer.plan.logical import BagOperation, Join, Project, Projection, Rename, Select, Union, Unnest
from nilometer.plan.reference.rows import Values, freeze
from nilometer.plan.reference.skipping import attempt
from nilometer.plan.scalar import evaluate

Bag = Sequence[Values]


def each(node: Select | Project | Rename, bag: Bag, now: int | None) -> list[Values]:
    """Applies a node that looks at one row at a time to a bag."""
    match node:
        case Select(predicate=predicate):
            return [values for values in bag if holds(predicate, values, now)]
        case Project(items=items):
            return [row for values in bag for row in attempt(partial(_projected, items, values, now))]
        case Rename():
            return [renamed(values, node.input.schema.names, node.schema.names) for values in bag]


def _projected(items: Sequence[Projection], values: Values, now: int | None) -> Values:
    return {item.name: evaluate(item.expression, values, now) for item in items}


def holds(predicate: Expression | None, values: Values, now: int | None) -> bool:
    """Whether the predicate is true, neither false nor NULL. No predicate is always true."""
    return predicate is None or attempt(partial(evaluate, predicate, values, now)) == [True]


def renamed(values: Values, old: Sequence[str], new: Sequence[str]) -> Values:
    """The same values under other names, by position."""
    return {to: values[name] for name, to in zip(old, new, strict=True)}


def unnested(node: Unnest, bag: Bag, now: int | None) -> list[Values]:
    """A row for each element of a row's list."""
    gone = columns_of(node.expression) if node.dropped else frozenset()
    return [
        {name: value for name, value in values.items() if name not in gone} | {node.name: element}
        for values in bag
        for element in evaluate(node.expression, values, now) or ()
    ]


def united(node: Union, left: Bag, right: Bag) -> list[Values]:
    """The bag union: columns by position, named as on the left."""
    return [*left, *(renamed(values, node.right.schema.names, node.left.schema.names) for values in right)]


def subtracted_or_common(node: BagOperation, left: Bag, right: Bag) -> list[Values]:
    """EXCEPT: the left rows without one for each equal right row. INTERSECT: the left rows that go there."""
    taken: Counter[Any] = Counter(freeze(list(values.values())) for values in right)
    kept = []
    for values in left:
        row = freeze(list(values.values()))
        common = taken[row] > 0
        if common:
            taken[row] -= 1
        if common == (node.bag_operator is BagOperator.INTERSECT):
            kept.append(values)
    return kept


def joined(node: Join, left: Bag, right: Bag, now: int | None) -> list[Values]:
    """The join of two bags, by trying every pair."""
    nothing = dict.fromkeys(node.right.schema.names)
    rows: list[Values] = []
    met: set[int] = set()
    for one in left:
        found = [place for place, other in enumerate(right) if holds(node.predicate, {**one, **other}, now)]
        met |= set(found)
        matches = [{**one, **right[place]} for place in found]
        match node.kind:
            case JoinKind.INNER:
                rows += matches
            case JoinKind.LEFT | JoinKind.FULL:
                rows += matches or [{**one, **nothing}]
            case JoinKind.SEMI:
                rows += [one] if matches else []
            case JoinKind.ANTI:
                rows += [] if matches else [one]
    if node.kind is JoinKind.FULL:
        unknown = dict.fromkeys(node.left.schema.names)
        rows += [{**unknown, **other} for place, other in enumerate(right) if place not in met]
    return rows
