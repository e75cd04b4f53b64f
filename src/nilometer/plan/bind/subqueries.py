"""Rewrites subqueries to joins and grouped windows, so that no host needs a subquery operator.

- A scalar subquery must be one ungrouped aggregate, or one row for another reason (LIMIT 1); it becomes a LEFT
  join with that row. Conditions `inner = outer` in its WHERE (a correlation) become grouping keys and the
  join's condition.
- `x IN (SELECT y ...)` and EXISTS become SEMI joins, NOT IN and NOT EXISTS ANTI joins; NOT IN keeps SQL's NULLs.
  Other conditions between the two queries become conditions of the join.
- Under OR, in CASE and in the select list, IN and EXISTS are values (marks.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from nilometer import algebra
from nilometer.expressions import (
    COUNTING,
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
from nilometer.plan.bind.whole import check_all_or_none, with_whole_streams
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


def reads_outer(condition: Expression) -> bool:
    """Whether the condition reads a column of the outer query."""
    return any(name.startswith(OUTER) for name in columns_of(condition))


def split_correlation(condition: Expression) -> tuple[Expression, Expression] | None:
    """(inner, outer) of a condition `inner = outer`; None of any other."""
    outer = {name for name in columns_of(condition) if name.startswith(OUTER)}
    if isinstance(condition, Call) and condition.function == "=":
        for inner_side, outer_side in (condition.arguments, condition.arguments[::-1]):
            names = columns_of(outer_side)
            if names and names <= outer and columns_of(inner_side) and not columns_of(inner_side) & outer:
                return inner_side, transform(outer_side, _unmark)
    return None


def refuse_residual(context: Context, place: ast.Node) -> NoReturn:
    """Refuses a condition between a subquery and its outer query that no key can stand for."""
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
    if _gives_one_row(query):
        return _one_row(outer, node)
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
            hint="aggregate it, such as (SELECT MAX(x) FROM ...), take one row with LIMIT 1, or join it in FROM",
        )
    inner = SelectBinder(context, query, outer.scope, outer.bind_query)
    inner.bind_from_and_where()
    if inner.residuals:
        refuse_residual(context, inner.residuals[0][1])
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
            if expression.function in COUNTING:
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


def _gives_one_row(query: ast.QueryNode) -> bool:
    """Whether the text alone shows that a query gives at most one row."""
    match query:
        case ast.Ordered(limit=ast.Constant(value=0 | 1)):
            return True
        case ast.Values(rows=(_,)) | ast.Select(sources=()):
            return True
        case ast.With(query=inner):
            return _gives_one_row(inner)
        case _:
            return False


def _one_row(outer: SelectBinder, node: ast.ScalarQuery) -> PreparedScalar:
    """A subquery of at most one row, which reads nothing of the outer query; NULL where it gives none."""
    context = outer.context
    bound = outer.bind_query(context, node.query, None).node
    if len(bound.schema) != 1:
        context.fail(
            f"a subquery used as a value must give one column, not {len(bound.schema)}",
            node,
            hint="such as (SELECT AVG(x) FROM s [NOW])",
        )
    (column,) = bound.schema
    reference = ColumnReference(column.name, column.type.plain)
    item = logical.Projection(context.fresh("value"), reference, column.unit)
    return PreparedScalar(
        logical.Project(bound, (item,)), (), ColumnReference(item.name, reference.type), node
    )


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
    node, aggregate = joinable(context, node, prepared.node, place)
    conditions = [Call("=", (over(outside), inside), BOOLEAN) for inside, outside in prepared.keys]
    return logical.Join(node, aggregate, algebra.JoinKind.LEFT, conjunction(conditions))


def attach_membership(
    outer: SelectBinder, node: ast.InQuery | ast.Exists, negated: bool, binder: ExpressionBinder
) -> logical.Node:
    """SEMI or ANTI join for IN, EXISTS and their negations."""
    context = outer.context
    anti = negated != (isinstance(node, ast.InQuery) and node.negated)
    side = membership_side(outer, node)
    right, values = side.node, side.values
    left, right = joinable(context, outer.node, right, node)
    conditions: list[Expression] = [Call("=", (outside, inside), BOOLEAN) for inside, outside in side.keys]
    conditions += side.residuals
    if isinstance(node, ast.InQuery):
        operand = binder.bind(node.operand)
        if len(values) != 1:
            context.fail(
                f"IN compares one value with a subquery of {len(values)} columns",
                node,
                hint="select one column there; tie the others to the outer query by '=' in its WHERE",
            )
        equal: Expression = binder.equal(node, operand, values[0])
        if anti:  # NOT IN: a NULL on either side leaves it undecided, so the row is not kept
            equal = Call("or", (equal, Call("is_null", (equal,), BOOLEAN)), BOOLEAN)
        conditions.append(equal)
    kind = algebra.JoinKind.ANTI if anti else algebra.JoinKind.SEMI
    return logical.Join(left, right, kind, conjunction(conditions))


@dataclass(frozen=True)
class MembershipSide:
    """The subquery of IN or EXISTS: its values, its (column, outer expression) keys, and other conditions
    between its columns and those of the outer query. `place` is that of the first such condition."""

    node: logical.Node
    values: list[ColumnReference]
    keys: list[tuple[ColumnReference, Expression]]
    residuals: list[Expression]
    place: ast.Node


def membership_side(outer: SelectBinder, node: ast.InQuery | ast.Exists) -> MembershipSide:
    """Binds the subquery of IN or EXISTS."""
    from nilometer.plan.bind.select import SelectBinder

    context = outer.context
    query = node.query
    if isinstance(node, ast.Exists):
        query = _unordered(query)
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
            read = {
                name for each, _ in inner.residuals for name in columns_of(each) if not name.startswith(OUTER)
            }
            tied = {name: context.fresh("tied") for name in sorted(read)}
            schema = inner.node.schema
            columns = [
                logical.Projection(new, ColumnReference(name, schema[name].type.plain))
                for name, new in tied.items()
            ]
            projections = (*items, *(key for key, _ in keys), *columns)
            if not projections:
                projections = (logical.Projection(context.fresh("value"), Literal(1, INT)),)
            projected = logical.Project(inner.node, projections)
            values = [ColumnReference(item.name, type_of(item.expression)) for item in items]
            pairs = [(ColumnReference(k.name, type_of(k.expression)), outside) for k, outside in keys]
            residuals = [
                transform(transform(each, lambda part: _named_anew(part, tied)), _unmark)
                for each, _ in inner.residuals
            ]
            place = inner.residuals[0][1] if inner.residuals else node
            return MembershipSide(projected, values, list(pairs), residuals, place)
    bound = outer.bind_query(context, query, None)
    renamed = tuple(
        logical.Projection(context.fresh("value"), ColumnReference(c.name, c.type.plain))
        for c in bound.node.schema
    )
    right = logical.Project(bound.node, renamed)
    values = [ColumnReference(item.name, type_of(item.expression)) for item in renamed]
    return MembershipSide(right, values, [], [], node)


def _named_anew(expression: Expression, names: Mapping[str, str]) -> Expression:
    if isinstance(expression, ColumnReference) and expression.name in names:
        return ColumnReference(names[expression.name], expression.type)
    return expression


def _unordered(query: ast.QueryNode) -> ast.QueryNode:
    """EXISTS asks for one row: neither ORDER BY nor LIMIT 1 changes its answer."""
    match query:
        case ast.Ordered(query=inner, limit=None | ast.Constant(value=1), offset=None):
            return inner
        case _:
            return query


def at_outer_slide(outer: logical.Node, inner: logical.Node) -> logical.Node:
    """The subquery, evaluated when the query around it is: its windows without SLIDE take the outer one's."""
    around = [node for node in logical.walk_plan(outer) if isinstance(node, logical.TimeWindow)]
    slides = {node.slide for node in around}
    if len(slides) != 1 or None in slides or any(node.grid is not None for node in around):
        return inner
    (slide,) = slides

    def change(node: logical.Node) -> logical.Node:
        if isinstance(node, logical.ToStream):
            return node
        if isinstance(node, logical.TimeWindow):
            return replace(node, slide=slide) if node.slide is None and node.grid is None else node
        inputs = tuple(map(change, node.inputs))
        same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
        return node if same else node.with_inputs(inputs)

    return change(inner)


def joinable(
    context: Context, left: logical.Node, right: logical.Node, place: ast.Node
) -> tuple[logical.Node, logical.Node]:
    """The outer query and a subquery, ready to be joined; an error says which one needs a window. Streams
    whose data is at hand are taken as tables."""
    if right.collection is _COLLECTION.STREAM or (
        left.collection is _COLLECTION.STREAM and right.collection is _COLLECTION.WINDOWS
    ):
        taken = with_whole_streams(context, [left, right])
        if taken is not None:
            left, right = taken
    right = at_outer_slide(left, right)
    check_all_or_none(context, [left, right], place)
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
        return _at_each_evaluation(context, left, right), right
    return left, right


def _at_each_evaluation(context: Context, table: logical.Node, windows: logical.Node) -> logical.Node:
    """The whole table at every evaluation of windows, also of empty ones: joined with one row that each of them has."""
    name = context.fresh("rows")
    item = logical.AggregateItem(name, Aggregate("count", None, False, INT))
    joined = logical.Join(
        table, logical.Aggregate(windows, (), (item,)), algebra.JoinKind.LEFT, conjunction([])
    )
    columns = tuple(
        logical.Projection(column.name, ColumnReference(column.name, column.type.plain), column.unit)
        for column in table.schema
    )
    return logical.Project(joined, columns)
