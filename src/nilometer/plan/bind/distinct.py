"""Binds DISTINCT to an Aggregate without items: one row for each group of equal rows, NULL equal to NULL."""

from __future__ import annotations

from nilometer.algebra import Collection
from nilometer.expressions import ColumnReference
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.scope import Context
from nilometer.plan.bind.whole import can_be_whole, whole
from nilometer.types import NESTED


def distinct(
    context: Context, node: logical.Node, place: ast.Node, what: str = "SELECT DISTINCT"
) -> logical.Node:
    """The rows of each evaluation, or of a table, without doubles."""
    if can_be_whole(context, node):
        node = whole(node)
    if node.collection is Collection.STREAM:
        context.fail(
            f"{what} needs a window: to know that a row is new, a stream without end must be kept whole",
            place,
            hint="give the stream a window, such as [RANGE 1 HOUR]; ISTREAM SELECT DISTINCT shows each row when it is new",
        )
    for column in node.schema:
        if column.type.kind in NESTED:
            context.fail(
                f"{what} cannot compare '{column.name}', a {column.type}",
                place,
                hint="leave it out of the select list",
            )
    keys = tuple(
        logical.Projection(column.name, ColumnReference(column.name, column.type.plain), column.unit)
        for column in node.schema
    )
    return logical.Aggregate(node, keys, ())
