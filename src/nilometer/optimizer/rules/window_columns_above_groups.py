"""Group by what differs within a window, and compute the window's own columns above."""

from __future__ import annotations

from nilometer.algebra import Collection
from nilometer.expressions import (
    Aggregate,
    Call,
    ColumnReference,
    Expression,
    Literal,
    columns_of,
    transform,
)
from nilometer.optimizer.context import OptimizerContext
from nilometer.plan import logical
from nilometer.plan.logical import Node, Project, Projection, Rename, Select, TimeWindow, transform_plan
from nilometer.types import BOOLEAN, INT

_COUNT = "rows_in_window"


def window_columns_above_groups(plan: Node, _context: OptimizerContext) -> Node:
    """`Aggregate(k, NOW - d AS s; x(TimeWindow)) => Project(k, NOW - d AS s, ...; Aggregate(k; x(TimeWindow)))`, and
    without other keys `Select(COUNT(*) > 0)` between the two, as an empty window has no group

    The start and the end of a window are the same for all its rows. Without them in its keys, the aggregate can be
    computed from slices that windows share. x are selections, projections and renamings over TUMBLE or HOP.
    """
    return transform_plan(plan, _lift)


def _lift(node: Node) -> Node:
    if not isinstance(node, logical.Aggregate) or not node.keys or node.completeness is not None:
        return node
    if node.collection is not Collection.WINDOWS:
        return node
    values = {key.name: _over_window(key.expression, node.input) for key in node.keys}
    fixed = {name: value for name, value in values.items() if value is not None and not columns_of(value)}
    if not fixed:
        return node
    keys = tuple(key for key in node.keys if key.name not in fixed)
    items = node.items
    if not keys:
        items = (*items, logical.AggregateItem(_COUNT, Aggregate("count", None, False, INT)))
    below: Node = logical.Aggregate(node.input, keys, items)
    if not keys:
        some = Call(">", (ColumnReference(_COUNT, INT), Literal(0, INT)), BOOLEAN)
        below = Select(below, some)
    columns = [
        Projection(key.name, fixed.get(key.name) or _column(below, key.name), key.unit) for key in node.keys
    ]
    columns += [Projection(item.name, _column(below, item.name), item.unit) for item in node.items]
    return Project(below, tuple(columns))


def _column(node: Node, name: str) -> ColumnReference:
    return ColumnReference(name, node.schema[name].type)


def _over_window(expression: Expression, node: Node) -> Expression | None:
    """The expression over the rows of the window below; None if something else than rows is in between."""
    match node:
        case TimeWindow(grid=grid) if grid is not None:
            return expression
        case Select(input=input):
            return _over_window(expression, input)
        case Project(input=input, items=items):
            values = {item.name: item.expression for item in items}
        case Rename(input=input):
            pairs = zip(node.schema.names, input.schema.columns, strict=True)
            values = {name: ColumnReference(column.name, column.type) for name, column in pairs}
        case _:
            return None

    def change(part: Expression) -> Expression:
        return values[part.name] if isinstance(part, ColumnReference) else part

    return _over_window(transform(expression, change), input)
