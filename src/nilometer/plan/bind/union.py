"""Binds UNION to a Union node.

Both queries must have equally many columns and the same kind of collection. INT is widened to FLOAT, and the
names are the first query's.
"""

from __future__ import annotations

from nilometer import algebra
from nilometer.expressions import ColumnReference, Expression, Literal, type_of
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.expressions import as_float
from nilometer.plan.bind.scope import Bound, Context, quoted
from nilometer.types import Kind


def bind_union(context: Context, place: ast.Union, left: Bound, right: Bound) -> Bound:
    one, other = left.node.schema, right.node.schema
    if len(one) != len(other):
        context.fail(
            f"UNION of {len(one)} column{'' if len(one) == 1 else 's'} with {len(other)}",
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
            f"UNION of {kinds[left.node.collection]} with {kinds[right.node.collection]}",
            place.right,
            hint="read the table beside a stream: FROM s, t"
            if algebra.Collection.TABLE in (left.node.collection, right.node.collection)
            else "give both queries windows, or neither",
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
                f"UNION of {first.type} with {second.type} in column '{first.name}'",
                place.right,
                detail=f"the second query's column is '{second.name}'",
                hint="both queries must give the same types, column by column",
            )
        lefts.append(logical.Projection(first.name, a, first.unit))
        rights.append(logical.Projection(first.name, b, first.unit))
    node = logical.Union(_projected(left.node, lefts), _projected(right.node, rights))
    return Bound(node, left.windowed and right.windowed)


def _projected(node: logical.Node, items: list[logical.Projection]) -> logical.Node:
    same = all(
        isinstance(item.expression, ColumnReference) and item.expression.name == item.name == column.name
        for item, column in zip(items, node.schema, strict=True)
    )
    return node if same else logical.Project(node, tuple(items))
