"""The inlet of a stream whose log is pulled, in pieces. One reader and one door serve all leaves that read
the stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.dataflow.door import Door
from nilometer.dataflow.sources import Batch, Entry, Sources, Summaries
from nilometer.operators.frames import dtypes, empty
from nilometer.types import Schema

BATCH_ROWS = 262_144
"""The rows of a round. A round has a fixed cost of some milliseconds. Larger rounds were faster on some
queries and slower on others."""


class PulledInlet:
    """Pulls a stream's entries through its door. `ended` is True once the log has ended."""

    def __init__(self, stream: Stream, sources: Sources) -> None:
        self.door = Door(stream)
        self.ended = False
        self._sources = sources
        self._log: Iterator[Entry] | None = None
        self._rest: Batch | None = None
        self.summaries: pl.DataFrame | None = None
        """The accepted summaries of the last pull."""
        self._entries = 0
        self._rows = 0

    def pull(self, limit: int | None) -> pl.DataFrame:
        """The accepted tuples of the next entries, about `limit` rows in all (None: one batch as the source
        gives it)."""
        admitted: list[pl.DataFrame] = []
        summaries: list[pl.DataFrame] = []
        wanted = limit
        while wanted is None or wanted > 0:
            entry = self._next()
            if entry is None:
                self.ended = True
                break
            if isinstance(entry, Summaries):
                summaries.append(self.door.admit_summaries(entry))
                continue
            if not isinstance(entry, Batch):
                self.door.heartbeat(entry.tick)
                continue
            if wanted is not None and entry.rows.height > wanted:
                self._rest = replace(entry, rows=entry.rows[wanted:], garbled=0, duplicate=0)
                entry = replace(entry, rows=entry.rows[:wanted])
            admitted.append(self.door.admit_batch(entry))
            self._count(entry)
            if wanted is None:
                break
            # A batch of garbled rows alone counts too; otherwise a bad file would be one endless round.
            wanted -= max(1, entry.rows.height)
        self.summaries = pl.concat(summaries) if summaries else None
        return pl.concat(admitted) if admitted else self._nothing()

    def _next(self) -> Entry | None:
        if self._rest is not None:
            rest, self._rest = self._rest, None
            return rest
        if self._log is None:
            self._log = iter(self._sources.entries(self.door.stream))
        entry = next(self._log, None)
        if entry is not None and not isinstance(entry, Batch):
            self._entries += 1
        return entry

    def _count(self, entry: Batch) -> None:
        """Record the position in the log: the number of whole entries read, and of rows of the next one."""
        if self._rest is None:
            self._entries, self._rows = self._entries + 1, 0
        else:
            self._rows += entry.rows.height

    def _nothing(self) -> pl.DataFrame:
        return self.door.admit(empty_rows(self.door.stream))

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        """The door's panes and the position in the log."""
        place = {"entries": self._entries, "rows": self._rows, "finished": self.ended}
        return self.door.snapshot() | {"place": json.dumps(place).encode()}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Go on from a snapshot. The log is opened again and read up to the position."""
        self.door.restore(panes)
        place = json.loads(panes["place"])
        self.ended, self._entries, self._rows = place["finished"], place["entries"], place["rows"]
        self._log = iter(self._sources.entries(self.door.stream))
        for _ in range(self._entries):
            next(self._log)
        if self._rows:
            begun = next(self._log)
            assert isinstance(begun, Batch), "a log that is not the one the snapshot was taken over"
            self._rest = replace(begun, rows=begun.rows[self._rows :], garbled=0, duplicate=0)


def empty_rows(stream: Stream) -> pl.DataFrame:
    """An empty frame with the stream's columns."""
    return empty(dtypes(Schema(stream.columns)))
