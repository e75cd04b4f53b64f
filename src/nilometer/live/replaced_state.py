"""Where the state of a changed query comes from: its old state, the logs, or nothing.

KEEP      both plans are equal up to their last operator with a state, but for thresholds (`emission_only`): the new one
          takes the old one's state
BACKFILL  the logs are read again, and the answers on the way discarded, so that the first window is complete
EMPTY     the new version begins with an empty state

The law: with KEEP or BACKFILL, every answer is the one that the new query would have given, had it run all along.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nilometer.errors import ConfigurationError, NilometerError
from nilometer.language import ast, parse, print_statement
from nilometer.live.recovery import Before, Recovered
from nilometer.live.standing import result_log
from nilometer.live.starts import offset_at
from nilometer.live.versions import Version, identity, version_of
from nilometer.log import Offset, StreamLog
from nilometer.plan import physical

if TYPE_CHECKING:
    from nilometer.live.declarations import CompiledQuery, Declarations

Choice = Literal["KEEP STATE", "BACKFILL", "EMPTY STATE"]

_STATELESS = (physical.Deliver, physical.Project, physical.Select, physical.Rename, physical.RStream)
_HOLDING_NOTHING = (*_STATELESS, physical.SpAcquire, physical.StoredScan, physical.Values, physical.Union)
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
    """The plan below its last operators without a state, without the options of table functions that only decide what is
    emitted (CONFIDENCE, TOP). Plans of equal identity have equal states."""
    while isinstance(plan, _STATELESS):
        plan = plan.input
    return identity(plan, emission=False)


def versions_of_same_state(
    database: Declarations, texts: Iterable[str], query: CompiledQuery
) -> list[Version]:
    """The versions of those texts, queries or CREATE QUERY statements, that have the same state as the query."""
    found = []
    for text in texts:
        # A text may read something that has changed or gone.
        with contextlib.suppress(NilometerError):
            statement = parse(text)
            own = print_statement(statement.query) if isinstance(statement, ast.CreateQuery) else text
            old = database.sql(own)
            if state_identity(old.physical) == state_identity(query.physical):
                found.append(version_of(old))
    return found


def check_keep(
    database: Declarations, directory: Path, name: str, texts: Iterable[str], query: CompiledQuery
) -> None:
    """Refuse KEEP STATE where the query has another state than the one of its texts so far that last ran."""
    last = result_log(directory, name).last
    same = versions_of_same_state(database, texts, query)
    if not any(last is None or version.same_plan(last.version) for version in same):
        raise ConfigurationError(
            "the new text has another state than the old one, so there is none to keep",
            detail="KEEP STATE is for changes behind the last window, join or function: SELECT, HAVING and thresholds",
            hint="leave KEEP STATE out: the state is then rebuilt from the logs",
        )


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
    if all(isinstance(node, _HOLDING_NOTHING) for node in physical.walk_plan(plan)):
        # It reads again all the same: its watermark says which of the next readings are late.
        return NewState(filled, "it has no state")
    if lost:
        told = f"its state is rebuilt from what is left of the log of {', '.join(lost)}: the first windows may lack rows"
        return NewState(filled, told)
    return NewState(filled, "its state is rebuilt from the logs, so its first window is complete")


def _backfill_start(
    plan: physical.Node, committed: Mapping[str, Offset], logs: Mapping[str, StreamLog]
) -> dict[str, Offset]:
    reach = reach_of(plan)
    if reach is None:
        return {key: log.start for key, log in logs.items()}
    # A tick waits for the watermark, so also a query without windows holds the readings of the last DELAY and tick.
    streams = physical.streams_of(plan).values()
    delay = max((stream.delay + (stream.every or 0) for stream in streams), default=0)
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
