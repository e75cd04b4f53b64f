"""Why peers cannot join the streams of a plan without a join by WINDOW, and what to write so that they can.

    ISTREAM ... FROM a [RANGE 5 MINUTES], b [RANGE 1 MINUTE] WHERE a.x = b.x
    -> write FROM a, b WINDOW(a) = 5 MINUTES AND WINDOW(b) = 1 MINUTE

A window without SLIDE is evaluated when its own stream has a reading. So ISTREAM over several of them depends on when each
stream pauses, which one gateway sees, and peers do not. WINDOW(a) depends on the times of the joined readings alone.
"""

from __future__ import annotations

from nilometer.language.print_expressions import identifier
from nilometer.plan import physical
from nilometer.types import format_duration


def no_join(plan: physical.Node) -> str:
    """The reason, for the note of a question."""
    reason = "it is no join by WINDOW"
    if not any(isinstance(node, physical.IStream) for node in physical.walk_plan(plan)):
        return reason
    lengths: dict[str, int] = {}
    for node in physical.walk_plan(plan):
        match node:
            case physical.TimeWindow(input=physical.SpAcquire() as leaf, start=int(start), end=0, slide=None):
                lengths[leaf.alias] = start
            case physical.TimeWindow():
                return reason
    leaves = [node for node in physical.walk_plan(plan) if not node.inputs]
    if len(lengths) < 2 or len(lengths) != len(leaves):
        return reason
    windows = " AND ".join(
        f"WINDOW({identifier(alias)}) = {format_duration(length)}"
        for alias, length in sorted(lengths.items())
    )
    return f"ISTREAM depends on when each stream pauses; peers would join within {windows}"
