"""No operator for RSTREAM at the top (SNEE section 4.4, footnote 4)."""

from __future__ import annotations

from nilometer.optimizer.context import OptimizerContext
from nilometer.plan.physical import Deliver, Node, RStream, transform_plan


def remove_rstream(plan: Node, _context: OptimizerContext) -> Node:
    """`DELIVER(RSTREAM(x)) => DELIVER(x)`: to deliver windows is to deliver all their rows at every evaluation."""
    return transform_plan(plan, _remove)


def _remove(node: Node) -> Node:
    match node:
        case Deliver(RStream(windows)):
            return node.with_inputs((windows,))
        case _:
            return node
