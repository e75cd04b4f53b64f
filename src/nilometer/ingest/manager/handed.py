"""An entry of a log on its way to the queries: its number, where it begins, and what it holds."""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.dataflow.sources import Batch, Entry
from nilometer.log import LogEntry, Offset


@dataclass(frozen=True)
class Handed:
    """`at` is where the entry stands, `after` where the next one does."""

    at: Offset
    after: Offset
    entry: Entry

    @property
    def rows(self) -> int:
        """How many readings."""
        return self.entry.rows.height if isinstance(self.entry, Batch) else 0


def handed(entry: LogEntry) -> Handed:
    """A whole entry, as read from a log."""
    return Handed(Offset(entry.after.number - 1, entry.position), entry.after, entry.entry())
