"""Which part of a stream's log a standing SUMMARY covers, so that the raw readings may go.

A segment is covered if the query began to read at or before it, has read it to its end, and has committed a summary at or
after the segment's newest reading. The law: what is not covered stays, whatever its age.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.errors import ConfigurationError
from nilometer.live.kept_answers import frame_of, kept_answers
from nilometer.live.standing import result_log
from nilometer.log import LogDirectory, Offset
from nilometer.log.retention import Trimmed
from nilometer.plan import logical
from nilometer.types import format_time

if TYPE_CHECKING:
    from nilometer.live.declarations import Declarations


@dataclass(frozen=True)
class Covered:
    """The readings of a stream that a summary stands for: from `began` to `end`, up to the time `until`. `left_out` are
    the stream's columns that it does not summarise."""

    query: str
    stream: str
    began: Offset
    end: Offset
    until: int
    left_out: tuple[str, ...]


def covered_by(database: Declarations, phenomenon: str) -> Covered:
    """The part of its stream that a standing `SELECT * FROM SUMMARY(phenomenon)` has summarised."""
    directory: Path | None = database.data.base
    if directory is None:
        raise ConfigurationError("there is no data directory", hint="give one: --data DIR")
    wrong = None
    for definition in database.catalog.queries():
        plan = database.sql(definition.text).logical
        call = next(
            (
                node
                for node in logical.walk_plan(plan)
                if isinstance(node, logical.TableFunction)
                and node.call.name == "SUMMARY"
                and str(node.call["NAMED"]).lower() == phenomenon.lower()
            ),
            None,
        )
        if call is None:
            continue
        others = [node for node in logical.walk_plan(call.input) if isinstance(node, logical.Select)]
        wrong = _wrong(definition.name, plan, call, bool(others))
        if wrong is not None:
            continue
        leaf = next(node for node in logical.walk_plan(call.input) if isinstance(node, logical.Acquire))
        return _covered(database, directory, definition.name, leaf, call)
    raise ConfigurationError(
        wrong or f"no standing query keeps a summary of '{phenomenon}'",
        hint=f"CREATE QUERY {phenomenon}_summary STARTING AT BEGINNING AS SELECT * FROM SUMMARY({phenomenon})",
    )


def _wrong(name: str, plan: logical.Node, call: logical.TableFunction, filtered: bool) -> str | None:
    """Why a query with a summary does not stand for all readings."""
    if filtered:
        return f"readings outside the WHERE of '{call.call['NAMED']}' are in no summary"
    below = {id(node) for node in logical.walk_plan(call)}
    above = (node for node in logical.walk_plan(plan) if id(node) not in below)
    if any(not isinstance(node, logical.Deliver | logical.Project) for node in above):
        return f"query '{name}' does not keep the whole summary"
    if len(plan.schema.names) < len(call.schema.names):
        return f"query '{name}' does not keep all columns of the summary"
    return None


def _covered(
    database: Declarations, directory: Path, name: str, leaf: logical.Acquire, call: logical.TableFunction
) -> Covered:
    stream = leaf.stream
    last = result_log(directory, name).last
    at = None if last is None else last.offsets.get(stream.name.lower())
    kept = kept_answers(database, name)
    if kept.trimmed:
        raise ConfigurationError(
            f"{kept.trimmed:,} rows of the summary '{name}' have been deleted, so that it does not cover the log",
            hint="keep the answers of a summary for longer than the readings",
        )
    rows = frame_of(kept)
    if last is None or at is None or not rows.height:
        raise ConfigurationError(
            f"query '{name}' has not committed a summary yet", hint="run it: nilometer run --data DIR"
        )
    began = (last.began or {}).get(stream.name.lower(), Offset())
    used = {column.split(".")[-1].lower() for column in call.call.columns} | {"time", "id"}
    left_out = tuple(column.name for column in stream.columns if column.name.lower() not in used)
    return Covered(name, stream.name, began, at, int(rows["time"].max()), left_out)  # type: ignore[arg-type]


def trim_covered(directory: LogDirectory, covered: Covered, before: int | None, *, force: bool) -> Trimmed:
    """Delete the covered segments that are old. Raises if an old segment is not covered, after those before it are
    gone."""
    log = directory.existing(covered.stream)
    segments = log.segments()
    if segments and segments[0].segment.position < covered.began.position:
        raise ConfigurationError(
            f"the summary '{covered.query}' began at position {covered.began.position:,} of {covered.stream}, and the log "
            f"begins at {segments[0].segment.position:,}",
            hint="create the query STARTING AT BEGINNING",
        )
    limit = covered.until + 1 if before is None else min(before, covered.until + 1)
    done = log.trim(limit, force=force, needed={f"summary {covered.query}": covered.end})
    old = [
        each
        for each in log.segments()[:-1]
        if each.index.greatest_time is not None and (before is None or each.index.greatest_time < before)
    ]
    if old and (done.held_by is None or done.held_by == f"summary {covered.query}"):
        end = log.segments()[len(old)].segment.position
        raise ConfigurationError(
            f"the summary '{covered.query}' does not cover {covered.stream} from position {old[0].segment.position:,} to {end:,}",
            detail=f"{done.rows:,} rows were deleted; the summary has read up to position {covered.end.position:,} and "
            f"stands for readings up to {format_time(covered.until)}",
            hint="run the query: nilometer run --data DIR; then trim again",
        )
    return done
