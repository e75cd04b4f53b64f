"""A condition on what never changes about a sensor decides which sensors run (STEAM's StreamScan, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nilometer.catalog.extents import Sensor
from nilometer.errors import NilometerError
from nilometer.expressions import Expression, Literal, columns_of, conjunction, uses_now
from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.rewriting import part, substitute
from nilometer.optimizer.rules.fold_constants import fold
from nilometer.plan.logical import Acquire, Node, transform_plan
from nilometer.plan.scalar import evaluate
from nilometer.types import Column


def static_predicate_to_sensor_set(plan: Node, context: OptimizerContext) -> Node:
    """`Acquire(s, WHERE p AND q) => Acquire(s, WHERE q, SENSORS those for which p)   when p reads static attributes
    or the location (and perhaps the id), and cannot hold for an undeclared sensor`

    The attributes of an undeclared sensor are NULL, so `kind IS NULL` stays a condition. A condition on the id alone
    also stays: it is cheap and needs no list.
    """

    def change(node: Node) -> Node:
        match node:
            case Acquire(stream=stream) if node.predicate is not None:
                return _select_sensors(node, context.catalog.sensors(stream.name))
            case _:
                return node

    return transform_plan(plan, change)


def _select_sensors(node: Acquire, sensors: tuple[Sensor, ...]) -> Acquire:
    static = {
        f"{node.alias}.{column.name}": column
        for column in node.columns + node.reads
        if node.stream.column(column.name) is None
    }
    identity = {f"{node.alias}.{c.name}" for c in node.columns + node.reads if c.name.lower() == "id"}

    def decides(condition: Expression) -> bool:
        columns = columns_of(condition)
        return (
            bool(columns & set(static))
            and columns <= set(static) | identity
            and not uses_now(condition)
            and _never_of_undeclared(condition, static)
        )

    conditions, rest = part(node.predicate, decides)
    if not conditions or not sensors:
        return node
    try:
        chosen = frozenset(
            sensor.id
            for sensor in sensors
            if all(evaluate(p, _row(sensor, static, identity), None) is True for p in conditions)
        )
    except NilometerError:  # an overflow: let it be the query's, when such a reading comes
        return node
    if node.sensors is not None:
        chosen &= node.sensors
    return replace(node, predicate=conjunction(rest), sensors=chosen)


def _never_of_undeclared(condition: Expression, static: Mapping[str, Column]) -> bool:
    nulls = {name: Literal(None, column.type.plain) for name, column in static.items()}
    folded = fold(substitute(condition, nulls))
    return isinstance(folded, Literal) and folded.value is not True


def _row(sensor: Sensor, static: Mapping[str, Column], identity: set[str]) -> dict[str, Any]:
    attributes = {name.lower(): value for name, value in sensor.attributes} | {"location": sensor.location}
    row = {name: attributes.get(column.name.lower()) for name, column in static.items()}
    return row | dict.fromkeys(identity, sensor.id)
