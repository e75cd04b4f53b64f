"""No operator for [NOW] over a sensed stream (SNEE Fig. 8)."""

from __future__ import annotations

from dataclasses import replace

from nilometer.algebra import Collection
from nilometer.optimizer.context import OptimizerContext
from nilometer.plan.physical import (
    Analytic,
    HashJoin,
    Lag,
    NlJoin,
    Node,
    Project,
    Rename,
    Sample,
    Select,
    SpAcquire,
    TimeWindow,
    Unnest,
    transform_plan,
)


def remove_now_window(plan: Node, _context: OptimizerContext) -> Node:
    """`TIME_WINDOW[NOW](x) => x, marked @now   when x is sensed and the window is evaluated at every acquisition`

    The window at a tick is exactly what is acquired at that tick, so nothing is buffered and nothing expires. The mark
    keeps the meaning: a tick without a reading is still an evaluation. On a mote, which works tick by tick, it costs
    nothing.
    """
    return transform_plan(plan, _elide)


def _elide(node: Node) -> Node:
    match node:
        case TimeWindow(input, 0, 0, slide, False, False):
            interval = _acquisition_interval(input)
            if interval is not None and slide in (None, interval):
                return replace(node, slide=None, elided=True)
    return node


def _acquisition_interval(node: Node) -> int | None:
    """The interval of a stream that is sensed and was only looked at tuple by tuple since."""
    match node:
        case SpAcquire():
            return node.every
        case Select() | Project() | Rename() | Unnest() | Lag() | Sample() | Analytic():
            return _acquisition_interval(node.inputs[0])
        case NlJoin(left, right) | HashJoin(left, right) if node.collection is Collection.STREAM:
            return _acquisition_interval(left if left.collection is Collection.STREAM else right)
        case _:
            return None
