"""A subquery's alias is no barrier."""

from __future__ import annotations

from nilometer.expressions import ColumnReference
from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.rewriting import selected, substitute
from nilometer.plan.logical import Node, Rename, Select, transform_plan


def push_selection_through_rename(plan: Node, _context: OptimizerContext) -> Node:
    """`Select(p, Rename(alias, x)) => Rename(alias, Select(p without the alias, x))`"""
    return transform_plan(plan, _push)


def _push(node: Node) -> Node:
    match node:
        case Select(Rename(input) as rename, predicate):
            names = zip(rename.schema.names, input.schema, strict=True)
            values = {new: ColumnReference(old.name, old.type.plain) for new, old in names}
            return rename.with_inputs((selected(input, (substitute(predicate, values),)),))
        case _:
            return node
