"""Reads the commits of a query's result logs, one after the other, also while another process writes them.

When a column changes its type, the query goes on in another log, and its commit numbers run on. The law: only
commits that survive a power cut are given out. If a sink had a commit that the log has lost, the query would
answer again, with other rows in a commit of the same number.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import polars as pl

from nilometer.log.annex import annex_from_bytes
from nilometer.log.local_files import LocalFiles
from nilometer.log.notes import last_note
from nilometer.log.reader import HEAD, Cursor, Offset
from nilometer.log.record import RecordKind, records_in
from nilometer.log.results import Commit, schema_of
from nilometer.log.results.shared_results import SharedResults
from nilometer.log.segment import SegmentId, segment_ids
from nilometer.log.stream_log import StreamLog
from nilometer.log.writer import resources
from nilometer.sinks.sink import Answered
from nilometer.types import Schema

Source = LocalFiles | SharedResults
"""A log of answers: a result log of its own, or the query's part of the commit log."""

Logs = Callable[[], Sequence[Source]]
"""The present logs of answers, oldest first."""


@dataclass(frozen=True, order=True)
class CommitPlace:
    """A place between two commits: the log, and the offset in it."""

    log: int = 0
    offset: Offset = field(default_factory=Offset)


class Commits:
    """Reads commits from its present place on; at first from the beginning."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs
        self._schemas: dict[tuple[str, tuple[str, ...]], Schema] = {}
        self.seek(CommitPlace())

    @property
    def place(self) -> CommitPlace:
        """The place of the next commit."""
        if self._cursor is None:
            return CommitPlace(self._log, self._start)
        if self._row is not None:
            return CommitPlace(self._log, Offset(self._cursor.offset.number, self._row))
        return CommitPlace(self._log, self._cursor.offset)

    def seek(self, place: CommitPlace) -> None:
        """Go to a place."""
        self._log, self._start = place.log, place.offset
        self._cursor: Cursor | None = None
        self._row: int | None = None
        self._before = sum(_rows(log) for log in self._logs()[: place.log])

    def seek_row(self, position: int) -> None:
        """Go to a place at or shortly before the row of that position, counted over all logs."""
        before, place = 0, CommitPlace()
        for log, files in enumerate(self._logs()):
            if isinstance(files, SharedResults):
                if before <= position:
                    place = CommitPlace(log)
            else:
                for segment in segment_ids(files):
                    if before + segment.position <= position:
                        place = CommitPlace(log, Offset(segment.number, segment.position))
            before += _rows(files)
        self.seek(place)

    def seek_after(self, number: int | None) -> None:
        """Go to a place at or shortly before the commit that follows that number."""
        place = CommitPlace()
        if number is not None:
            for log, files in reversed(list(enumerate(self._logs()))):
                if isinstance(files, SharedResults):
                    if files.era.number <= number + 1:
                        place = CommitPlace(log)
                        break
                    continue
                found = _segment_after(files, number)
                if found is not None:
                    place = CommitPlace(log, Offset(found.number, found.position))
                    break
        self.seek(place)

    def read(self, rows: int) -> list[tuple[Answered, CommitPlace]]:
        """The next commits, until they have `rows` rows, and where each ends; empty if there are no more now."""
        while True:
            logs = self._logs()
            # Look at the next log first: once it has a commit, the log before it is complete.
            following = next((n for n in range(self._log + 1, len(logs)) if _begun(logs[n])), None)
            found = self._read(logs[self._log], rows) if self._log < len(logs) else []
            if found or following is None:
                return found
            self.seek(CommitPlace(following))

    def _read(self, files: Source, rows: int) -> list[tuple[Answered, CommitPlace]]:
        if isinstance(files, SharedResults):
            return self._read_shared(files, rows)
        if self._cursor is None:
            self._cursor = Cursor(files, self._start, as_written=True)
        found: list[tuple[Answered, CommitPlace]] = []
        taken = 0
        for entry in self._cursor:
            if entry.note is not None and entry.rows is not None:
                commit = Commit.of(entry.note)
                schema = self._schema(commit, entry.rows)
                position = self._before + entry.position
                answered = Answered(commit.number, commit.version, schema, entry.rows, position)
                found.append((answered, CommitPlace(self._log, entry.after)))
                taken += max(1, entry.rows.height)
                if taken >= rows:
                    break
        if found:
            _make_durable(files)
        return found

    def _read_shared(self, log: SharedResults, rows: int) -> list[tuple[Answered, CommitPlace]]:
        if self._cursor is None or self._row is None:
            self._row = self._start.position
            self._cursor = Cursor(log.files, Offset(self._start.number))
        found: list[tuple[Answered, CommitPlace]] = []
        taken, types = 0, log.era.types
        for one in log.read(self._cursor):
            key = one.version, tuple(one.rows.columns)
            if key not in self._schemas:
                self._schemas[key] = schema_of(one.rows.schema, types)
            answered = Answered(one.number, one.version, self._schemas[key], one.rows, one.position)
            found.append((answered, CommitPlace(self._log, one.after)))
            self._row = one.after.position
            taken += one.rows.height
            if taken >= rows:
                break
        if found:
            _make_durable(log.files)
        return found

    def _schema(self, commit: Commit, rows: pl.DataFrame) -> Schema:
        key = commit.version, tuple(rows.columns)
        if key not in self._schemas:
            self._schemas[key] = schema_of(rows.schema, commit.types)
        return self._schemas[key]

    def last(self) -> int | None:
        """The number of the last commit at present."""
        commit = self._last()
        return None if commit is None else commit.number

    def _last(self) -> Commit | None:
        return next((last for log in reversed(self._logs()) if (last := _last_of(log)) is not None), None)

    def end(self) -> CommitPlace:
        """The place after the last commit at present."""
        logs = self._logs()
        number = next((n for n in reversed(range(len(logs))) if _last_of(logs[n]) is not None), 0)
        if not logs or _last_of(logs[number]) is None:
            return CommitPlace()
        log = logs[number]
        if isinstance(log, SharedResults):
            _make_durable(log.files)
            return CommitPlace(number, Offset(StreamLog(log.files).end.number, log.era.position + log.rows))
        _make_durable(log)
        return CommitPlace(number, StreamLog(log).end)

    def nothing_yet(self) -> Answered:
        """An empty commit with the last number at present. It tells a sink that keeps its place to skip all
        present answers.
        """
        self.end()
        last = self._last()
        number, version = (-1, "") if last is None else (last.number, last.version)
        return Answered(number, version, Schema(()), pl.DataFrame())


def _rows(log: Source) -> int:
    return log.rows if isinstance(log, SharedResults) else StreamLog(log).end.position


def _last_of(log: Source) -> Commit | None:
    if isinstance(log, SharedResults):
        return log.last
    note = last_note(log)
    return None if note is None else Commit.of(note)


def _begun(log: Source) -> bool:
    return isinstance(log, SharedResults) or last_note(log) is not None


def _segment_after(files: LocalFiles, number: int) -> SegmentId | None:
    """The newest segment known to begin at or before the commit after that number. A segment begins with the
    note of the commit before it, the first segment with the first commit.
    """
    for segment in reversed(segment_ids(files)):
        for header in (run := records_in(files.read(segment.name, 0, HEAD))):
            note = annex_from_bytes(bytes(header.annex(run.buffer, run.base)))[1]
            if note is not None:
                if note["number"] <= number + (header.kind == RecordKind.ROWS):
                    return segment
                break
    return None


def _make_durable(files: LocalFiles) -> None:
    """Make the last segment durable. The writer does so too, but perhaps later. All other segments are
    durable before the next one exists.
    """
    with resources(files.place):
        handle = os.open(files.directory / segment_ids(files)[-1].name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
