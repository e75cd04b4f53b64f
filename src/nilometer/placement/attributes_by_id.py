"""A plan -> the same plan, with static attributes of sensors computed from their ids.

    SP_ACQUIRE[id, depth, kind]  =>  PROJECT[id, depth, CASE WHEN id IN (1, 4) THEN 'gauge' ELSE 'radar' END AS kind](SP_ACQUIRE[id, depth])

An attribute never changes, so a node need not send it: its id says the same in a byte or two. The gateway
adds to the readings those attributes that no mote can hold, such as a sensor's name or place. A mote computes
the others itself: in its program the id is a constant, and so is the attribute.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

from nilometer.catalog.extents import Sensor
from nilometer.catalog.network import Network, NodeId
from nilometer.errors import UnsupportedError
from nilometer.expressions import Case, ColumnReference, Expression, InList, Literal, columns_of, transform
from nilometer.placement.limit_acquisitions import Sensors, attribute_of
from nilometer.plan import physical
from nilometer.plan.logical import Projection
from nilometer.types import Column, Kind

Sites = Mapping[NodeId, Sensor | None]
"""The nodes that sense, each with its declared sensor."""

MOST_VALUES = 256
"""The most distinct values of an attribute that a CASE may distinguish, since each reading tries the arms one
by one."""


def attributes_by_id(
    plan: physical.Node, network: Network, sensors: Sensors, sent: Container[Kind] = ()
) -> physical.Node:
    """Returns the plan whose acquisitions in the network read no static attributes, except those of the kinds
    in `sent`."""

    def change(node: physical.Node) -> physical.Node:
        if not isinstance(node, physical.SpAcquire) or not node.stream.sensed:
            return node
        static = {
            f"{node.alias}.{column.name}": column
            for column in node.columns + node.reads
            if node.stream.column(column.name) is None and column.type.kind not in sent
        }
        declared = {sensor.id: sensor for sensor in sensors.get(node.stream.name.lower(), ())}
        here = {
            host: declared.get(host)
            for host in network.hosts(node.stream.name)
            if node.sensors is None or host in node.sensors
        }
        return _computed(node, static, here) if static and here else node

    return physical.transform_plan(plan, change)


def _computed(node: physical.SpAcquire, static: dict[str, Column], sensors: Sites) -> physical.Node:
    identity = node.stream.column("id")
    assert identity is not None
    name = f"{node.alias}.{identity.name}"
    values = {
        qualified: _case(ColumnReference(name, identity.type), column, sensors)
        for qualified, column in static.items()
    }

    def change(part: Expression) -> Expression:
        return values.get(part.name, part) if isinstance(part, ColumnReference) else part

    predicate = None if node.predicate is None else transform(node.predicate, change)
    columns = tuple(column for column in node.columns if f"{node.alias}.{column.name}" not in static)
    if len(columns) < len(node.columns) and identity not in columns:
        columns = (identity, *columns)
    tested = frozenset() if predicate is None else columns_of(predicate)
    reads = tuple(
        column
        for column in dict.fromkeys((*node.reads, identity))
        if f"{node.alias}.{column.name}" in tested and column not in columns
    )
    acquire = replace(node, columns=columns, reads=reads, predicate=predicate)
    if acquire.schema == node.schema:
        return acquire
    items = tuple(
        Projection(c.name, values.get(c.name, ColumnReference(c.name, c.type)), c.unit) for c in node.schema
    )
    return physical.Project(acquire, items)


def _case(identity: ColumnReference, column: Column, sensors: Sites) -> Expression:
    """The attribute as an expression over the id. The value that most nodes have becomes the ELSE."""
    ids: dict[Any, list[NodeId]] = {}
    for site, sensor in sensors.items():
        value = attribute_of(sensor, column.name.lower())
        if value is not None and column.type.kind is Kind.FLOAT:
            value = float(value)
        ids.setdefault(value, []).append(site)
    if len(ids) > MOST_VALUES:
        raise UnsupportedError(
            f"attribute '{column.name}' has too many values to be added to readings",
            detail=f"it has {len(ids)}, and {MOST_VALUES} can be told apart",
            hint="leave it out of the query, and look it up by id in the answer",
        )
    most = max(ids, key=lambda value: len(ids[value]))
    otherwise = Literal(most, column.type)
    arms = [(value, members) for value, members in ids.items() if value != most]
    if not arms:
        return otherwise
    return Case(
        tuple(InList(identity, tuple(Literal(i, identity.type) for i in members)) for _, members in arms),
        tuple(Literal(value, column.type) for value, _ in arms),
        otherwise,
        column.type,
    )
