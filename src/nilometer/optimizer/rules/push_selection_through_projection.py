"""Select before computing the select list."""

from __future__ import annotations

from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.rewriting import selected, substitute
from nilometer.plan.logical import Node, Project, Select, transform_plan


def push_selection_through_projection(plan: Node, _context: OptimizerContext) -> Node:
    """`Select(p, Project(items, x)) => Project(items, Select(p with items put in, x))`"""
    return transform_plan(plan, _push)


def _push(node: Node) -> Node:
    match node:
        case Select(Project(input, items) as project, predicate):
            values = {item.name: item.expression for item in items}
            return project.with_inputs((selected(input, (substitute(predicate, values),)),))
        case _:
            return node
