"""The log of a stored table's versions, as a standing query saw them.

A version is one record: the table's rows, and a note with the tick from which they hold, when they were read,
and by which version of the query. The law: a version is durable before any row joins it, so whoever reads the
streams again meets the same version. A refresh that finds the table unchanged makes no version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from nilometer.log import LogSettings, Offset, StreamLog
from nilometer.log.files import Files
from nilometer.operators.frames import conform

SEGMENT_BYTES = 4 << 20
"""Versions are trimmed by whole segments."""


@dataclass(frozen=True)
class Version:
    """`holds_from` None: read when the query was installed, so it holds for all ticks before the next
    version.
    """

    rows: pl.DataFrame
    holds_from: int | None
    read_at: int
    query: str

    def note(self) -> dict[str, Any]:
        """The note of the version's record in the log."""
        return {"holds_from": self.holds_from, "read_at": self.read_at, "query": self.query}


class TableLog:
    """The versions of one table with these columns."""

    def __init__(self, files: Files, columns: Mapping[str, pl.DataType]) -> None:
        self.files = files
        self._columns = dict(columns)
        self._log = StreamLog(files, self._columns, LogSettings(segment_bytes=SEGMENT_BYTES))

    @property
    def first(self) -> int:
        """The number of versions that retention has deleted."""
        return self._log.start.number

    def append(self, version: Version) -> None:
        """Append a version, durably."""
        self._log.append(conform(version.rows, self._columns), note=version.note())
        self._log.flush()

    def versions(self) -> Iterator[Version]:
        """All versions, oldest first, one record at a time."""
        return (version for _, version in self.places())

    def places(self) -> Iterator[tuple[Offset, Version]]:
        """Each version with its offset."""
        for entry in self._log.read():
            if entry.rows is not None and entry.note is not None:
                note = entry.note
                version = Version(entry.rows, note["holds_from"], note["read_at"], note["query"])
                yield Offset(entry.after.number - 1, entry.position), version

    def close(self) -> None:
        """Release the log to other writers."""
        self._log.close()

    def abandon(self) -> None:
        """Let go as a crash of the process would."""
        self._log.abandon()
