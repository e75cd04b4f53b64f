"""A selection over a product is a join (SNEE section 4.3)."""

from __future__ import annotations

from dataclasses import replace

from nilometer.algebra import JoinKind
from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.rewriting import both
from nilometer.plan.logical import Join, Node, Select, transform_plan


def select_product_to_join(plan: Node, _context: OptimizerContext) -> Node:
    """`Select(p, Join(x, y, ON q)) => Join(x, y, ON q AND p)   when the join is inner`"""
    return transform_plan(plan, _collapse)


def _collapse(node: Node) -> Node:
    match node:
        case Select(Join(kind=JoinKind.INNER) as join, predicate):
            return replace(join, predicate=both(join.predicate, predicate))
        case _:
            return node
