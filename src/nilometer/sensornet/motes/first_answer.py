"""A plan -> how many evaluations motes must run before it can deliver a row, even if every condition holds: a
window that looks back, slides or counts rows must wait that long."""

from __future__ import annotations

from nilometer.plan import physical
from nilometer.sensornet.motes.fields import Typing


def first_answer(node: physical.Node, typing: Typing, offset: int) -> int:
    """The smallest number of evaluations. `offset` is the number of the first one since the Unix epoch, to
    which slides are aligned."""
    below = max((first_answer(child, typing, offset) for child in node.inputs), default=1)
    match node:
        case physical.TimeWindow(slide=slide):
            every = 1 if slide is None else max(1, slide // typing.interval)
            first = max(typing.ages(node).start, below - 1)
            return first + (-(first + offset)) % every + 1
        case physical.RowWindow(end=end, slide=slide):
            rows = -(-(end + 1) // slide) * slide  # counted when the first window that holds any row closes
            return max(below, -(-rows // max(typing.rows(node.input), 1)))
    return below
