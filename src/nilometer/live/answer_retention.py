"""Retention of a standing query's answers: deletes whole segments of its result logs, oldest first, by age
and by size.

The laws: a row stays until every sink has received it, unless forced; and rows stay that the query needs to
go on. A segment is as old as its last commit, by the writer's clock, because answers need not have a time of
their own. Answers may be trimmed while the query runs and while its answers are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nilometer.live.shared_retention import size_in, trim_shared
from nilometer.live.standing import private_files, shared_logs
from nilometer.live.upkeep import known
from nilometer.log import Offset, StreamLog
from nilometer.log.files import Files
from nilometer.log.local_files import LocalFiles
from nilometer.log.readers import offsets
from nilometer.log.results import Commit
from nilometer.log.retention import Trimmed, trim
from nilometer.log.segment import SegmentId, segment_ids
from nilometer.log.writer import resources

if TYPE_CHECKING:
    from nilometer.live.declarations import Declarations

OWN = "the query itself"


@dataclass(frozen=True)
class TrimmedAnswers:
    """The rows deleted from all logs of a query, and who holds the rest: the reader of a sink, or the query
    itself.
    """

    name: str
    segments: int = 0
    rows: int = 0
    size: int = 0
    held_by: str | None = None

    def and_also(self, done: Trimmed) -> TrimmedAnswers:
        """The sum with the rows deleted from another log."""
        return TrimmedAnswers(
            self.name,
            self.segments + done.segments,
            self.rows + done.rows,
            self.size + done.size,
            done.held_by,
        )


def trim_answers(
    database: Declarations,
    name: str,
    *,
    before: int | None = None,
    keep: int | None = None,
    force: bool = False,
) -> TrimmedAnswers:
    """Delete answers committed before a time, and the oldest answers beyond `keep` bytes."""
    directory, name = known(database, name)
    logs = [files for files in private_files(directory, name) if segment_ids(files)]
    shared = shared_logs(directory, name)
    excess = None if keep is None else sum(map(_size, logs)) + sum(size_in(log) for log in shared[-1:]) - keep
    done = TrimmedAnswers(name)
    for number, files in enumerate(logs):
        absent = _not_there_yet(logs, number)
        if absent is not None and not force:
            return TrimmedAnswers(name, done.segments, done.rows, done.size, absent)
        left = None if excess is None else max(0, _size(files) - excess)
        with resources(files.place):
            found = trim(
                files, before, keep=left, force=force, newest_of=_committed_at, needed=_needed(files)
            )
        done = done.and_also(found)
        excess = None if excess is None else excess - found.size
        if done.held_by is not None:
            return done
    for log in shared[-1:]:
        done = done.and_also(trim_shared(directory, log, before, excess, force=force))
    return done


def _size(files: LocalFiles) -> int:
    return sum(files.size(segment.name) for segment in segment_ids(files))


def _committed_at(files: Files, segment: SegmentId) -> int | None:
    """The time of the last write to a segment."""
    assert isinstance(files, LocalFiles)
    return (files.directory / segment.name).stat().st_mtime_ns // 1_000


def _not_there_yet(logs: Sequence[LocalFiles], number: int) -> str | None:
    """A sink that still reads an older log of the query and has not reached this one."""
    before = {reader for files in logs[:number] for reader in offsets(files)}
    here = {reader for files in logs[number:] for reader in offsets(files)}
    return min(before - here, default=None)


def _needed(files: LocalFiles) -> dict[str, Offset]:
    """The first commit of the present version, if it is needed. Commits of an older program do not say where
    their version began; that first commit shows it.
    """
    log = StreamLog(files)
    note = log.note
    if note is None or Commit.of(note).began is not None:
        return {}
    first, before = log.end, None
    for entry in log.read():
        if entry.note is not None:
            version = entry.note["version"]
            if version == note["version"] and version != before:
                first = Offset(entry.after.number - 1, entry.position)
            before = version
    return {OWN: first}
