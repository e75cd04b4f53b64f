"""A plan and the surviving network -> the part of the plan that can still be answered.

    UNION(a, b)  =>  a      when no node senses b's streams any more (or b, under a's names)

Every other operator needs all its inputs.
"""

from __future__ import annotations

from nilometer.catalog.network import Network
from nilometer.expressions import ColumnReference
from nilometer.plan import physical
from nilometer.plan.logical import Projection


def surviving_plan(plan: physical.Node, before: Network, left: Network) -> physical.Node | None:
    """The plan without the branches that have lost their last source; None if nothing is left."""
    if isinstance(plan, physical.SpAcquire):
        gone = before.hosts(plan.stream.name) and not left.hosts(plan.stream.name)
        return None if gone else plan
    inputs = [surviving_plan(child, before, left) for child in plan.inputs]
    living = [child for child in inputs if child is not None]
    if len(living) == len(inputs):
        return plan.with_inputs(tuple(living)) if living else plan
    if not isinstance(plan, physical.Union) or not living:
        return None
    return living[0] if inputs[0] is not None else _named(living[0], plan.left)


def _named(node: physical.Node, like: physical.Node) -> physical.Node:
    """The rows of a node under the names of another, by position."""
    items = (
        Projection(wanted.name, ColumnReference(given.name, given.type), wanted.unit)
        for given, wanted in zip(node.schema, like.schema, strict=True)
    )
    return physical.Project(node, tuple(items))
