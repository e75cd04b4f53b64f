"""Binds ORDER BY and LIMIT: over windows and tables to a Sort, over a stream LIMIT to a Limit.

A key of ORDER BY is a column of the select list (by its name or its number), or any expression. Rows that tie
in all keys come in the order of the select list's columns, from left to right. So the order, and which rows
LIMIT keeps, depend on values alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nilometer.algebra import Collection, SortKey
from nilometer.expressions import Call, ColumnReference, Expression, Now, transform, type_of
from nilometer.language import ast
from nilometer.language.walk import names_in
from nilometer.plan import logical
from nilometer.plan.bind.expressions import ExpressionBinder
from nilometer.plan.bind.scope import Bound, Context, Relation, Scope, quoted
from nilometer.plan.bind.whole import can_be_whole, whole
from nilometer.types import FLOAT, INT_MAXIMUM, NESTED, Column, Kind

_ALIAS = "query"


@dataclass(frozen=True)
class Ordering:
    """The clauses of one query: its keys, and how many rows to keep."""

    place: ast.Ordered
    keys: tuple[ast.SortKey, ...]
    limit: int | None
    offset: int


def ordering_of(context: Context, query: ast.Ordered) -> Ordering:
    """The clauses with their numbers; a name is a parameter."""
    limit = None if query.limit is None else _rows(context, query.limit, "LIMIT")
    offset = 0 if query.offset is None else _rows(context, query.offset, "OFFSET")
    return Ordering(query, query.order_by, limit, offset)


def _rows(context: Context, place: ast.Constant | ast.Name, word: str) -> int:
    value = place.value if isinstance(place, ast.Constant) else None
    if isinstance(place, ast.Name):
        known, value = context.parameter(place.text)
        if not known:
            context.fail(
                f"no parameter '{place.text}'",
                place,
                hint=f"write a number, or pass it: --set {place.text}=10",
            )
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= INT_MAXIMUM:
        context.fail(f"{word} takes a whole number of rows, not {value!r}", place, hint=f"such as {word} 10")
    return value


def ordinal(context: Context, expression: ast.Expression, count: int, clause: str) -> int | None:
    """The place of the column that a whole number means, from 0 on; None if it is not a constant."""
    match expression:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            if not 1 <= number <= count:
                context.fail(
                    f"{clause} {number}: the select list has {count} column{'' if count == 1 else 's'}",
                    expression,
                    hint="the first column is 1",
                )
            return number - 1
        case ast.Constant() | ast.TimeConstant() | ast.DurationConstant():
            context.fail(f"{clause} takes a column, its number or an expression, not a constant", expression)
        case _:
            return None


def check_order(context: Context, node: logical.Node, ordering: Ordering) -> None:
    """Refuses ORDER BY over a stream, which never has all its rows."""
    if node.collection is Collection.STREAM and ordering.keys:
        context.fail(
            "ORDER BY needs a window: a stream never ends, so its last row is never known",
            ordering.keys[0],
            hint="give the stream a window, such as [RANGE 1 HOUR SLIDE 1 HOUR]; only ORDER BY time needs none",
        )


def in_time_order(
    node: logical.Node,
    projections: Sequence[logical.Projection],
    keys: Sequence[tuple[ast.SortKey, int | Expression]],
) -> bool:
    """Whether the keys are the time of a stream's tuples, ascending: this order needs no last row."""
    match keys:
        case [(ast.SortKey(descending=False, nulls_first=False), value)]:
            expression = projections[value].expression if isinstance(value, int) else value
            if isinstance(expression, Now):
                return True  # the time of a WINDOW join's tuples
            return isinstance(expression, ColumnReference) and _is_time(node, expression.name)
        case _:
            return False


def _is_time(node: logical.Node, name: str) -> bool:
    """Whether a column of a stream is the time of its tuples."""
    if node.collection is not Collection.STREAM:
        return False
    match node:
        case logical.Acquire(alias=alias):
            return name.lower() == f"{alias}.time".lower()
        case logical.Select() | logical.Lag() | logical.Sample() | logical.Limit():
            return _is_time(node.input, name)
        case logical.Rename():
            inner = dict(zip(node.schema.names, node.input.schema.names, strict=True))
            return _is_time(node.input, inner[name])
        case logical.Project(items=items):
            found = next(item.expression for item in items if item.name == name)
            return isinstance(found, ColumnReference) and _is_time(node.input, found.name)
        case logical.Join() | logical.AsofJoin():
            sides = node.inputs if isinstance(node, logical.Join) else node.inputs[:1]
            return any(name in side.schema and _is_time(side, name) for side in sides)
        case _:
            return False


def with_order(
    context: Context,
    input: logical.Node,
    projections: Sequence[logical.Projection],
    keys: Sequence[tuple[ast.SortKey, int | Expression]],
    ordering: Ordering,
) -> logical.Node:
    """The projected rows of `input` in their order. A key is the number of a projection, or an expression over
    `input`, which becomes a column that is dropped again."""
    if input.collection is Collection.STREAM:
        return logical.Limit(logical.Project(input, tuple(projections)), ordering.limit, ordering.offset)
    hidden: list[logical.Projection] = []
    sort: list[SortKey] = []
    for key, value in keys:
        if isinstance(value, int):
            found = projections[value]
        else:
            known = [each for each in (*projections, *hidden) if each.expression == value]
            found = known[0] if known else logical.Projection(context.fresh("order"), value)
            if not known:
                hidden.append(found)
        column = ColumnReference(found.name, type_of(found.expression))
        sort += [SortKey(part, key.descending, key.nulls_first) for part in _parts(context, column, key)]
    projected = logical.Project(input, (*projections, *hidden))
    node = sorted_by(context, projected, sort, [each.name for each in projections], ordering)
    if not hidden:
        return node
    return logical.Project(node, tuple(_kept(node.schema[each.name]) for each in projections))


def with_order_of_distinct(
    context: Context,
    node: logical.Node,
    projections: Sequence[logical.Projection],
    keys: Sequence[tuple[ast.SortKey, int | Expression]],
    ordering: Ordering,
) -> logical.Node:
    """The rows of SELECT DISTINCT in their order. A key reads nothing but the select list: of a column that is not
    in it, equal rows may have different values."""
    sort: list[SortKey] = []
    for key, value in keys:
        expression = projections[value].expression if isinstance(value, int) else value
        over = _over_projections(expression, projections)
        if over is None:
            context.fail(
                "with DISTINCT, ORDER BY can read only the select list",
                key,
                hint="put the expression into the select list, or leave DISTINCT out",
            )
        sort += [SortKey(part, key.descending, key.nulls_first) for part in _parts(context, over, key)]
    return sorted_by(context, node, sort, [each.name for each in projections], ordering)


def _over_projections(expression: Expression, projections: Sequence[logical.Projection]) -> Expression | None:
    """The expression in terms of the projected columns; None if it reads others."""
    for item in projections:
        if item.expression == expression:
            return ColumnReference(item.name, type_of(expression))
    if isinstance(expression, ColumnReference):
        return None
    children = tuple(_over_projections(child, projections) for child in expression.children())
    known = tuple(child for child in children if child is not None)
    if len(known) < len(children):
        return None
    return expression.with_children(known) if known else expression


def order_query(context: Context, bound: Bound, ordering: Ordering) -> Bound:
    """The ordered rows of a query whose columns are all that its keys can read: UNION, DISTINCT, VALUES."""
    if ordering.keys and can_be_whole(context, bound.node):
        bound = Bound(whole(bound.node), False)
    check_order(context, bound.node, ordering)
    if bound.node.collection is Collection.STREAM:
        return Bound(logical.Limit(bound.node, ordering.limit, ordering.offset), bound.windowed)
    renamed = logical.Rename(bound.node, _ALIAS)
    columns = bound.node.schema.columns
    scope = Scope(context, [Relation(_ALIAS, renamed, renamed.schema.names, ordering.place)])
    binder = ExpressionBinder(
        scope, lambda node: _refuse(context, node), "order by the column of the select list"
    )
    sort: list[SortKey] = []
    for key in ordering.keys:
        number = ordinal(context, key.expression, len(columns), "ORDER BY")
        if number is None:
            _refuse_qualified(context, key.expression, columns)
            value = transform(binder.bind(key.expression), _unqualified)
        else:
            value = ColumnReference(columns[number].name, columns[number].type.plain)
        sort += [SortKey(part, key.descending, key.nulls_first) for part in _parts(context, value, key)]
    names = list(bound.node.schema.names)
    return Bound(sorted_by(context, bound.node, sort, names, ordering), bound.windowed)


def sorted_by(
    context: Context, node: logical.Node, keys: Iterable[SortKey], columns: Sequence[str], ordering: Ordering
) -> logical.Node:
    """The Sort by these keys and then by all the columns."""
    all_keys = list(keys)
    for name in columns:
        column = node.schema[name]
        if column.type.kind in NESTED:
            if ordering.limit is None and not ordering.offset:
                continue
            context.fail(
                f"'{name}' is a {column.type}, which has no order, so LIMIT cannot choose among rows",
                ordering.place,
                hint=f"leave {name} out of the select list",
            )
        parts = _parts(context, ColumnReference(name, column.type.plain), ordering.place)
        known = {key.expression for key in all_keys}
        all_keys += [SortKey(part) for part in parts if part not in known]
    return logical.Sort(node, tuple(all_keys), ordering.limit, ordering.offset)


def _parts(context: Context, value: Expression, place: ast.Node) -> list[Expression]:
    """A POINT is ordered by x and then by y; any other value by itself."""
    match type_of(value).kind:
        case Kind.POINT:
            return [Call(function, (value,), FLOAT) for function in ("x", "y")]
        case Kind.LIST | Kind.STRUCT | Kind.VECTOR:
            context.fail(f"a {type_of(value)} has no order", place, hint="order by another column")
        case _:
            return [value]


def _kept(column: Column) -> logical.Projection:
    return logical.Projection(column.name, ColumnReference(column.name, column.type.plain), column.unit)


def _unqualified(expression: Expression) -> Expression:
    if isinstance(expression, ColumnReference):
        return ColumnReference(expression.name.removeprefix(f"{_ALIAS}."), expression.type)
    return expression


def _refuse_qualified(context: Context, expression: ast.Expression, columns: Sequence[Column]) -> None:
    qualified = [name for name in names_in(expression) if len(name.parts) > 1]
    if qualified:
        context.fail(
            f"ORDER BY behind UNION, EXCEPT, INTERSECT or VALUES cannot read '{qualified[0].text}'",
            qualified[0],
            detail=f"the columns here are {quoted([column.name for column in columns])}",
            hint="order by such a name, or by its number",
        )


def _refuse(context: Context, node: ast.Expression) -> Expression:
    context.fail(
        "ORDER BY cannot compute this here", node, hint="name it in the select list, and order by its name"
    )
