"""One stream of one query: a place in the stream's ring, or a cursor on the log while the query is behind.

The law: a feed gives every durable entry from its offset on, once and in order. A new feed that begins at
`offset` goes on in the same way. Rows that retention deleted before the feed had read them are counted.
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.dataflow.sources import Batch, Entry
from nilometer.ingest.manager.ring import Ring, RingPlace
from nilometer.log import Offset, StreamLog
from nilometer.log.reader import Cursor


class Feed:
    """Reads one stream for one query, from `offset` on."""

    def __init__(self, stream: str, log: StreamLog, ring: Ring, offset: Offset) -> None:
        self.stream = stream
        self.offset = offset
        self._log = log
        self._ring = ring
        self.skipped = 0
        """The rows that were deleted from the log before the feed had read them."""
        self._cursor: Cursor | None = None
        self._place: RingPlace | None = ring.join(offset) if ring.reaches(offset) else None

    @property
    def behind(self) -> bool:
        """Whether the feed reads the log instead of the ring."""
        return self._place not in self._ring

    @property
    def turn(self) -> int | None:
        """The turn of the next entry in the ring; None if there is none to read now."""
        return None if self._place is None or self.behind else self._ring.turn(self._place)

    def from_log(self) -> Entry | None:
        """The next entry of the log; None if no durable one is left, or if the feed is in the ring again."""
        while not self._ring.reaches(self.offset):
            if self.offset.number >= self._ring.durable.number:
                return None
            if self._cursor is None:
                self._cursor = self._log.cursor(self.offset)
            deleted = self._cursor.skipped
            entry = self._cursor.next()
            self.skipped += self._cursor.skipped - deleted
            # Even without an entry the cursor may have moved on, past entries that retention deleted.
            after = self._cursor.offset if entry is None else entry.after
            if after == self.offset:
                return None
            self.offset = after
            if entry is not None and (entry.rows is None or entry.rows.height):
                return entry.entry()
        self._cursor = None
        self._place = self._ring.join(self.offset)
        return None

    def from_ring(self) -> Entry | None:
        """The next entry of the ring, which must have one; None if the query has already read all of it."""
        assert self._place is not None, "a feed without a place"
        handed, begin = self._ring.read(self._place), self.offset
        if handed.after.number <= begin.number:
            return None
        self.offset, entry = handed.after, handed.entry
        if isinstance(entry, Batch):
            if handed.at.number == begin.number and begin.position > handed.at.position:
                entry = replace(entry, rows=entry.rows[begin.position - handed.at.position :])
            if not entry.rows.height:
                return None
        return entry

    def leave(self) -> None:
        """Give up the place in the ring."""
        if self._place is not None:
            self._ring.leave(self._place)
