"""Helpers of the rules: change the expressions of a node, substitute columns, split conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from nilometer.expressions import (
    Aggregate,
    Call,
    ColumnReference,
    Expression,
    columns_of,
    conjunction,
    conjuncts,
    may_fail,
    transform,
    uses_now,
)
from nilometer.plan import logical
from nilometer.plan.logical import Node

Change = Callable[[Expression], Expression]


def substitute(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """The expression with columns replaced by their values; AND stays flat under AND, OR under OR."""

    def change(node: Expression) -> Expression:
        match node:
            case ColumnReference(name) if name in values:
                return values[name]
            case _:
                return flatten(node)

    return transform(expression, change)


def flatten(node: Expression) -> Expression:
    """Turns `a AND (b AND c)` into one AND of three; OR likewise."""
    match node:
        case Call("and" | "or" as word, arguments) if any(
            isinstance(argument, Call) and argument.function == word for argument in arguments
        ):
            parts: list[Expression] = []
            for argument in arguments:
                nested = isinstance(argument, Call) and argument.function == word
                parts += argument.children() if nested else [argument]
            return replace(node, arguments=tuple(parts))
        case _:
            return node


def both(*predicates: Expression | None) -> Expression | None:
    """The AND of all conditions, flat."""
    return conjunction([part for predicate in predicates for part in conjuncts(predicate)])


def selected(node: Node, parts: Iterable[Expression]) -> Node:
    """The node under a selection by all parts; the node itself if there are none."""
    predicate = conjunction(tuple(parts))
    return node if predicate is None else logical.Select(node, predicate)


def part(
    predicate: Expression | None, goes: Callable[[Expression], bool]
) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
    """Splits the conditions that AND connects into those for which `goes` is true and the others.

    A condition that may fail stays: elsewhere it might meet a row that another condition keeps away from it.
    """
    going: list[Expression] = []
    staying: list[Expression] = []
    for condition in conjuncts(predicate):
        (going if goes(condition) and not may_fail(condition) else staying).append(condition)
    return tuple(going), tuple(staying)


def reads_only(condition: Expression, node: Node) -> bool:
    """Whether it reads columns, all of them the node's, and not the tick: a join's tick differs from its
    sides'."""
    columns = columns_of(condition)
    return bool(columns) and columns <= set(node.schema.names) and not uses_now(condition)


def map_expressions(node: Node, change: Change, condition: Change | None = None) -> Node:
    """The node with every expression changed, predicates by `condition` if given. Returns the very same node
    if nothing has changed."""
    predicate = condition or change

    def optional(expression: Expression | None) -> Expression | None:
        return None if expression is None else predicate(expression)

    def projections(items: tuple[logical.Projection, ...]) -> tuple[logical.Projection, ...]:
        return tuple(replace(item, expression=change(item.expression)) for item in items)

    changed: Node
    match node:
        case logical.Acquire() | logical.Join() | logical.WindowJoin():
            changed = replace(node, predicate=optional(node.predicate))
        case logical.Select():
            changed = replace(node, predicate=predicate(node.predicate))
        case logical.Project():
            changed = replace(node, items=projections(node.items))
        case logical.Unnest():
            changed = replace(node, expression=change(node.expression))
        case logical.Sort():
            keys = tuple(replace(key, expression=change(key.expression)) for key in node.keys)
            changed = replace(node, keys=keys)
        case logical.Lag():
            items = tuple(replace(item, expression=change(item.expression)) for item in node.items)
            changed = replace(node, items=items)
        case logical.Analytic():
            changed = _map_analytic(node, change)
        case logical.AsofJoin():
            changed = replace(node, keys=tuple((change(left), change(right)) for left, right in node.keys))
        case logical.Aggregate():
            aggregates = tuple(
                replace(item, aggregate=_map_aggregate(item.aggregate, change)) for item in node.items
            )
            changed = replace(node, keys=projections(node.keys), items=aggregates)
        case _:
            return node
    return node if changed == node else changed


def _map_aggregate(aggregate: Aggregate, change: Change) -> Aggregate:
    if aggregate.argument is None:
        return aggregate
    return replace(
        aggregate, argument=change(aggregate.argument), rest=tuple(change(one) for one in aggregate.rest)
    )


def _map_analytic(node: logical.Analytic, change: Change) -> logical.Analytic:
    def optional(expression: Expression | None) -> Expression | None:
        return None if expression is None else change(expression)

    return replace(
        node,
        partition=tuple(map(change, node.partition)),
        order=tuple(replace(item, expression=change(item.expression)) for item in node.order),
        items=tuple(
            replace(item, argument=optional(item.argument), default=optional(item.default))
            for item in node.items
        ),
    )
