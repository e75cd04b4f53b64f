"""Binds UNION to a Union node, and EXCEPT and INTERSECT to a BagOperation.

Both queries must have equally many columns and the same kind of collection. INT is widened to FLOAT, and the
names are the first query's. The nodes work on bags: UNION DISTINCT removes doubles from the result, EXCEPT and
INTERSECT without ALL remove them from both sides.
"""

from __future__ import annotations

from nilometer import algebra
from nilometer.expressions import ColumnReference, Expression, Literal, type_of
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.distinct import distinct
from nilometer.plan.bind.expressions import as_float
from nilometer.plan.bind.scope import Bound, Context, quoted
from nilometer.plan.bind.whole import can_be_whole, is_whole, whole, with_whole_streams
from nilometer.types import NESTED, Kind


def bind_union(context: Context, place: ast.Union, left: Bound, right: Bound) -> Bound:
    """The bag union, or with DISTINCT the set of its rows."""
    node: logical.Node = logical.Union(*_alike(context, "UNION", place, left, right))
    if place.distinct:
        node = distinct(context, node, place, "UNION DISTINCT")
    return Bound(node, left.windowed and right.windowed)


def bind_bag_operation(context: Context, place: ast.SetOperation, left: Bound, right: Bound) -> Bound:
    """EXCEPT and INTERSECT, with ALL of bags, else of sets."""
    word = place.operator
    sides = _alike(context, word, place, left, right)
    if all(can_be_whole(context, side) for side in sides):
        sides = (whole(sides[0]), whole(sides[1]))
    if sides[0].collection is algebra.Collection.STREAM:
        context.fail(
            f"{word} needs windows: a row that is missing in a stream may still come",
            place,
            hint="give both streams a window, such as [RANGE 1 HOUR]",
        )
    for column in sides[0].schema:
        if column.type.kind in NESTED:
            context.fail(f"{word} cannot compare '{column.name}', a {column.type}", place)
    if not place.all:
        sides = (distinct(context, sides[0], place.left), distinct(context, sides[1], place.right))
    node = logical.BagOperation(*sides, algebra.BagOperator(word))
    return Bound(node, left.windowed and right.windowed)


def _alike(
    context: Context, word: str, place: ast.Union | ast.SetOperation, left: Bound, right: Bound
) -> tuple[logical.Node, logical.Node]:
    """Both queries with the same names and types. A stream beside a whole stream is taken as a whole, too."""
    if left.node.collection is not right.node.collection:
        taken = with_whole_streams(context, [left.node, right.node])
        if taken is not None:
            left, right = Bound(taken[0], False), Bound(taken[1], False)
    one, other = left.node.schema, right.node.schema
    if len(one) != len(other):
        context.fail(
            f"{word} of {len(one)} column{'' if len(one) == 1 else 's'} with {len(other)}",
            place.right,
            detail=f"the first query gives {quoted(one.names)}, the second {quoted(other.names)}",
            hint="select equally many columns in both; NULL can replace a missing one",
        )
    if left.node.collection is not right.node.collection:
        kinds = {
            algebra.Collection.STREAM: "a stream",
            algebra.Collection.WINDOWS: "windows",
            algebra.Collection.TABLE: "a table",
        }
        context.fail(
            f"{word} of {kinds[left.node.collection]} with {kinds[right.node.collection]}",
            place.right,
            hint="read the table beside a stream: FROM s, t"
            if algebra.Collection.TABLE in (left.node.collection, right.node.collection)
            else "give both queries windows, or neither",
        )
    if is_whole(left.node) != is_whole(right.node):
        context.fail(
            f"{word} of windows with rows that come once, at the end of the data",
            place.right,
            hint="give both queries windows, or neither",
        )
    lefts: list[logical.Projection] = []
    rights: list[logical.Projection] = []
    for first, second in zip(one, other, strict=True):
        a: Expression = ColumnReference(first.name, first.type.plain)
        b: Expression = ColumnReference(second.name, second.type.plain)
        if first.type.numeric and second.type.numeric and first.type.kind is not second.type.kind:
            a, b = as_float(a), as_float(b)
        elif first.type.kind is Kind.NULL:
            a = Literal(None, second.type.plain)
        elif second.type.kind is Kind.NULL:
            b = Literal(None, first.type.plain)
        if type_of(a) != type_of(b):
            context.fail(
                f"{word} of {first.type} with {second.type} in column '{first.name}'",
                place.right,
                detail=f"the second query's column is '{second.name}'",
                hint="both queries must give the same types, column by column",
            )
        unit = second.unit if first.type.kind is Kind.NULL else first.unit
        lefts.append(logical.Projection(first.name, a, unit))
        rights.append(logical.Projection(first.name, b, unit))
    return _projected(left.node, lefts), _projected(right.node, rights)


def _projected(node: logical.Node, items: list[logical.Projection]) -> logical.Node:
    same = all(
        isinstance(item.expression, ColumnReference) and item.expression.name == item.name == column.name
        for item, column in zip(items, node.schema, strict=True)
    )
    return node if same else logical.Project(node, tuple(items))
