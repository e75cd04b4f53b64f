"""Puts exchanges above those parts of a plan that can be divided, if the plan as a whole cannot.

A part reaches as high as possible, and contains an operator with keys of its own: dividing a window alone
would send its rows once for each evaluation that sees them. A part may end between the steps of an aggregate
if partial results lose nothing. Counts and extremes lose nothing. Sums of floats are rounded, and partial
sums of integers may exceed the 64 bits that the total fits in. But partials of slices (combining.py), and components of
aggregates over joins (joined_partials.py), lose nothing either: `combined` gives the node that makes them, where it can
be above a part.
"""

from __future__ import annotations

from collections.abc import Callable

from nilometer.algebra import Collection
from nilometer.plan import physical
from nilometer.spark.layout.below import own_keys
from nilometer.spark.layout.division import UndividedError, divide_plan, is_leaf
from nilometer.spark.layout.grid import grid_of
from nilometer.spark.layout.reading import has_streams, joins_table, streamed_side
from nilometer.spark.layout.stripes import stripes_of

EXACT = ("count", "min", "max")
"""The aggregates whose partial results lose nothing."""


Combined = Callable[[physical.Node], physical.Node | None]


def with_parts(plan: physical.Node, combined: Combined = lambda _: None) -> physical.Node:
    """The plan, with an exchange above each part."""
    if is_leaf(plan) or not has_streams(plan):
        return plan
    found = combined(plan)
    if found is not None:
        return physical.Exchange(found)
    if is_part(plan):
        return physical.Exchange(plan)
    return plan.with_inputs(tuple(with_parts(child, combined) for child in plan.inputs))


def is_part(node: physical.Node) -> bool:
    """Whether the node is worth a stage of its own and can be divided."""
    if not _gathers(node) or _repeats(node) or not _exact(node):
        return False
    try:
        divide_plan(node)
    except UndividedError:
        return False
    return True


def _gathers(node: physical.Node) -> bool:
    """Whether the node, or a node below it, has keys of its own."""
    if is_leaf(node) or not has_streams(node):
        return False
    copied = stripes_of(node) is not None or grid_of(node) is not None
    return bool(own_keys(node)) or copied or any(map(_gathers, node.inputs))


def _exact(node: physical.Node) -> bool:
    """Whether its rows are not partial results, or partial results that can be merged without loss."""
    if not isinstance(node, physical.AggregateInit | physical.AggregateMerge):
        return True
    if node.completeness is not None:
        return False
    return all(item.aggregate.function in EXACT for item in node.items)


def _repeats(node: physical.Node) -> bool:
    """Whether its rows are the unchanged rows of a window, so that the same rows come at many evaluations."""
    match node:
        case physical.TimeWindow():
            return True
        case physical.Select() | physical.Project() | physical.Rename():
            return node.collection is Collection.WINDOWS and _repeats(node.input)
        case physical.NlJoin() | physical.HashJoin() if joins_table(node):
            return _repeats(streamed_side(node))
        case _:
            return False
