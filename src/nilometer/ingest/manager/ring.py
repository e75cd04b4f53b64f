"""The recent entries of one stream: one copy for all queries, kept until the last query has read it.

This is the second scheme of STEAM (steam.txt section 5.2): S buffers of tuples and Q queues of references.
The buffer is this ring, and its unit is an entry of the log. A query's queue of references is one `RingPlace`,
because every query reads the entries in order.

    entries   e7:1   e8:2   e9:2 | e10:3     the number of places that are still to read the entry
               ^      ^          ^
               A      B, since e8           A and B wait, C has read all that is durable

Entries behind `durable` are in the log, but a power cut could still destroy them, so no query reads them yet.
When an entry is evicted, every place that had not read it yet leaves the ring, and its query reads the log.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice

from nilometer.dataflow.sources import Heartbeat
from nilometer.ingest.manager.handed import Handed
from nilometer.log import Offset

ENTRY_BYTES = 200
"""About how much memory an entry takes besides its rows. A silent stream's heartbeats take memory, too."""


@dataclass
class Usage:
    """The memory of several rings together."""

    bytes: int = 0
    entries: int = 0


@dataclass(eq=False, slots=True)
class RingPlace:
    """Where a query stands in a ring: the sequence number of the entry that it reads next."""

    sequence: int


@dataclass(slots=True)
class _Kept:
    turn: int
    handed: Handed
    bytes: int
    readers: int


def size_of(handed: Handed) -> int:
    """The bytes that an entry takes."""
    rows = 0 if isinstance(handed.entry, Heartbeat) else handed.entry.rows.estimated_size()
    return int(rows) + ENTRY_BYTES


class Ring:
    """The recent entries of a stream. `tail` is the end of the log; entries up to `durable` may be read."""

    def __init__(self, usage: Usage, durable: Offset, tail: Offset) -> None:
        self.durable = durable
        self.tail = tail
        self._usage = usage
        self._entries: deque[_Kept] = deque()
        self._first = 0
        self._places: set[RingPlace] = set()

    def __contains__(self, place: RingPlace | None) -> bool:
        return place in self._places

    @property
    def oldest(self) -> int | None:
        """The turn of the oldest entry; None if the ring is empty."""
        return self._entries[0].turn if self._entries else None

    # ---- entries ---------------------------------------------------------------------------------------------------------

    def put(self, turn: int, handed: Handed) -> None:
        """Take an entry that was appended to the log. The ring keeps it if a place will read it."""
        if handed.after.number <= self.tail.number:
            # The ring began after this entry.
            return
        self.tail = handed.after
        if self._places:
            kept = _Kept(turn, handed, size_of(handed), len(self._places))
            self._entries.append(kept)
            self._usage.bytes += kept.bytes
            self._usage.entries += 1

    def evict(self) -> None:
        """Remove the oldest entry, and the places that had not read it yet."""
        for place in [each for each in self._places if each.sequence == self._first]:
            self.leave(place)

    # ---- places ----------------------------------------------------------------------------------------------------------

    def reaches(self, offset: Offset) -> bool:
        """Whether the ring holds every entry from the offset on."""
        return offset.number >= (self._entries[0].handed.at if self._entries else self.tail).number

    def join(self, offset: Offset) -> RingPlace:
        """Add a place at the entry that contains the offset. The ring must reach the offset."""
        read = sum(kept.handed.after.number <= offset.number for kept in self._entries)
        for kept in islice(self._entries, read, None):
            kept.readers += 1
        place = RingPlace(self._first + read)
        self._places.add(place)
        return place

    def leave(self, place: RingPlace) -> None:
        """Remove a place, if it is still in the ring."""
        if place in self._places:
            self._places.remove(place)
            for kept in islice(self._entries, place.sequence - self._first, None):
                kept.readers -= 1
            self._release()

    def turn(self, place: RingPlace) -> int | None:
        """The turn of the place's next entry; None if there is no durable one."""
        number = place.sequence - self._first
        if number < len(self._entries):
            kept = self._entries[number]
            if kept.handed.after.number <= self.durable.number:
                return kept.turn
        return None

    def read(self, place: RingPlace) -> Handed:
        """Return the place's next entry, which must be durable, and move the place on."""
        kept = self._entries[place.sequence - self._first]
        place.sequence += 1
        kept.readers -= 1
        self._release()
        return kept.handed

    def _release(self) -> None:
        """Drop the entries that no place will read. All places read in order, so they are at the front."""
        while self._entries and not self._entries[0].readers:
            self._usage.bytes -= self._entries.popleft().bytes
            self._usage.entries -= 1
            self._first += 1
