"""A plan that cannot be divided as a whole -> the same plan with exchanges above those parts of it that can.

A part is as high as it can be, and holds an operator that has keys of its own: to divide a window alone would send its rows
over once for each evaluation that sees them. It may end between the steps of an aggregate, if partial results lose nothing:
counts and extremes do not; sums of floats are rounded, and sums of whole numbers may leave the 64 bits that the total fits in.
"""

from __future__ import annotations

from nilometer.algebra import Collection
from nilometer.plan import physical
from nilometer.spark.layout.below import own_keys
from nilometer.spark.layout.division import UndividedError, divide_plan, is_leaf
from nilometer.spark.layout.reading import has_streams, joins_table, streamed_side
from nilometer.spark.layout.stripes import stripes_of

EXACT = ("count", "min", "max")
"""The aggregates whose partial results lose nothing."""


def with_parts(plan: physical.Node) -> physical.Node:
    """The plan, with an exchange above each part."""
    if is_leaf(plan) or not has_streams(plan):
        return plan
    if is_part(plan):
        return physical.Exchange(plan)
    return plan.with_inputs(tuple(with_parts(child) for child in plan.inputs))


def is_part(node: physical.Node) -> bool:
    """Whether it is worth a stage, and can be divided."""
    if not _gathers(node) or _repeats(node) or not _exact(node):
        return False
    try:
        divide_plan(node)
    except UndividedError:
        return False
    return True


def _gathers(node: physical.Node) -> bool:
    """Whether it, or a node below, has keys of its own."""
    if is_leaf(node) or not has_streams(node):
        return False
    return bool(own_keys(node)) or stripes_of(node) is not None or any(map(_gathers, node.inputs))


def _exact(node: physical.Node) -> bool:
    """Whether its rows are no partial results, or such as can be merged without loss."""
    if not isinstance(node, physical.AggregateInit | physical.AggregateMerge):
        return True
    return node.completeness is None and all(item.aggregate.function in EXACT for item in node.items)


def _repeats(node: physical.Node) -> bool:
    """Whether its rows are those of a window as they are, so that the same ones come at many evaluations."""
    match node:
        case physical.TimeWindow():
            return True
        case physical.Select() | physical.Project() | physical.Rename():
            return node.collection is Collection.WINDOWS and _repeats(node.input)
        case physical.NlJoin() | physical.HashJoin() if joins_table(node):
            return _repeats(streamed_side(node))
        case _:
            return False
