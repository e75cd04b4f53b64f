"""Pause, resume, drop and replay standing queries, from any process.

The laws: a query that another process runs is only sent a request (control.py), never touched. To drop or
replay a query, a process takes the lock of the query's runner and those of its sinks. Interrupted at any
moment, the query is either there with all its answers, or gone, or about to begin again.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.catalog.near_misses import near_misses
from nilometer.errors import ConfigurationError
from nilometer.live.aside import settle_all
from nilometer.live.checkpoint_places import checkpoint_elsewhere, delete_checkpoint
from nilometer.live.control import (
    MADE_OF,
    REPLACED,
    ask,
    control_of,
    folder_of,
    keep_floor,
    next_aside,
)
from nilometer.live.own_log_queries import keeps_own_log
from nilometer.live.query_list import query_names
from nilometer.live.shared_commits import SharedCommits
from nilometer.live.shared_retention import size_in
from nilometer.live.standing import (
    DurableQuery,
    host_of,
    lock_of,
    reader_of,
    result_log,
    result_logs,
    runner_of,
    shared_logs,
)
from nilometer.live.starts import Start, offsets_at
from nilometer.log import LogDirectory
from nilometer.log.local_files import LocalFiles
from nilometer.log.private import make_directory
from nilometer.log.readers import store_offset
from nilometer.log.results.numbers import keep_number
from nilometer.log.writer import BusyError, resources
from nilometer.plan import physical

if TYPE_CHECKING:
    from nilometer.live.declarations import Declarations

DROPPED = Path(".nilometer") / "dropped"


@dataclass(frozen=True)
class Remains:
    """The remains of a query: rows of answers; bytes of answers, of state, and of replaced answers; the
    streams whose retention waits for it; whether it is declared.
    """

    name: str
    rows: int
    answers: int
    state: int
    replaced: int
    held: tuple[str, ...]
    declared: bool


@dataclass(frozen=True)
class Replayed:
    """`rows` of answers were moved to `aside` (None: there were none); `readings` lie ahead of the query."""

    rows: int
    aside: Path | None
    readings: int


def known(database: Declarations, name: str) -> tuple[Path, str]:
    """The data directory, and the query's name as declared. If there is no such query, the error names the
    nearest.
    """
    directory: Path | None = database.data.base
    if directory is None:
        raise ConfigurationError(
            "standing queries are kept in a data directory, and there is none", hint="give one: --data DIR"
        )
    names = query_names(database, directory)
    found = next((one for one in names if one.lower() == name.lower()), None)
    if found is None:
        hint = near_misses(name, names) or "declare one in schema.sql: CREATE QUERY wet AS SELECT ..."
        raise ConfigurationError(f"no standing query '{name}' in {directory}", hint=hint)
    return directory, found


def pause(database: Declarations, name: str) -> str | None:
    """Ask for the query to stop, and not to run again until `resume`. Returns the process that still runs it."""
    return _ask(database, name, paused=True)


def resume(database: Declarations, name: str) -> str | None:
    """Let the query run again. Returns the process that already runs it."""
    return _ask(database, name, paused=False)


def _ask(database: Declarations, name: str, *, paused: bool) -> str | None:
    directory, name = known(database, name)
    if database.catalog.query(name) is None:
        raise ConfigurationError(
            f"'{name}' is not declared any more, so nobody will run it",
            hint=f"declare it in schema.sql, or delete what is left of it: nilometer queries drop {name}",
        )
    ask(directory, name, replace(control_of(directory, name), paused=paused))
    return runner_of(directory, name)


def remains(database: Declarations, name: str) -> Remains:
    """What `drop` would delete."""
    directory, name = known(database, name)
    folder, logs = folder_of(directory, name), LogDirectory(directory)
    answers = sum(_size(path) for path in folder.glob("results*"))
    shared = shared_logs(directory, name)
    answers += sum(size_in(log) for log in shared[-1:])
    here = set() if not shared or shared[-1].last is None else {*shared[-1].last.offsets}
    return Remains(
        name,
        sum(log.rows for log in result_logs(directory, name)),
        answers,
        sum(_size(folder / part) for part in MADE_OF),
        _size(folder / REPLACED),
        tuple(
            stream
            for stream in logs.streams()
            if reader_of(name) in logs.log(stream).readers() or stream in here
        ),
        database.catalog.query(name) is not None,
    )


def drop(database: Declarations, name: str) -> str | None:
    """Delete the query's state and answers, and release its hold on retention. Returns the place of a
    checkpoint that could not be deleted.
    """
    directory, name = known(database, name)
    folder, shared = folder_of(directory, name), bool(shared_logs(directory, name))
    with _alone(directory, name, "dropped"):
        _keep_number(directory, name)
        logs = LogDirectory(directory)
        # First, because once the folder is gone, nothing names these readers any more.
        for stream in logs.streams():
            logs.log(stream).forget_reader(reader_of(name))
        installation = folder / "spark" / "installation.json"
        left = None if delete_checkpoint(installation) else checkpoint_elsewhere(installation)
        gone = directory / DROPPED
        with resources(str(folder)):
            make_directory(gone)
            keep_floor(directory, name, 0)
            # In one step, not file by file: half of the answers would be mistaken for all of them.
            if folder.is_dir():
                folder.rename(gone / f"{name.lower()}-{secrets.token_hex(4)}")
    shutil.rmtree(gone, ignore_errors=True)
    if shared:
        # If another process has the commit log, it finds the number and lets go at its next checkpoint.
        with contextlib.suppress(BusyError):
            commits = SharedCommits(directory, logs, None, time.time_ns() // 1_000)
            try:
                commits.release(name)
            finally:
                commits.close({})
    return left


def replay(database: Declarations, name: str, start: Start) -> Replayed:
    """Let the query begin again at `start` with an empty state; its answers so far are moved aside."""
    directory, name = known(database, name)
    definition = database.catalog.query(name)
    if definition is None:
        raise ConfigurationError(
            f"'{name}' is not declared any more, so it cannot answer again",
            hint=f"declare it in schema.sql: CREATE QUERY {name} AS SELECT ...",
        )
    query = database.sql(definition.text)
    with _alone(directory, name, "replayed"):
        last = result_log(directory, name).last
        rows = sum(log.rows for log in result_logs(directory, name))
        number = next_aside(directory, name)
        _keep_number(directory, name, shared=False)
        aside = None if last is None else number
        ask(directory, name, replace(control_of(directory, name), start=start, aside=aside))
        settle_all(directory, name)
    # From here on, whoever runs the query begins there. Its first commit records this, so that retention
    # waits and sinks know.
    on_spark = last is not None and host_of(last.version) == "spark"
    logs = LogDirectory(directory)
    streams = physical.streams_of(query.physical)
    opened = {key: logs.log(stream) for key, stream in streams.items()}
    offsets = offsets_at(opened, start)
    if on_spark or keeps_own_log(query):
        standing = DurableQuery(directory, name, query, keeps_state=not on_spark)
        try:
            if standing.recovered is None:
                standing.begin(offsets, time.time_ns() // 1_000, opened)
        finally:
            standing.close()
    else:
        for key, log in opened.items():
            store_offset(log.files, reader_of(name), offsets[key])
        # If another process has the commit log, it makes the first commit when it runs the query. Until then,
        # retention waits for this reader.
        with contextlib.suppress(BusyError):
            commits = SharedCommits(directory, logs, None, time.time_ns() // 1_000)
            try:
                standing_now = commits.open(name, query)
                if standing_now.recovered is None:
                    commits.join(standing_now, commits.log.begin_group(), offsets, 0)
                    commits.begin(time.time_ns() // 1_000)
            finally:
                commits.close({})
    ahead = sum(log.end.position - offsets[key].position for key, log in opened.items())
    place = None if last is None else folder_of(directory, name) / REPLACED / str(number)
    return Replayed(rows, place, ahead)


@contextlib.contextmanager
def _alone(directory: Path, name: str, what: str) -> Iterator[None]:
    """Hold the locks, so that nobody runs the query or delivers its answers."""
    runner = runner_of(directory, name)
    if runner is not None:
        raise BusyError(
            f"'{name}' cannot be {what} while it runs: {runner} runs it",
            hint=f"stop that process, or pause the query first: nilometer queries pause {name}",
        )
    lock = lock_of(directory, name)
    try:
        settle_all(directory, name)
        for sink in sorted((folder_of(directory, name) / "sinks").glob("*")):
            courier = LocalFiles(sink).holder()
            if courier is not None:
                raise BusyError(
                    f"'{name}' cannot be {what} while its answers are delivered: {courier} does that",
                    hint="stop that process first: a run or answers with --to",
                )
        yield
    finally:
        lock.release()


def _keep_number(directory: Path, name: str, *, shared: bool = True) -> None:
    """No later commit of this name gets a number that was used. With `shared`, the answers in the commit log do not
    count any more."""
    last = result_log(directory, name).last
    if last is not None and (shared or not shared_logs(directory, name)):
        keep_number(directory, name, last.number + 1)


def _size(place: Path) -> int:
    total = 0
    for path in place.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total
