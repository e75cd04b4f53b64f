"""One selection instead of two."""

from __future__ import annotations

from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.rewriting import both
from nilometer.plan.logical import Node, Select, transform_plan


def merge_selections(plan: Node, _context: OptimizerContext) -> Node:
    """`Select(p, Select(q, x)) => Select(q AND p, x)`"""
    return transform_plan(plan, _merge)


def _merge(node: Node) -> Node:
    match node:
        case Select(Select(input, inner), outer):
            predicate = both(inner, outer)
            assert predicate is not None
            return Select(input, predicate)
        case _:
            return node
