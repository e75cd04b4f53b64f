"""Reads extents: the accepted tuples of a stream, and the snapshot of a table, under an alias.

Static attributes of sensors are columns of their stream too (STEAM section 3.3). A column that the stream
does not declare is looked up by the tuple's `id`, and is NULL for an undeclared sensor. NaN becomes NULL on
entry.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nilometer.catalog.extents import Sensor
from nilometer.errors import InternalError
from nilometer.plan.logical import Acquire, Stored
from nilometer.plan.reference.bags import holds
from nilometer.plan.reference.feed import Feed, Reading
from nilometer.plan.reference.rows import Row, Values
from nilometer.plan.reference.watermark import arrive, feed_of
from nilometer.types import INT, Column, Kind


def acquire(node: Acquire, feeds: Mapping[str, Feed], sensors: Mapping[str, Sequence[Sensor]]) -> list[Row]:
    """The accepted tuples of a stream's chosen sensors that satisfy the predicate of the acquisition."""
    declared: dict[Any, Sensor] = {sensor.id: sensor for sensor in sensors.get(node.stream.name.lower(), ())}
    rows = []
    for arrival in arrive(node.stream, feed_of(node.stream, feeds)).accepted:
        source = arrival.reading.get("id")
        if node.sensors is not None and source not in node.sensors:
            continue
        wide = {
            f"{node.alias}.{column.name}": _value_of(node, column, arrival.reading, declared.get(source))
            for column in node.columns + node.reads
        }
        if not holds(node.predicate, wide, arrival.tick):
            continue
        values = {name: wide[name] for name in node.schema.names}
        rows.append(Row(arrival.tick, arrival.reading["time"], source, arrival.position, values))
    return rows


def _value_of(node: Acquire, column: Column, reading: Reading, sensor: Sensor | None) -> Any:
    name = column.name.lower()
    if node.stream.column(name) is not None:
        return _entered(reading.get(name), column)
    if sensor is None:
        return None
    if name == "location":
        return _entered(sensor.location, column)
    attributes = {key.lower(): value for key, value in sensor.attributes}
    return _entered(attributes.get(name), column)


def stored(node: Stored, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Values]:
    """The rows of a stored extent: the snapshot the query sees."""
    if node.table.name.lower() not in tables:
        raise InternalError(f"no snapshot of table {node.table.name!r}")
    rows: list[Values] = []
    for row in tables[node.table.name.lower()]:
        lowered = {name.lower(): value for name, value in row.items()}
        rows.append(
            {f"{node.alias}.{c.name}": _entered(lowered.get(c.name.lower()), c) for c in node.columns}
        )
    return rows


def _entered(value: Any, column: Column) -> Any:
    """A value as its column's type holds it: whole numbers in a FLOAT column are FLOATs, NaN is NULL."""
    if value is None:
        return None
    match column.type.kind:
        case Kind.FLOAT:
            return None if math.isnan(value) else float(value)
        case Kind.VECTOR:
            whole = column.type.element == INT
            elements = tuple(each if whole else float(each) for each in value)
            return elements if all(map(math.isfinite, elements)) else None
        case Kind.POINT:
            x, y = value
            return (float(x), float(y))
        case _:
            return value
