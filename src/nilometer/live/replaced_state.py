"""Where the state of a changed query comes from: its old state, the logs, or nothing.

KEEP      both plans are equal up to their last operator with a state: the new one takes the old one's state
BACKFILL  the logs are read again, and the answers on the way discarded, so that the first window is complete
EMPTY     the new version begins with an empty state

The law: with KEEP or BACKFILL, every answer is the one that the new query would have given, had it run all along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from nilometer.live.recovery import Before, Recovered
from nilometer.live.starts import offset_at
from nilometer.log import Offset, StreamLog
from nilometer.plan import physical
from nilometer.plan.explain import explain_text

Choice = Literal["KEEP STATE", "BACKFILL", "EMPTY STATE"]

_STATELESS = (physical.Deliver, physical.Project, physical.Select, physical.Rename, physical.RStream)
_BY_TIME = (
    *_STATELESS,
    physical.SpAcquire,
    physical.StoredScan,
    physical.Values,
    physical.Union,
    physical.TimeWindow,
    physical.Aggregate,
    physical.AggregateInit,
    physical.AggregateMerge,
    physical.AggregateEvaluate,
    physical.NlJoin,
    physical.HashJoin,
    physical.Sort,
    physical.TopK,
)
"""The operators that hold no more than their windows do."""


@dataclass(frozen=True)
class NewState:
    """`found` is how the query goes on; `told` says so to a person."""

    found: Recovered
    told: str


def state_identity(plan: physical.Node) -> str:
    """The plan below its last operators without a state. Plans of equal identity have equal states."""
    while isinstance(plan, _STATELESS):
        plan = plan.input
    return explain_text(plan)


def reach_of(plan: physical.Node) -> int | None:
    """How far back the state reaches, in microseconds of event time; None: perhaps to the beginning of the logs."""
    reach = 0
    for node in physical.walk_plan(plan):
        if not isinstance(node, _BY_TIME):
            return None
        if isinstance(node, physical.TimeWindow):
            if node.start is None or node.grid is not None:
                return None
            # Windows over windows add up; twice the slide, because the first one begins somewhere in it.
            reach += node.start + 2 * (node.slide or 0)
    return reach


def new_state(
    choice: Choice | None,
    fresh: Recovered,
    before: Before | None,
    plan: physical.Node,
    *,
    same_state: bool,
    logs: Mapping[str, StreamLog],
) -> NewState:
    """The state of a new version: the one chosen, or else the best there is."""
    if choice in (None, "KEEP STATE") and same_state and before is not None:
        kept = replace(fresh, panes=before.panes, start=before.offsets)
        return NewState(kept, "it keeps its state")
    if choice == "EMPTY STATE":
        return NewState(fresh, "with an empty state")
    start = _backfill_start(plan, fresh.committed, logs)
    lost = [key for key, log in logs.items() if log.start.position and start[key] <= log.start]
    filled = replace(fresh, start=start)
    if lost and reach_of(plan) != 0:
        told = f"its state is rebuilt from what is left of the log of {', '.join(lost)}: the first windows may lack rows"
        return NewState(filled, told)
    return NewState(filled, "its state is rebuilt from the logs, so its first window is complete")


def _backfill_start(
    plan: physical.Node, committed: Mapping[str, Offset], logs: Mapping[str, StreamLog]
) -> dict[str, Offset]:
    reach = reach_of(plan)
    if reach is None:
        return {key: log.start for key, log in logs.items()}
    if reach == 0:
        return {key: committed.get(key, log.end) for key, log in logs.items()}
    delay = max((stream.delay for stream in physical.streams_of(plan).values()), default=0)
    reached = [_reached(log, committed.get(key, log.end)) for key, log in logs.items()]
    known = [time for time in reached if time is not None]
    if len(known) < len(reached):
        return {key: log.start for key, log in logs.items()}
    moment = min(known) - reach - delay
    return {key: min(offset_at(log, moment), committed.get(key, log.end)) for key, log in logs.items()}


def _reached(log: StreamLog, at: Offset) -> int | None:
    """A time that the readings before the offset have reached, to the segment."""
    times = [segment.index.least_time for segment in log.segments() if segment.index.position < at.position]
    return max((time for time in times if time is not None), default=None)
