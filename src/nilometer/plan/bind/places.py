"""Binds `distance(p, q)` by the coordinates of its points, and `id IN NEAREST 3 TO POINT(x, y)`.

The coordinates of a stream are the unit of its points, also of those that a query makes of its columns: `point(lon, lat)`,
`coalesce(p, q)`, `LAG(p)`. NEAREST looks at the places of the declared sensors, and becomes a list of ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nilometer.algebra.places import WGS84, distance
from nilometer.catalog.extents import Sensor, Stream
from nilometer.expressions import (
    Call,
    ColumnReference,
    Expression,
    InList,
    Literal,
    columns_of,
    type_of,
)
from nilometer.language import ast
from nilometer.plan import logical
from nilometer.plan.bind.scope import Context, Relation
from nilometer.types import FLOAT, INT, STRING, Kind

if TYPE_CHECKING:
    from nilometer.plan.bind.expressions import ExpressionBinder


def bind_distance(
    binder: ExpressionBinder, node: ast.FunctionCall, arguments: Sequence[Expression]
) -> Expression:
    """In WGS84 it is the great-circle distance in metres, elsewhere the straight distance."""
    known = set().union(
        *(coordinates_of(binder.context, binder.scope.relations, argument) for argument in arguments)
    )
    if len(known) > 1:
        one, other = sorted(known)
        binder.context.fail(f"the points have different coordinates: {one} and {other}", node)
    coordinates = next(iter(known), None)
    call = Call("great_circle" if coordinates == WGS84 else "distance", tuple(arguments), FLOAT)
    if coordinates is not None:
        binder.context.units[call] = "m" if coordinates == WGS84 else coordinates
    return call


def coordinates_of(context: Context, relations: Sequence[Relation], expression: Expression) -> frozenset[str]:
    """The coordinates of a point; none for a constant, and several if its parts have different ones."""
    if type_of(expression).kind is not Kind.POINT:
        return frozenset()
    match expression:
        case ColumnReference(name):
            units = (each.node.schema[name].unit for each in relations if name in each.node.schema)
            unit = next(units, None) or context.units.get(expression)
            return frozenset(() if unit is None else (unit,))
        case Call("point"):
            read = (_streams_of(relations, name) for name in columns_of(expression))
            return frozenset(each.coordinates for streams in read for each in streams if each.coordinates)
        case _:
            children = (coordinates_of(context, relations, each) for each in expression.children())
            return frozenset().union(*children)


def one_of(found: frozenset[str]) -> str | None:
    """The coordinates, if they are known and the same."""
    return next(iter(found)) if len(found) == 1 else None


def keep_coordinates(
    context: Context, relations: Sequence[Relation], value: Expression, column: ColumnReference
) -> None:
    """Notes that a column that the binder adds has points with the coordinates of this value."""
    unit = one_of(coordinates_of(context, relations, value))
    if unit is not None:
        context.units[column] = unit


def _streams_of(relations: Sequence[Relation], column: str) -> list[Stream]:
    """The streams that a column is read from."""
    alias = column.split(".")[0].lower()
    for relation in relations:
        if column not in relation.node.schema:
            continue
        for node in logical.walk_plan(relation.node):
            if isinstance(node, logical.Acquire | logical.Rename) and node.alias.lower() == alias:
                below = logical.walk_plan(node)
                return [leaf.stream for leaf in below if isinstance(leaf, logical.Acquire)]
    return []


def bind_nearest(binder: ExpressionBinder, node: ast.Nearest) -> Expression:
    """The ids of the sensors that are nearest to a point; ties go to the least id."""
    context = binder.context
    if node.count < 1:
        context.fail(
            "NEAREST takes a whole number from 1 on", node, hint="id IN NEAREST 3 TO POINT(8.5, 47.4)"
        )
    operand = binder.bind(node.operand)
    stream = _stream_of(binder, operand)
    if stream is None:
        context.fail(
            "IN NEAREST stands behind the id of a stream",
            node.operand,
            hint="id IN NEAREST 3 TO POINT(8.5, 47.4)",
        )
    placed = [sensor for sensor in context.catalog.sensors(stream.name) if sensor.location is not None]
    if not placed:
        context.fail(
            f"no sensor of '{stream.name}' has a place",
            node,
            hint=f"declare them: CREATE SENSOR 5 OF {stream.name} AT (8.5, 47.4)",
        )

    def key(sensor: Sensor) -> tuple[float, bool, int | str]:
        assert sensor.location is not None
        away = distance(stream.coordinates, sensor.location, (node.x, node.y))
        return away, isinstance(sensor.id, str), sensor.id

    nearest = sorted(placed, key=key)[: node.count]
    ids = (Literal(sensor.id, STRING if isinstance(sensor.id, str) else INT) for sensor in nearest)
    return InList(operand, tuple(ids))


def _stream_of(binder: ExpressionBinder, operand: Expression) -> Stream | None:
    """The stream whose id the operand is."""
    if not isinstance(operand, ColumnReference):
        return None
    for relation in binder.scope.relations:
        for leaf in logical.walk_plan(relation.node):
            if isinstance(leaf, logical.Acquire) and operand.name.lower() == f"{leaf.alias}.id".lower():
                return leaf.stream
    return None
