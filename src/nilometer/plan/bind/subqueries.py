"""Rewrites subqueries to joins and grouped windows, so that no host needs a subquery operator.

- A scalar subquery must be one ungrouped aggregate; it becomes a LEFT join with that aggregate. Conditions
  `inner = outer` in its WHERE (a correlation) become grouping keys and the join's condition.
- `x IN (SELECT y ...)` and EXISTS become SEMI joins, NOT IN and NOT EXISTS ANTI joins; NOT IN keeps SQL's NULLs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nilometer import algebra
from nilometer.expressions import (
    Aggregate,
    Call,
    ColumnReference,
    Expression,
    Literal,
    columns_of,
    conjunction,
    transform,
    type_of,
)
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.aggregate_calls import is_aggregate_call
from nilometer.plan.bind.expressions import OUTER, ExpressionBinder
from nilometer.plan.bind.scope import Context, walk_outside_subqueries
from nilometer.types import BOOLEAN, INT

if TYPE_CHECKING:
    from nilometer.plan.bind.select import SelectBinder

_COLLECTION = algebra.Collection


@dataclass(frozen=True)
class PreparedScalar:
    """A scalar subquery ready to join: its aggregate node, (key column, outer expression) pairs, its
    value."""

    node: logical.Node
    keys: tuple[tuple[Expression, Expression], ...]
    value: Expression
    place: ast.Node


def conjuncts_of(node: ast.Expression) -> list[ast.Expression]:
    """The conditions of an expression that AND connects."""
    if isinstance(node, ast.Binary) and node.operator == "AND":
        return conjuncts_of(node.left) + conjuncts_of(node.right)
    return [node]


def split_correlation(
    context: Context, condition: Expression, place: ast.Node
) -> tuple[Expression, Expression] | None:
    """(inner, outer) of a condition `inner = outer`; None if it reads no column of the outer query."""
    outer = {name for name in columns_of(condition) if name.startswith(OUTER)}
    if not outer:
        return None
    if isinstance(condition, Call) and condition.function == "=":
        for inner_side, outer_side in (condition.arguments, condition.arguments[::-1]):
            names = columns_of(outer_side)
            if names and names <= outer and columns_of(inner_side) and not columns_of(inner_side) & outer:
                return inner_side, transform(outer_side, _unmark)
    context.fail(
        "this condition ties the subquery to the outer query in a way that cannot be turned into a join",
        place,
        hint="compare a column of the subquery by '=' with a column of the outer query",
    )


def _unmark(expression: Expression) -> Expression:
    if isinstance(expression, ColumnReference) and expression.name.startswith(OUTER):
        return ColumnReference(expression.name[len(OUTER) :], expression.type)
    return expression


def prepare_scalar(outer: SelectBinder, node: ast.ScalarQuery) -> PreparedScalar:
    """Bind a scalar subquery: an ungrouped aggregate, grouped by its correlation."""
    from nilometer.plan.bind.select import SelectBinder

    context = outer.context
    query = node.query
    single = (
        isinstance(query, ast.Select)
        and len(query.items) == 1
        and not isinstance(query.items[0].expression, ast.Star)
    )
    if not isinstance(query, ast.Select) or not single:
        context.fail(
            "a subquery used as a value must give one column",
            node,
            hint="such as (SELECT AVG(x) FROM s [NOW])",
        )
    aggregated = any(is_aggregate_call(part) for part in walk_outside_subqueries(query.items[0].expression))
    if not aggregated or query.group_by or query.having is not None or query.stream in ("ISTREAM", "DSTREAM"):
        context.fail(
            "a subquery used as a value must give one row: an aggregate without GROUP BY",
            node,
            hint="aggregate it, such as (SELECT MAX(x) FROM ...), or join it in FROM",
        )
    inner = SelectBinder(context, query, outer.scope, outer.bind_query)
    inner.bind_from_and_where()
    inner.check_aggregatable()
    value = inner.binder(None, inner._special_refused).bind(query.items[0].expression)
    stray = [name for name in columns_of(value) if name.startswith(OUTER)]
    if stray:
        context.fail(f"'{stray[0][len(OUTER) :]}' belongs to the outer query", query.items[0])
    keys = [
        (logical.Projection(context.fresh("key"), inside), outside) for inside, outside in inner.correlations
    ]
    items: dict[Aggregate, logical.AggregateItem] = {}

    def to_columns(expression: Expression) -> Expression:
        if isinstance(expression, Aggregate):
            if expression not in items:
                items[expression] = logical.AggregateItem(context.fresh(expression.function), expression)
            column = ColumnReference(items[expression].name, expression.type)
            if expression.function == "count":
                # Without such a group, or before the first evaluation, the count is 0.
                return Call("coalesce", (column, Literal(0, INT)), INT)
            return column
        return expression

    over_aggregates = _replace_aggregates(value, to_columns)
    plain = columns_of(over_aggregates) - {item.name for item in items.values()}
    if plain:
        context.fail(
            f"'{sorted(plain)[0]}' is neither grouped nor aggregated", query.items[0], hint="aggregate it too"
        )
    aggregate = logical.Aggregate(inner.node, tuple(key for key, _ in keys), tuple(items.values()))
    pairs = tuple((ColumnReference(key.name, type_of(key.expression)), outside) for key, outside in keys)
    return PreparedScalar(aggregate, pairs, over_aggregates, node)


def _replace_aggregates(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Works top-down and does not descend into an aggregate's own argument."""
    if isinstance(expression, Aggregate):
        return change(expression)
    children = tuple(_replace_aggregates(child, change) for child in expression.children())
    return expression.with_children(children) if children else expression


def attach_scalar(
    context: Context,
    node: logical.Node,
    prepared: PreparedScalar,
    place: ast.Node,
    over: Callable[[Expression], Expression],
) -> logical.Node:
    """LEFT join with the subquery's aggregate; `over` maps the outer expressions to columns of `node`."""
    check_joinable(context, node, prepared.node, place)
    conditions = [Call("=", (over(outside), inside), BOOLEAN) for inside, outside in prepared.keys]
    return logical.Join(node, prepared.node, algebra.JoinKind.LEFT, conjunction(conditions))


def attach_membership(
    outer: SelectBinder, node: ast.InQuery | ast.Exists, negated: bool, binder: ExpressionBinder
) -> logical.Node:
    """SEMI or ANTI join for IN, EXISTS and their negations."""
    context = outer.context
    anti = negated != (isinstance(node, ast.InQuery) and node.negated)
    right, values, keys = _membership_side(outer, node)
    check_joinable(context, outer.node, right, node)
    conditions: list[Expression] = [Call("=", (outside, inside), BOOLEAN) for inside, outside in keys]
    if isinstance(node, ast.InQuery):
        operand = binder.bind(node.operand)
        if len(values) != 1:
            context.fail(
                f"IN compares one value with a subquery of {len(values)} columns",
                node,
                hint="select one column there; tie the others to the outer query by '=' in its WHERE",
            )
        equal: Expression = binder._binary(node, "=", operand, values[0])
        if anti:  # NOT IN: a NULL on either side leaves it undecided, so the row is not kept
            equal = Call("or", (equal, Call("is_null", (equal,), BOOLEAN)), BOOLEAN)
        conditions.append(equal)
    kind = algebra.JoinKind.ANTI if anti else algebra.JoinKind.SEMI
    return logical.Join(outer.node, right, kind, conjunction(conditions))


def _membership_side(
    outer: SelectBinder, node: ast.InQuery | ast.Exists
) -> tuple[logical.Node, list[ColumnReference], list[tuple[Expression, Expression]]]:
    from nilometer.plan.bind.select import SelectBinder

    context = outer.context
    query = node.query
    if isinstance(query, ast.Select) and not query.group_by and query.having is None and query.stream is None:
        inner = SelectBinder(context, query, outer.scope, outer.bind_query)
        if not inner._is_aggregated():
            inner.bind_from_and_where()
            entries = (
                []
                if isinstance(node, ast.Exists)
                else inner._bind_items(inner.binder(None, inner._special_refused))
            )
            items = [logical.Projection(context.fresh("value"), bound) for _, bound in entries]
            keys = [
                (logical.Projection(context.fresh("key"), inside), outside)
                for inside, outside in inner.correlations
            ]
            projections = (*items, *(key for key, _ in keys))
            if not projections:
                projections = (logical.Projection(context.fresh("value"), Literal(1, INT)),)
            projected = logical.Project(inner.node, projections)
            values = [ColumnReference(item.name, type_of(item.expression)) for item in items]
            pairs = [(ColumnReference(k.name, type_of(k.expression)), outside) for k, outside in keys]
            return projected, values, list(pairs)
    bound = outer.bind_query(context, query, None)
    renamed = tuple(
        logical.Projection(context.fresh("value"), ColumnReference(c.name, c.type.plain))
        for c in bound.node.schema
    )
    right = logical.Project(bound.node, renamed)
    return right, [ColumnReference(item.name, type_of(item.expression)) for item in renamed], []


def check_joinable(context: Context, left: logical.Node, right: logical.Node, place: ast.Node) -> None:
    """Checks that the outer query and a subquery can be joined; the error says which one needs a window."""
    kinds = (left.collection, right.collection)
    if right.collection is _COLLECTION.STREAM:
        context.fail(
            "the subquery reads a stream without a window", place, hint="give its stream one, such as [NOW]"
        )
    if kinds == (_COLLECTION.STREAM, _COLLECTION.WINDOWS):
        context.fail(
            "the subquery is evaluated window by window, and the query around it has no window",
            place,
            hint="give the outer stream a window, such as [NOW]",
        )
    if kinds == (_COLLECTION.TABLE, _COLLECTION.WINDOWS):
        context.fail(
            "the subquery is evaluated window by window, and the query around it reads only stored tables",
            place,
            hint="join the table with a windowed stream in FROM; for sensors that do not report, see SILENT(s FOR 5 MINUTES)",
        )
