"""A live query whose answers and state are durable (log/results): commit by commit, with a checkpoint now and then."""

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
from nilometer.live.control import first_number, folder_of, settle
from nilometer.live.declarations import CompiledQuery
from nilometer.live.recovery import from_its_beginning, recover
from nilometer.log import LogSettings, Offset, StreamLog, failpoints
from nilometer.log.failpoints import Failpoint
from nilometer.log.files import Lock
from nilometer.log.local_files import LocalFiles
from nilometer.log.readers import store_offset
from nilometer.log.results import Commit, ResultLog, types_of
from nilometer.log.writer import BusyError, resources
from nilometer.operators.frames import dtypes, empty
from nilometer.plan.explain import explain_text
from nilometer.types import SECOND

STATE_FORMAT = 2
ON_SPARK = "spark-"
"""How the versions of queries begin whose state Spark keeps: it is of no use to another host."""
LOOK = 0.05
"""Whoever only looks whether a query runs is gone after so many seconds."""
SEGMENT_BYTES = 16 << 20
"""Answers are trimmed by whole segments (answer_retention.py): those of a query that answers little should not be of years."""
COMMIT_EVERY = SECOND
"""A commit without answers waits so long: it only says how far the logs were read."""
CHECKPOINT_EVERY = 10 * SECOND


def version_of(query: CompiledQuery) -> str:
    """Another plan, or another form of the state, is another version (design.md)."""
    text = f"{STATE_FORMAT}\n{explain_text(query.physical)}"
    return blake2b(text.encode(), digest_size=8).hexdigest()


def host_of(version: str) -> str:
    """On which host that version runs."""
    return "spark" if version.startswith(ON_SPARK) else "gateway"


def result_logs(
    directory: Path,
    name: str,
    columns: Mapping[str, pl.DataType] | None = None,
    failpoint: Failpoint | None = None,
) -> list[ResultLog]:
    """The answers of a standing query, the oldest first: `results`, and `results-2` and so on since a column changed its type."""
    numbers = range(1, len(result_files(directory, name)) + 1)
    return [_result_log(directory, name, number, columns, failpoint) for number in numbers]


def result_files(directory: Path, name: str) -> list[LocalFiles]:
    """The folders of these logs, for those who only read them."""
    found = [1]
    while (folder_of(directory, name) / _folder(found[-1] + 1)).is_dir():
        found.append(found[-1] + 1)
    return [LocalFiles(folder_of(directory, name) / _folder(number)) for number in found]


def result_log(directory: Path, name: str) -> ResultLog:
    """The log that the query's last commit is in; the first one before there is any."""
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
    """Become the one process that runs a standing query: its number of commits, its answers and its state are nobody else's."""
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
    return LocalFiles(folder_of(directory, name)).holder()


def reader_of(name: str) -> str:
    """The reader in whose name a standing query keeps retention from taking what it has not read (log/readers.py)."""
    plain = re.fullmatch(r"[a-z0-9_]{1,80}", name.lower())
    return f"query-{name.lower() if plain else blake2b(name.lower().encode(), digest_size=8).hexdigest()}"


@dataclass(frozen=True)
class Trimmed:
    """Rows that retention was forced to take: those that the query never read, and those that its state would be made of again."""

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
                f"{self.state} rows were trimmed that it has answered, but of which its state was not saved"
            )
        return "; ".join(parts)


class DurableQuery:
    """The durable side of one query, which no other process runs until `close`. `recovered` is where it goes on; None: it begins where it is told to. `trouble` is what keeps
    it from committing: then it must be given nothing more to read until it has. Without `keeps_state` somebody else keeps the state (Spark, in its
    checkpoint): the one that is saved here only says where the version began, and every commit is made at once."""

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
        self.version = version_of(query) if keeps_state else ON_SPARK + version_of(query)
        self._types = types_of(query.schema)
        # Before anything is read: what was read of a query that another process runs would be out of date at once.
        self._lock = lock_of(directory, name)
        try:
            settle(directory, name)
            self._open(directory, name, failpoint)
        except BaseException:
            self._lock.release()
            raise

    def _open(self, directory: Path, name: str, failpoint: Failpoint | None) -> None:
        logs = result_logs(directory, name, self._columns, failpoint)
        answered = next((number for number in reversed(range(len(logs))) if logs[number].last is not None), 0)
        # A log beyond the last commit is what a crash has left of a change like this one.
        fitting = (number for number in range(answered, len(logs)) if logs[number].fits(self._columns))
        current = next(fitting, len(logs))
        if current == len(logs):
            logs.append(_result_log(directory, name, len(logs) + 1, self._columns, failpoint))
        self._results = logs[current]
        self._rows_before = sum(log.rows for log in logs[:current])
        pass_by = failpoint or failpoints.from_environment("state")
        self._checkpoints = Checkpoints(LocalFiles(folder_of(directory, name) / "state", pass_by))
        self.recovered = recover(self.version, logs[answered], self._checkpoints, changed=current != answered)
        self._number, self._trimmed = first_number(directory, name) - 1, 0
        self.earlier = QueryLedger()
        """What all versions before this one have counted."""
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
        # The last commit, if there is no checkpoint of it.
        self._last: Commit | None = None
        self._waiting: tuple[pl.DataFrame, Commit] | None = None
        self.trouble: str | None = None
        self._rebuilds = False

    def forget_state(self) -> None:
        """The checkpoint is of another release: the state is made again by reading the logs since this version began."""
        assert self.recovered is not None, "a state that was not there"
        self.recovered = from_its_beginning(self.version, self._results, self.recovered.last)
        self._rebuilds = True

    @property
    def rows(self) -> int:
        """How many rows were ever answered, by all versions."""
        return self._rows_before + self._results.rows

    @property
    def state(self) -> tuple[int, int]:
        """Of how many panes the state was made when it was last saved, and their bytes."""
        return self._checkpoints.panes, self._checkpoints.bytes

    def note(self, name: str) -> str | None:
        """What whoever runs it should know of where it goes on; None: it begins."""
        if self.recovered is None:
            return None
        before = self.recovered.last.version
        if not self.recovered.fresh:
            rebuilt = "; its checkpoint is of another release: the state is rebuilt from the logs"
            return f"{name} goes on after {self.rows} rows{rebuilt if self._rebuilds else ''}"
        if before != self.version and before.removeprefix(ON_SPARK) == self.version.removeprefix(ON_SPARK):
            return f"{name} ran on {host_of(before)} before: it goes on where it stood there, with an empty state"
        return (
            f"{name} has changed since it last ran:"
            " the new version goes on where the old one stood, with an empty state"
        )

    def find_trimmed(self, logs: Mapping[str, StreamLog]) -> Trimmed:
        """What the logs, by lower-case name, have lost of what the query would read on, or again."""
        unread = state = 0
        for key, log in logs.items():
            first = log.start.position
            if self.recovered is not None and key in self.recovered.committed:
                committed = self.recovered.committed[key].position
                again = self.recovered.start.get(key, self.recovered.committed[key]).position
                unread += max(0, first - committed)
                state += max(0, min(first, committed) - again)
        return Trimmed(unread, state)

    def begin(self, offsets: Mapping[str, Offset], now: int, logs: Mapping[str, StreamLog]) -> None:
        """The query goes on, or begins, at these offsets in these logs: a new one says so before it reads anything."""
        self._offsets = dict(offsets)
        self._logs = dict(logs)
        self._trimmed += self.find_trimmed(logs).unread
        started = self.recovered.start if self.recovered is not None else {}
        self._hold({key: min(started.get(key, offset), offset) for key, offset in offsets.items()})
        self._committed_at = self._saved_at = now
        if self.recovered is None or self.recovered.fresh:
            self._number += 1
            self._began = dict(offsets)
            first = self._commit_of(self._number, self._offsets, QueryLedger())
            # The checkpoint first: without its commit it counts for nothing; a commit without it just reads further back.
            self._checkpoints.save(Checkpoint(first, {}))
            self._results.commit(empty(self._columns), first)
        else:
            # Where these differ, because the logs have lost something, the next commit says so, even without answers.
            self._offsets = dict(self.recovered.committed)

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
        """The query has read up to these offsets and answered so; `panes` gives its state, if it is asked for."""
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
            # Not up to here: who keeps the state may have to read the last commit's rows once more, if it dies before it has noted them.
            # If there is no room, retention holds a little longer.
            with contextlib.suppress(ResourceError):
                self._hold(before)
            return
        due = all_of_it or (behind and abs(now - self._saved_at) >= CHECKPOINT_EVERY)
        if due and self._last is not None:
            saved = self._last
            self._checkpoints.save(Checkpoint(saved, panes()))
            self._last, self._saved_at = None, now
            # After it, never before: from here on a recovery reads. If there is no room, retention holds a little longer.
            with contextlib.suppress(ResourceError):
                self._hold(saved.offsets)

    def retry(self, now: int) -> None:
        """Commit what could not be; `trouble` says whether that has passed."""
        try:
            if self._waiting is not None:
                self._write(*self._waiting, now)
            self.trouble = None
        except ResourceError as error:
            self.trouble = error.message

    def _commit_of(self, number: int, offsets: Mapping[str, Offset], ledger: QueryLedger) -> Commit:
        return Commit(
            self.version, number, dict(offsets), ledger, self.earlier, self._trimmed, self._types, self._began
        )

    def _write(self, rows: pl.DataFrame, commit: Commit, now: int) -> None:
        # One that fails is tried again as it is: the log may have it, though not durably, and then takes no other of its number.
        self._waiting = rows, commit
        self._results.commit(rows, commit)
        self._waiting = None
        self._last, self._number, self._offsets = commit, commit.number, dict(commit.offsets)
        self._committed_at = now

    def _hold(self, offsets: Mapping[str, Offset]) -> None:
        """Let retention keep what lies at and after these offsets."""
        for key, log in self._logs.items():
            if key in offsets and self._held.get(key) != offsets[key]:
                store_offset(log.files, self._reader, offsets[key])
                self._held[key] = offsets[key]

    def close(self) -> None:
        """Let another process go on. What could not be committed is answered again."""
        try:
            with contextlib.suppress(ResourceError):
                self._results.close()
        finally:
            self._lock.release()

    def abandon(self) -> None:
        """Let go as the death of the process would."""
        self._results.abandon()
        self._lock.release()
