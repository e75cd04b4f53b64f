"""A plan and a network -> the same plan, its acquisitions limited to the nodes that can satisfy their
conditions.

    SP_ACQUIRE[p AND q]  =>  SP_ACQUIRE[q; SENSORS those nodes for which p]     when p reads only constants of a node

The constants of a node are its id and the static attributes of its sensor. The optimizer tests a condition on
the id alone on every reading, because it does not know which nodes exist; a network does. The other nodes
then need no route and stay asleep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nilometer.catalog.extents import Sensor
from nilometer.catalog.near_misses import join_names
from nilometer.catalog.network import Network, NodeId
from nilometer.errors import NilometerError, UnsupportedError
from nilometer.expressions import Expression, columns_of, conjunction, conjuncts, uses_now
from nilometer.plan import physical
from nilometer.plan.scalar import evaluate

Sensors = Mapping[str, tuple[Sensor, ...]]
"""The declared sensors, by the lower-case name of their stream."""


def limit_acquisitions(
    plan: physical.Node, network: Network, sensors: Sensors | None = None
) -> physical.Node:
    """Returns the limited plan; refuses a plan that reads no node. Without `sensors`, only conditions on the
    id select nodes."""

    def change(node: physical.Node) -> physical.Node:
        if isinstance(node, physical.SpAcquire) and node.predicate is not None and node.stream.sensed:
            hosts = network.hosts(node.stream.name)
            asked = tuple(h for h in hosts if node.sensors is None or h in node.sensors)
            return _limited(node, network, asked, sensors) if asked else node
        return node

    return physical.transform_plan(plan, change)


def attribute_of(sensor: Sensor | None, name: str) -> Any:
    """A sensor's location or static attribute, by its lower-case name; NULL for a node without a declared
    sensor."""
    if sensor is None:
        return None
    if name == "location":
        return sensor.location
    return next((value for key, value in sensor.attributes if key.lower() == name), None)


def _limited(
    node: physical.SpAcquire, network: Network, hosts: tuple[NodeId, ...], sensors: Sensors | None
) -> physical.SpAcquire:
    known = {f"{node.alias}.{c.name}": c.name.lower() for c in node.columns + node.reads}
    constant = {
        name
        for name, column in known.items()
        if column == "id" or (sensors is not None and node.stream.column(column) is None)
    }

    def decides(condition: Expression) -> bool:
        return bool(columns_of(condition)) and columns_of(condition) <= constant and not uses_now(condition)

    chosen = tuple(filter(decides, conjuncts(node.predicate)))
    if not chosen:
        return node
    declared: dict[Any, Sensor] = {s.id: s for s in (sensors or {}).get(node.stream.name.lower(), ())}

    def row(host: NodeId) -> dict[str, Any]:
        sensor = declared.get(host)
        return {n: host if known[n] == "id" else attribute_of(sensor, known[n]) for n in constant}

    try:
        found = frozenset(h for h in hosts if all(evaluate(c, row(h), None) is True for c in chosen))
    except NilometerError:  # an overflow: the query reports it when such a reading arrives
        return node
    if not found:
        raise UnsupportedError(
            f"network '{network.name}' has no source for this query",
            detail=f"{conjunction(chosen)} holds for none of the nodes that could give '{node.stream.name}':"
            f" {join_names(map(str, hosts), 'and')}",
            hint="ask for some of these, or declare the stream at the node that was meant",
        )
    rest = tuple(condition for condition in conjuncts(node.predicate) if condition not in chosen)
    return replace(node, reads=_still_read(node, rest), predicate=conjunction(rest), sensors=found)


def _still_read(node: physical.SpAcquire, conditions: tuple[Expression, ...]) -> tuple[Any, ...]:
    wanted = frozenset().union(*map(columns_of, conditions)) if conditions else frozenset()
    return tuple(column for column in node.reads if f"{node.alias}.{column.name}" in wanted)
