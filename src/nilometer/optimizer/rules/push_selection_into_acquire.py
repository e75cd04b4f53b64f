"""Select where the readings are taken: SNEE's SP_ACQUIRE."""

from __future__ import annotations

from dataclasses import replace

from nilometer.optimizer.context import OptimizerContext
from nilometer.optimizer.rewriting import both
from nilometer.plan.logical import Acquire, Node, Select, transform_plan


def push_selection_into_acquire(plan: Node, _context: OptimizerContext) -> Node:
    """`Select(p, Acquire(s, WHERE q)) => Acquire(s, WHERE q AND p)`"""
    return transform_plan(plan, _push)


def _push(node: Node) -> Node:
    match node:
        case Select(Acquire() as acquire, predicate):
            return replace(acquire, predicate=both(acquire.predicate, predicate))
        case _:
            return node
