"""A stored extent as a standing query saw it, version by version -> a log of its own.

A version is one record: the table's rows, and a note with the tick from which they hold, when they were read, and by which version of the
query. The law: a version is durable before a row meets it, so whoever reads the streams again meets what was met at first. A table that was
read anew and has not changed is no version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from nilometer.edge.log import StreamLog
from nilometer.edge.log.files import Files
from nilometer.operators.frames import conform


@dataclass(frozen=True)
class Version:
    """`holds_from` None: it was read when the query was installed, and holds for all ticks before the next one."""

    rows: pl.DataFrame
    holds_from: int | None
    read_at: int
    query: str

    def note(self) -> dict[str, Any]:
        """As it travels in the log."""
        return {"holds_from": self.holds_from, "read_at": self.read_at, "query": self.query}


class TableLog:
    """The versions of one table, in these columns."""

    def __init__(self, files: Files, columns: Mapping[str, pl.DataType]) -> None:
        self._columns = dict(columns)
        self._log = StreamLog(files, self._columns)

    def append(self, version: Version) -> None:
        """Keep a version, durably."""
        self._log.append(conform(version.rows, self._columns), note=version.note())
        self._log.flush()

    def versions(self) -> Iterator[Version]:
        """All of them, the oldest first; a record at a time."""
        for entry in self._log.read():
            if entry.rows is not None and entry.note is not None:
                note = entry.note
                yield Version(entry.rows, note["holds_from"], note["read_at"], note["query"])

    def close(self) -> None:
        """Let another process write."""
        self._log.close()

    def abandon(self) -> None:
        """Let go as the death of the process would."""
        self._log.abandon()
