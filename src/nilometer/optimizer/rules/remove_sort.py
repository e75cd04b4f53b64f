"""No order for rows that lose it again."""

from __future__ import annotations

from nilometer.optimizer.context import OptimizerContext
from nilometer.plan.logical import Deliver, Node, Project, Rename, Select, Sort, ToStream

_KEEPS_ORDER = (Deliver, ToStream, Project, Select, Rename)


def remove_sort(plan: Node, _context: OptimizerContext) -> Node:
    """`x(Sort(keys, y)) => x(y)   when x is a join, an aggregate, a union, a window, or another Sort`

    The rows of a subquery are a multiset: its ORDER BY means nothing to the query around it, unless LIMIT chooses among
    the rows.
    """
    return _remove(plan, ordered=True)


def _remove(node: Node, ordered: bool) -> Node:
    below = ordered and isinstance(node, _KEEPS_ORDER)
    inputs = tuple(_remove(child, below) for child in node.inputs)
    if any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
        node = node.with_inputs(inputs)
    match node:
        case Sort(input, limit=None, offset=0) if not ordered:
            return input
        case _:
            return node
