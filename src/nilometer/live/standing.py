"""The durable side of a live query: commits its answers to the result log (log/results), with a checkpoint
now and then.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import polars as pl

from nilometer.dataflow.ledger import QueryLedger
from nilometer.errors import ResourceError
from nilometer.live.checkpoints import Checkpoint, Checkpoints, Panes
from nilometer.live.control import floor_of, folder_of, settle
from nilometer.live.declarations import CompiledQuery
from nilometer.live.recovery import Before, Recovered, from_its_beginning, recover
from nilometer.live.versions import ON_SPARK, layout_of, version_of
from nilometer.log import LogSettings, Offset, StreamLog, failpoints
from nilometer.log.failpoints import Failpoint
from nilometer.log.files import Lock
from nilometer.log.local_files import LocalFiles
from nilometer.log.readers import store_offset
from nilometer.log.results import Commit, ResultLog, types_of
from nilometer.log.results.eras import Era, changes, following
from nilometer.log.results.numbers import first_number
from nilometer.log.results.shared_log import PLACE as COMMITS
from nilometer.log.results.shared_log import index_at
from nilometer.log.results.shared_results import SharedResults, shared_results
from nilometer.log.segment import segment_ids
from nilometer.log.writer import BusyError, resources
from nilometer.operators.frames import dtypes, empty
from nilometer.types import SECOND

LOOK = 0.05
"""A process that only checks whether a query runs holds its lock for at most this many seconds."""
SEGMENT_BYTES = 16 << 20
"""Answers are trimmed by whole segments (answer_retention.py). Segments are small, so that a query with few
answers does not keep years of them.
"""
COMMIT_EVERY = SECOND
"""How long a commit without answers waits: it only records how far the logs were read."""
CHECKPOINT_EVERY = 10 * SECOND


def host_of(version: str) -> str:
    """The host of a version."""
    return "spark" if version.startswith(ON_SPARK) else "gateway"


def result_logs(
    directory: Path,
    name: str,
    columns: Mapping[str, pl.DataType] | None = None,
    failpoint: Failpoint | None = None,
) -> list[ResultLog | SharedResults]:
    """The logs of a standing query's answers, oldest first: its own (see `private_logs`), then its part of the
    commit log.
    """
    shared = shared_logs(directory, name)
    own = private_logs(directory, name, columns, failpoint)
    return [*(log for log in own if not shared or log.exists), *shared]


def private_logs(
    directory: Path,
    name: str,
    columns: Mapping[str, pl.DataType] | None = None,
    failpoint: Failpoint | None = None,
) -> list[ResultLog]:
    """The result logs of one query alone, oldest first: `results`; then `results-2` and so on, one more each time
    a column changed its type. Queries that join refreshed tables, and older programs, write them.
    """
    numbers = range(1, len(private_files(directory, name)) + 1)
    return [_result_log(directory, name, number, columns, failpoint) for number in numbers]


def private_files(directory: Path, name: str) -> list[LocalFiles]:
    """The folders of these logs, for those who only read them."""
    found = [1]
    while (folder_of(directory, name) / _folder(found[-1] + 1)).is_dir():
        found.append(found[-1] + 1)
    return [LocalFiles(folder_of(directory, name) / _folder(number)) for number in found]


def shared_logs(directory: Path, name: str) -> list[SharedResults]:
    """The query's part of the commit log, one for each time a column changed its type."""
    place = index_at(directory).place(name)
    if place is None or place.number < first_number(directory, name):
        return []
    return shared_results(directory, name, floor_of(directory, name))


def result_files(directory: Path, name: str) -> list[LocalFiles | SharedResults]:
    """Where these logs are, for those who only read them."""
    shared = shared_logs(directory, name)
    own = [files for files in private_files(directory, name) if not shared or segment_ids(files)]
    return [*own, *shared]


def result_log(directory: Path, name: str) -> ResultLog | SharedResults:
    """The log of the query's last commit; the first log if there is no commit."""
    logs = result_logs(directory, name)
    return next((log for log in reversed(logs) if log.last is not None), logs[0])


def _result_log(
    directory: Path,
    name: str,
    number: int,
    columns: Mapping[str, pl.DataType] | None,
    failpoint: Failpoint | None,
) -> ResultLog:
    pass_by = failpoint or failpoints.from_environment("results")
    settings = LogSettings(segment_bytes=SEGMENT_BYTES)
    return ResultLog(LocalFiles(folder_of(directory, name) / _folder(number), pass_by), columns, settings)


def _folder(number: int) -> str:
    return "results" if number == 1 else f"results-{number}"


def lock_of(directory: Path, name: str) -> Lock:
    """Become the one process that runs a standing query. No other process then changes its commit number, its
    answers or its state.
    """
    files = LocalFiles(folder_of(directory, name))
    try:
        with resources(files.place):
            try:
                return files.lock()
            except BlockingIOError:
                time.sleep(LOOK)
                return files.lock()
    except BlockingIOError as holder:
        raise BusyError(
            f"'{name}' is being run by {holder}",
            hint="stop that one first, or run the other queries with --only",
        ) from None


def runner_of(directory: Path, name: str) -> str | None:
    """The process that runs a standing query now."""
    own = LocalFiles(folder_of(directory, name)).holder()
    if own is not None:
        return own
    place = index_at(directory).place(name)
    if place is None or place.group < 0 or place.number < first_number(directory, name):
        return None
    return LocalFiles(directory / COMMITS).holder()


def reader_of(name: str) -> str:
    """The name of the reader by which a standing query keeps retention from deleting unread rows
    (log/readers.py).
    """
    plain = re.fullmatch(r"[a-z0-9_]{1,80}", name.lower())
    return f"query-{name.lower() if plain else blake2b(name.lower().encode(), digest_size=8).hexdigest()}"


@dataclass(frozen=True)
class Trimmed:
    """Rows that retention was forced to delete: those that the query never read, and those needed to rebuild
    its state.
    """

    unread: int = 0
    state: int = 0

    def __bool__(self) -> bool:
        return self.unread > 0 or self.state > 0

    def __str__(self) -> str:
        parts = []
        if self.unread:
            parts.append(f"{self.unread} rows were trimmed from its streams' logs before it read them")
        if self.state:
            parts.append(
                f"{self.state} rows were trimmed that it has read, but needs again to rebuild its state"
            )
        return "; ".join(parts)


def note_of(
    name: str,
    version: str,
    recovered: Recovered | None,
    rows: int,
    *,
    rebuilds: bool = False,
    changed: str = "",
) -> str | None:
    """A message about where a query goes on; None if it begins. `changed`: the declarations that have changed."""
    if recovered is None:
        return None
    before = recovered.last.version
    if not recovered.fresh:
        rebuilt = "; its checkpoint is of another release: the state is rebuilt from the logs"
        new = f"; {changed} has changed: a new version goes on with its state" if changed else ""
        return f"{name} goes on after {rows} rows{rebuilt if rebuilds else ''}{new}"
    if before != version and before.removeprefix(ON_SPARK) == version.removeprefix(ON_SPARK):
        return f"{name} ran on {host_of(before)} before: it goes on where it stood there"
    return f"{name} has changed since it last ran: the new version goes on where the old one stood"


def trimmed_of(recovered: Recovered | None, logs: Mapping[str, StreamLog]) -> Trimmed:
    """The rows that a query still has to read, or read again, and that the logs (by lower-case name) have lost."""
    unread = state = 0
    for key, log in logs.items():
        first = log.start.position
        if recovered is not None and key in recovered.committed:
            committed = recovered.committed[key].position
            again = recovered.start.get(key, recovered.committed[key]).position
            unread += max(0, first - committed)
            state += max(0, min(first, committed) - again)
    return Trimmed(unread, state)


class DurableQuery:
    """The durable side of one query; no other process runs the query until `close`.

    `recovered` says where it goes on; None: it begins where it is told to. `trouble` is what keeps it from
    committing; give it nothing more to read until that has passed. Without `keeps_state`, Spark keeps the
    state in its own checkpoint: the checkpoint saved here then only says where the version began, and every
    commit is made at once.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        query: CompiledQuery,
        failpoint: Failpoint | None = None,
        *,
        keeps_state: bool = True,
    ) -> None:
        self._keeps_state = keeps_state
        self._columns = dtypes(query.schema)
        self.identity = version_of(query, on_spark=not keeps_state)
        self.version = self.identity.name
        self.layout = layout_of(query.physical)
        self._types = types_of(query.schema)
        # Take the lock before reading anything: facts about a query that another process runs would be out of
        # date at once.
        self._lock = lock_of(directory, name)
        try:
            settle(directory, name)
            self._open(directory, name, failpoint)
        except BaseException:
            self._lock.release()
            raise

    def _open(self, directory: Path, name: str, failpoint: Failpoint | None) -> None:
        logs = private_logs(directory, name, self._columns, failpoint)
        answered = next((number for number in reversed(range(len(logs))) if logs[number].last is not None), 0)
        # A log beyond the last commit is left over from a crash during a change like this one.
        fitting = (number for number in range(answered, len(logs)) if logs[number].fits(self._columns))
        current = next(fitting, len(logs))
        if current == len(logs):
            logs.append(_result_log(directory, name, len(logs) + 1, self._columns, failpoint))
        self._results = logs[current]
        self._rows_before = sum(log.rows for log in logs[:current])
        pass_by = failpoint or failpoints.from_environment("state")
        self._checkpoints = Checkpoints(LocalFiles(folder_of(directory, name) / "state", pass_by))
        self.recovered = recover(
            self.version,
            logs[answered],
            self._checkpoints,
            changed=current != answered,
            same=self.identity.same_plan,
        )
        declared = self.identity.declared
        self.eras: tuple[Era, ...] = (Era(declared),)
        if self.recovered is not None and not self.recovered.fresh:
            last = self.recovered.last
            self.eras = following(last.eras, declared, last.offsets)
        self._number, self._trimmed = first_number(directory, name) - 1, 0
        self.earlier = QueryLedger()
        """The counters of all versions before this one."""
        if self.recovered is not None:
            last = self.recovered.last
            self._number, self._trimmed = last.number, last.trimmed
            self.earlier = last.earlier + last.ledger if self.recovered.fresh else last.earlier
        self._began = None if self.recovered is None or self.recovered.fresh else self.recovered.last.began
        self._offsets: dict[str, Offset] = {}
        self._reader = reader_of(name)
        self._logs: dict[str, StreamLog] = {}
        self._held: dict[str, Offset] = {}
        self._frames: list[pl.DataFrame] = []
        self._committed_at = self._saved_at = 0
        # The last commit, if no checkpoint covers it.
        self._last: Commit | None = None
        self._waiting: tuple[pl.DataFrame, Commit] | None = None
        self.trouble: str | None = None
        self._rebuilds = False

    def take_state(self, found: Recovered) -> None:
        """A new version goes on with the state that was found for it (replaced_state.py)."""
        self.recovered = found

    def discount(self, again: QueryLedger) -> None:
        """The readings that the state was rebuilt from, or was kept with, are in the older versions' books already."""
        before, counted = self.earlier.as_dict(), again.as_dict()
        self.earlier = QueryLedger(**{name: count - counted[name] for name, count in before.items()})

    @property
    def before(self) -> Before | None:
        """The last checkpoint of the version before this one."""
        saved, last = self._checkpoints.load(), None if self.recovered is None else self.recovered.last
        if saved is None or last is None or saved.commit.version != last.version:
            return None
        return Before(saved.panes, saved.commit.offsets) if saved.commit.number <= last.number else None

    def forget_state(self) -> None:
        """The checkpoint is of another release: the state is made again by reading the logs since this version began."""
        assert self.recovered is not None, "a state that was not there"
        self.recovered = from_its_beginning(self._results, self.recovered.last)
        self._rebuilds = True

    @property
    def redeclared(self) -> bool:
        """Whether a stream's DELAY, KEY or FUTURE has changed since the last commit."""
        return (
            self.recovered is not None
            and not self.recovered.fresh
            and self.eras != (self.recovered.last.eras or self.eras)
        )

    def same_plan(self, version: str) -> bool:
        """Whether another version has the same plan, so that this one takes over what it kept."""
        return self.identity.same_plan(version)

    @property
    def rows(self) -> int:
        """The number of rows ever answered, by all versions."""
        return self._rows_before + self._results.rows

    @property
    def committed(self) -> dict[str, Offset]:
        """The offsets up to which its answers are durable."""
        return dict(self._offsets)

    @property
    def state(self) -> tuple[int, int]:
        """The number of panes of the state last saved, and their bytes."""
        return self._checkpoints.panes, self._checkpoints.bytes

    def note(self, name: str) -> str | None:
        """A message about where the query goes on; None if it begins."""
        told = ", ".join(changes(self.eras)) if self.redeclared else ""
        said = note_of(name, self.version, self.recovered, self.rows, rebuilds=self._rebuilds, changed=told)
        fresh = self.recovered is not None and self.recovered.fresh
        return f"{said}, with an empty state" if fresh and not self._keeps_state else said

    def find_trimmed(self, logs: Mapping[str, StreamLog]) -> Trimmed:
        """Find the rows that the query still has to read, or read again, and that the logs (by lower-case
        name) have lost.
        """
        return trimmed_of(self.recovered, logs)

    def begin(
        self,
        offsets: Mapping[str, Offset],
        now: int,
        logs: Mapping[str, StreamLog],
        panes: Callable[[], Panes] = dict,
    ) -> None:
        """The query goes on, or begins, at these offsets in these logs. A new query records this before it
        reads anything, with the state that it has from an older version, or has read from the logs.
        """
        self._offsets = dict(offsets)
        self._logs = dict(logs)
        self._trimmed += self.find_trimmed(logs).unread
        started = self.recovered.start if self.recovered is not None else {}
        self._hold({key: min(started.get(key, offset), offset) for key, offset in offsets.items()})
        self._committed_at = self._saved_at = now
        if self.recovered is None or self.recovered.fresh:
            self._number += 1
            self._began = {key: min(started.get(key, offset), offset) for key, offset in offsets.items()}
            first = self._commit_of(self._number, self._offsets, QueryLedger())
            # The checkpoint first: without its commit it has no effect, and a commit without its checkpoint
            # only means reading from further back.
            self._checkpoints.save(Checkpoint(first, panes()))
            self._results.commit(empty(self._columns), first)
        else:
            # If these differ, because the logs have lost rows, the next commit records it, even without
            # answers.
            self._offsets = dict(self.recovered.committed)
            if self.redeclared:
                # The new era is on record before anything is read in it.
                self._number += 1
                commit = self._commit_of(self._number, self._offsets, self.recovered.last.ledger)
                self._results.commit(empty(self._columns), commit)

    def commit(
        self,
        frames: list[pl.DataFrame],
        offsets: Mapping[str, Offset],
        ledger: QueryLedger,
        panes: Callable[[], Panes],
        now: int,
        *,
        all_of_it: bool = False,
    ) -> None:
        """The query has read up to these offsets and answered these rows. `panes` returns its state, if a
        checkpoint is due.
        """
        self._frames += frames
        try:
            self._commit(dict(offsets), ledger, panes, now, all_of_it=all_of_it)
            self.trouble = None
        except ResourceError as error:
            self.trouble = error.message

    def _commit(
        self,
        offsets: dict[str, Offset],
        ledger: QueryLedger,
        panes: Callable[[], Panes],
        now: int,
        *,
        all_of_it: bool,
    ) -> None:
        if self._waiting is not None:
            self._write(*self._waiting, now)
        before = self._offsets
        behind = bool(self._frames) or offsets != before
        at_once = bool(self._frames) or all_of_it or not self._keeps_state
        if behind and not at_once and abs(now - self._committed_at) < COMMIT_EVERY:
            return
        if behind:
            rows = pl.concat(self._frames) if self._frames else empty(self._columns)
            self._frames = []
            self._write(rows, self._commit_of(self._number + 1, offsets, ledger), now)
        if not self._keeps_state:
            # Hold the offsets before this commit: whoever keeps the state may read this commit's rows again,
            # if it crashes before it has noted them. Without space on the disk, retention holds a little
            # longer.
            with contextlib.suppress(ResourceError):
                self._hold(before)
            return
        due = all_of_it or (behind and abs(now - self._saved_at) >= CHECKPOINT_EVERY)
        if due and self._last is not None:
            saved = self._last
            self._checkpoints.save(Checkpoint(saved, panes(), self.layout))
            self._last, self._saved_at = None, now
            # After the checkpoint, never before: a recovery reads from here on. Without space on the disk,
            # retention holds a little longer.
            with contextlib.suppress(ResourceError):
                self._hold(saved.offsets)

    def retry(self, now: int) -> None:
        """Retry a commit that failed; `trouble` says whether it has passed."""
        try:
            if self._waiting is not None:
                self._write(*self._waiting, now)
            self.trouble = None
        except ResourceError as error:
            self.trouble = error.message

    def _commit_of(self, number: int, offsets: Mapping[str, Offset], ledger: QueryLedger) -> Commit:
        return Commit(
            self.version,
            number,
            dict(offsets),
            ledger,
            self.earlier,
            self._trimmed,
            self._types,
            self._began,
            self.eras,
        )

    def _write(self, rows: pl.DataFrame, commit: Commit, now: int) -> None:
        # A failed commit is retried unchanged: the log may have it, though not durably, and then accepts no
        # other commit of that number.
        self._waiting = rows, commit
        self._results.commit(rows, commit)
        self._waiting = None
        self._last, self._number, self._offsets = commit, commit.number, dict(commit.offsets)
        self._committed_at = now

    def _hold(self, offsets: Mapping[str, Offset]) -> None:
        """Let retention keep the rows at and after these offsets."""
        for key, log in self._logs.items():
            if key in offsets and self._held.get(key) != offsets[key]:
                store_offset(log.files, self._reader, offsets[key])
                self._held[key] = offsets[key]

    def close(self) -> None:
        """Release the query to other processes. Answers that could not be committed are computed again."""
        try:
            with contextlib.suppress(ResourceError):
                self._results.close()
        finally:
            self._lock.release()

    def abandon(self) -> None:
        """Let go as a crash of the process would."""
        self._results.abandon()
        self._lock.release()
