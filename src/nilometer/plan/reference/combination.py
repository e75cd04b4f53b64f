"""Combines windows at the union of their ticks, each side with its latest window at or before the tick.

A side is empty before its first window. Joins and unions of windows fire like this, so a side that falls
silent still shows its last content.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nilometer.plan.reference.bags import Bag
from nilometer.plan.reference.rows import Evaluation, Values


def combine(
    left: Sequence[Evaluation],
    right: Sequence[Evaluation],
    combined: Callable[[Bag, Bag, int], list[Values]],
) -> list[Evaluation]:
    """Both sides' evaluations, combined tick by tick by `combined(left bag, right bag, tick)`."""
    ticks = sorted({evaluation.tick for evaluation in (*left, *right)})
    return [
        Evaluation(tick, tuple(combined(latest(left, tick), latest(right, tick), tick))) for tick in ticks
    ]


def latest(evaluations: Sequence[Evaluation], tick: int) -> Bag:
    """The content of the latest window at or before a tick; of several at one tick, the last."""
    before = [evaluation.bag for evaluation in evaluations if evaluation.tick <= tick]
    return before[-1] if before else ()
