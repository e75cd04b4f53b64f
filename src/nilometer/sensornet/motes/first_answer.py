"""A plan -> how many evaluations motes must have had before it can deliver a row: what a window that looks back, slides or counts
rows has to wait for, even if every condition holds."""

from __future__ import annotations

from nilometer.plan import physical
from nilometer.sensornet.motes.fields import Typing


def first_answer(node: physical.Node, typing: Typing, offset: int) -> int:
    """The least number of evaluations. `offset` is the number of the first one since the Unix epoch, by which slides are aligned."""
    below = max((first_answer(child, typing, offset) for child in node.inputs), default=1)
    match node:
        case physical.TimeWindow(slide=slide):
            every = 1 if slide is None else max(1, slide // typing.interval)
            first = max(typing.ages(node).start, below - 1)
            return first + (-(first + offset)) % every + 1
        case physical.RowWindow(end=end, slide=slide):
            rows = (
                -(-(end + 1) // slide) * slide
            )  # counted when a window closes for the first time that holds any
            return max(below, -(-rows // max(typing.rows(node.input), 1)))
    return below
