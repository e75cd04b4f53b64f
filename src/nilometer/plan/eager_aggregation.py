"""An aggregate over joins of time windows -> how it is computed from partial aggregates of each input, or why it cannot be.

    AGGR · (PROJECT | RENAME)* · HASH_JOIN(HASH_JOIN(w1, w2), w3)     every wi · (SELECT | PROJECT | RENAME)* · TIME_WINDOW

Eager aggregation (Yan and Larson, VLDB 1995): each input is aggregated by the columns by which it is joined and grouped, before it is
joined. It needs INNER joins by equality alone (or products), and arguments that read one input each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nilometer.algebra import Collection, JoinKind
from nilometer.expressions import (
    Aggregate,
    Call,
    ColumnReference,
    Expression,
    columns_of,
    constant_size,
    transform,
    uses_now,
    walk,
)
from nilometer.plan import physical
from nilometer.types import Kind

Names = dict[str, Expression]


class FlatError(Exception):
    """Why an aggregate over a join must see the joined rows."""


@dataclass(frozen=True)
class Join:
    """Two inputs or joins (their numbers; joins count on after the inputs), and the pairs of expressions that must be equal, each over
    the columns of one input."""

    left: int
    right: int
    keys: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True)
class JoinTree:
    """A tree of joins over `leaves`, in the order in which they can be made; `names` gives the tree's columns in terms of the leaves'."""

    leaves: tuple[physical.Node, ...]
    joins: tuple[Join, ...]
    names: Names

    def over(self, expression: Expression) -> Expression:
        """An expression over the tree's rows in terms of the leaves' columns."""

        def change(part: Expression) -> Expression:
            return self.names[part.name] if isinstance(part, ColumnReference) else part

        return transform(expression, change)

    def leaf_of(self, expression: Expression) -> int | None:
        """The one leaf whose columns an expression reads (the first, if it reads none); None if it reads several."""
        read = columns_of(expression)
        return next((n for n, leaf in enumerate(self.leaves) if read <= set(leaf.schema.names)), None)


@dataclass(frozen=True)
class EagerAggregation:
    """`keys` and `items` in terms of the leaves' columns; the aggregates' arguments read one leaf each."""

    tree: JoinTree
    keys: tuple[tuple[str, Expression], ...]
    items: tuple[tuple[str, Aggregate], ...]


def eager_aggregation(
    keys: Sequence[tuple[str, Expression]], items: Sequence[tuple[str, Aggregate]], below: physical.Node
) -> EagerAggregation:
    """An aggregate of a join of time windows; raises FlatError."""
    tree = join_tree(below)
    if any(uses_now(expression) for _, expression in (*keys, *items)):
        raise FlatError("it reads NOW")
    own_keys = tuple((name, tree.over(expression)) for name, expression in keys)
    own_items = []
    for name, aggregate in items:
        if not constant_size(aggregate):
            raise FlatError(f"{aggregate} needs every joined row")
        changed = tree.over(aggregate)
        assert isinstance(changed, Aggregate)
        own_items.append((name, changed))
    for _, expression in (*own_keys, *own_items):
        if tree.leaf_of(expression) is None:
            raise FlatError(f"{expression} reads several inputs")
        if _may_overflow(expression):
            raise FlatError(f"{expression} may overflow, which is an error of joined rows alone")
    return EagerAggregation(tree, own_keys, tuple(own_items))


def _may_overflow(expression: Expression) -> bool:
    """Whether whole numbers are computed in it: a row that joins nothing must not make an error."""
    whole = (Kind.INT, Kind.TIME, Kind.DURATION)
    return any(isinstance(part, Call) and part.type.kind in whole for part in walk(expression))


def join_tree(node: physical.Node) -> JoinTree:
    """The joins of time windows that a node's rows are made by; raises FlatError."""
    leaves: list[physical.Node] = []
    joins: list[tuple[int, int, tuple[tuple[Expression, Expression], ...]]] = []
    _, names = _grow(node, leaves, joins)
    count = len(leaves)
    # Joins were numbered -1, -2, ... while the number of leaves was not known.
    numbers = [(at if at >= 0 else count - at - 1 for at in (left, right)) for left, right, _ in joins]
    made = tuple(Join(left, right, keys) for (left, right), (_, _, keys) in zip(numbers, joins, strict=True))
    tree = JoinTree(tuple(leaves), made, names)
    for each in made:
        for expression in (side for pair in each.keys for side in pair):
            if uses_now(expression):
                raise FlatError("its joins read NOW")
            if tree.leaf_of(expression) is None:
                raise FlatError(f"{expression} reads several inputs")
    return tree


def _grow(
    node: physical.Node,
    leaves: list[physical.Node],
    joins: list[tuple[int, int, tuple[tuple[Expression, Expression], ...]]],
) -> tuple[int, Names]:
    """Add what is below a node; gives its number and its columns in terms of the leaves'."""
    if is_windowed_stream(node):
        leaves.append(node)
        return len(leaves) - 1, {c.name: ColumnReference(c.name, c.type) for c in node.schema}
    match node:
        case physical.Project(input=input, items=items):
            number, names = _grow(input, leaves, joins)
            replace = _substitution(names)
            return number, {item.name: replace(item.expression) for item in items}
        case physical.Rename(input=input):
            number, names = _grow(input, leaves, joins)
            return number, dict(zip(node.schema.names, (names[n] for n in input.schema.names), strict=True))
        case physical.HashJoin(left=left, right=right, kind=JoinKind.INNER, keys=keys, residual=None):
            pass
        case physical.NlJoin(left=left, right=right, kind=JoinKind.INNER, predicate=None):
            keys = ()
        case physical.HashJoin(kind=JoinKind.INNER, residual=residual):
            raise FlatError(f"{residual} must hold between joined rows")
        case physical.NlJoin(kind=JoinKind.INNER, predicate=predicate):
            raise FlatError(f"{predicate} must hold between joined rows")
        case physical.HashJoin(kind=kind) | physical.NlJoin(kind=kind):
            raise FlatError(f"it is of a {kind} join")
        case _:
            raise FlatError(f"{node.operator} is no time window")
    if Collection.WINDOWS is not left.collection or Collection.WINDOWS is not right.collection:
        raise FlatError("a table is joined")
    one, left_names = _grow(left, leaves, joins)
    other, right_names = _grow(right, leaves, joins)
    of_left, of_right = _substitution(left_names), _substitution(right_names)
    joins.append((one, other, tuple((of_left(a), of_right(b)) for a, b in keys)))
    return -len(joins), left_names | right_names


def _substitution(names: Names) -> Callable[[Expression], Expression]:
    def change(part: Expression) -> Expression:
        return names[part.name] if isinstance(part, ColumnReference) else part

    return lambda expression: transform(expression, change)


def is_windowed_stream(node: physical.Node) -> bool:
    """Whether a node's rows are those of a time window, changed only in ways that do not depend on which window they are seen in."""
    match node:
        case physical.TimeWindow():
            return True
        case physical.Select(predicate=predicate):
            return not uses_now(predicate) and is_windowed_stream(node.input)
        case physical.Project(items=items):
            return not any(uses_now(i.expression) for i in items) and is_windowed_stream(node.input)
        case physical.Rename():
            return is_windowed_stream(node.input)
    return False
