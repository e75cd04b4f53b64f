"""A plan -> nested dicts, for `explain --json`: operator, collection, parameters, schema, inputs."""

from __future__ import annotations

from dataclasses import fields
from enum import Enum
from typing import Any

from nilometer.algebra.table_function import TableFunction
from nilometer.catalog.extents import Stream, Table
from nilometer.expressions import Expression
from nilometer.plan import logical, physical
from nilometer.plan.explain.expressions import print_expression
from nilometer.plan.explain.text import PlanNode, operator_name
from nilometer.types import Column, Type

Json = dict[str, Any]


def to_json(node: PlanNode) -> Json:
    """The plan as JSON; durations are microseconds, expressions are text."""
    answer: Json = {
        "operator": operator_name(node),
        "collection": str(node.collection),
        "parameters": {
            entry.name: _value(getattr(node, entry.name))
            for entry in fields(node)
            if not _is_input(node, entry.name)
        },
        "schema": [_value(column) for column in node.schema],
        "inputs": [to_json(child) for child in node.inputs],
    }
    if isinstance(node, physical.Node):
        answer["location_sensitive"] = node.location_sensitive
        answer["attribute_sensitive"] = node.attribute_sensitive
    return answer


def _is_input(node: PlanNode, name: str) -> bool:
    value = getattr(node, name)
    return isinstance(value, logical.Node | physical.Node) or name == "streams"


def _value(value: Any) -> Any:
    match value:
        case Expression():
            return print_expression(value)
        case Stream() | Table() | TableFunction():
            return value.name
        case Column(name, type_, unit):
            return {"name": name, "type": str(type_)} | ({} if unit is None else {"unit": unit})
        case Type():
            return str(value)
        case Enum():
            return str(value)
        case frozenset():
            return sorted(value, key=lambda item: (isinstance(item, str), item))
        case tuple():
            return [_value(item) for item in value]
        case _ if hasattr(value, "__dataclass_fields__"):
            return {entry.name: _value(getattr(value, entry.name)) for entry in fields(value)}
        case _:
            return value
