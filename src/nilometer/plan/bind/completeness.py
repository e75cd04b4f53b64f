"""Binds COMPLETENESS(). Each windowed stream gets an Aggregate that counts its readings and those expected.

The Aggregate is joined to the query's plan. Over a join of several windows, COMPLETENESS() is the least of
their values. It is NULL if no stream has an expected rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nilometer import algebra
from nilometer.algebra.table_functions.session import WINDOW_COLUMNS
from nilometer.expressions import (
    Call,
    ColumnReference,
    Expression,
    Literal,
    columns_of,
    conjunction,
    type_of,
    uses_now,
)
from nilometer.plan import logical
from nilometer.plan.bind.group_windows import is_group_window
from nilometer.plan.scalar import evaluate
from nilometer.types import BOOLEAN, FLOAT

if TYPE_CHECKING:
    from nilometer.plan.bind.scope import Relation
    from nilometer.plan.bind.select import SelectBinder


def completeness_of(
    query: SelectBinder, node: logical.Node, keys: list[logical.Projection] | None
) -> tuple[logical.Node, Expression]:
    """Joins each windowed stream's completeness to the plan; returns it and the expression for the least."""
    values: list[Expression] = []
    for relation in query.scope.relations:
        window = relation.node
        if isinstance(window, logical.Project) and is_group_window(relation):
            window = window.input
        if not isinstance(window, logical.TimeWindow):
            continue
        leaf = window.input
        while not isinstance(leaf, logical.Acquire) and _keeps_readings(leaf):
            leaf = leaf.inputs[0]
        if not isinstance(leaf, logical.Acquire) or leaf.stream.interval is None:
            continue
        id_name = next(
            (c.name for c in leaf.schema if c.name.lower() == f"{relation.alias}.id".lower()), None
        )
        if id_name is None:
            continue
        # The columns of a group window are the same for all its rows, and divide nothing.
        own = [key for key in keys or () if not _of_a_window(key)]
        by_id = len(own) == 1 and own[0].expression == ColumnReference(id_name, leaf.stream.id_type)
        counted = _counted(query, relation, window, leaf, id_name, by_id)
        condition: Expression | None = None
        if by_id:
            key = counted.keys[0]
            reference = ColumnReference(own[0].name, type_of(own[0].expression))
            condition = Call("=", (reference, ColumnReference(key.name, type_of(key.expression))), BOOLEAN)
        node = logical.Join(node, counted, algebra.JoinKind.LEFT, condition)
        assert counted.completeness is not None
        values.append(ColumnReference(counted.completeness.name, FLOAT))
    if not values:
        return node, Literal(None, FLOAT)
    return node, values[0] if len(values) == 1 else Call("least", tuple(values), FLOAT)


def _keeps_readings(node: logical.Node) -> bool:
    """Whether its rows are readings of the stream: sampled, with what INSIDE is told, or those that GUIDED BY reads."""
    match node:
        case logical.Sample() | logical.AsofJoin(before=True):
            return True
        case logical.Select(logical.AsofJoin(before=True)):
            return True
        case _:
            return False


def _of_a_window(key: logical.Projection) -> bool:
    names = {name.rsplit(".", 1)[-1] for name in columns_of(key.expression)}
    return bool(names) and names <= set(WINDOW_COLUMNS)


def _counted(
    query: SelectBinder,
    relation: Relation,
    window: logical.TimeWindow,
    leaf: logical.Acquire,
    id_name: str,
    by_id: bool,
) -> logical.Aggregate:
    context = query.context
    stream = leaf.stream
    static = {f"{relation.alias}.{column.name}" for column in context.catalog.static_columns(stream.name)} | {
        id_name
    }
    selecting = [
        part for part in query.where if columns_of(part) and columns_of(part) <= static and not uses_now(part)
    ]
    declared = context.catalog.sensors(stream.name)
    chosen = None
    if declared:
        rows = {
            sensor.id: {
                f"{relation.alias}.{column.name}": None
                for column in context.catalog.static_columns(stream.name)
            }
            | {f"{relation.alias}.{name}": value for name, value in sensor.attributes}
            | {f"{relation.alias}.location": sensor.location, id_name: sensor.id}
            for sensor in declared
        }
        chosen = frozenset(
            identifier
            for identifier, row in rows.items()
            if all(evaluate(part, row, None) is True for part in selecting)
        )
    narrowed = logical.Acquire(
        stream,
        leaf.alias,
        leaf.columns,
        predicate=conjunction(selecting) if chosen is None else None,
        sensors=chosen if selecting else None,
    )
    input_node, every = _read(window.input, narrowed)
    interval = max(stream.interval or 1, every)
    if isinstance(window.input, logical.Select) and chosen is None:
        # Sensors that were not read were perhaps never heard: nobody knows how many there are.
        input_node = logical.Select(input_node, Literal(False, BOOLEAN))
    over = window.with_inputs((input_node,))
    keys = (
        (logical.Projection(context.fresh("key"), ColumnReference(id_name, stream.id_type)),) if by_id else ()
    )
    completeness = algebra.Completeness(
        context.fresh("completeness"), interval, None if chosen is None else len(chosen), id_name
    )
    return logical.Aggregate(over, keys, (), completeness)


def _read(node: logical.Node, leaf: logical.Acquire) -> tuple[logical.Node, int]:
    """The readings of `leaf` that a query reads below its window, and the interval at which it samples them. INSIDE
    leaves all of them; GUIDED BY reads some."""
    match node:
        case logical.Sample(below, every):
            return logical.Sample(_read(below, leaf)[0], every), every
        case logical.Select(logical.AsofJoin() as join, predicate):
            inner, every = _read(join.left, leaf)
            return logical.Select(join.with_inputs((inner, join.right)), predicate), every
        case logical.AsofJoin(left=left):
            return _read(left, leaf)
        case _:
            return leaf, 0
