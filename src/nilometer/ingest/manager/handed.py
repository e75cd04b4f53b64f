"""An entry of a log on its way to the queries, with the offsets before and after it."""

from __future__ import annotations

from dataclasses import dataclass

from nilometer.dataflow.sources import Batch, Entry
from nilometer.log import LogEntry, Offset


@dataclass(frozen=True)
class Handed:
    """`at` is the offset of the entry, `after` the offset of the next one."""

    at: Offset
    after: Offset
    entry: Entry

    @property
    def rows(self) -> int:
        """The number of readings in the entry."""
        return self.entry.rows.height if isinstance(self.entry, Batch) else 0


def handed(entry: LogEntry) -> Handed:
    """Make a `Handed` of a whole entry read from a log."""
    return Handed(Offset(entry.after.number - 1, entry.position), entry.after, entry.entry())
