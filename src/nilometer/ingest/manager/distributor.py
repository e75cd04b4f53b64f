"""Entries of logs -> the queries that registered for their streams: a ring of recent entries for each stream, and behind it the log.

A query that keeps up reads the ring (ring.py), in which every entry stands once for all queries. When the rings together are larger than `bound`, the oldest
entry leaves its ring; a query that had still to read it reads the log from there on (feed.py), and comes back to the ring when it has caught
up. So nothing is spilled: all that is handed on is in the log already.

The laws: a query gets every durable entry of its streams from its offset on, in the order of the log, once, whatever the bound and whoever else
reads; after a `put` the rings hold no more than the bound, or one entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

from nilometer.dataflow.sources import Entry
from nilometer.errors import ConfigurationError
from nilometer.ingest.manager.feed import Feed
from nilometer.ingest.manager.handed import Handed
from nilometer.ingest.manager.ring import Ring, Usage
from nilometer.log import Offset, StreamLog


@dataclass(frozen=True)
class Start:
    """A stream of a query: its log, the offset up to which that is durable (None: all of it), and the one from which the query reads
    (None: from what is durable now)."""

    stream: str
    log: StreamLog
    durable: Offset | None = None
    offset: Offset | None = None


class Distributor:
    """`bound` is in bytes, for all streams together."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._turns = count()
        self._usage = Usage()
        self._rings: dict[str, Ring] = {}
        self._feeds: dict[str, list[Feed]] = {}

    @property
    def bytes(self) -> int:
        """The memory that the entries take, which is the same however many queries read them."""
        return self._usage.bytes

    # ---- queries ---------------------------------------------------------------------------------------------------------

    def subscribe(self, query: str, starts: Iterable[Start]) -> None:
        """From now on the query gets the entries of these streams."""
        if query in self._feeds:
            raise ConfigurationError(f"query '{query}' is registered already", hint="give it another name")
        feeds = []
        for start in starts:
            ring = self._rings.get(start.stream)
            if ring is None:
                end = start.log.end
                durable = end if start.durable is None else start.durable
                ring = self._rings[start.stream] = Ring(self._usage, durable, end)
            offset = ring.durable if start.offset is None else start.offset
            feeds.append(Feed(start.stream, start.log, ring, offset))
        self._feeds[query] = feeds

    def unsubscribe(self, query: str) -> None:
        """The query gets nothing more; a stream that no query reads needs no ring."""
        for feed in self._of(query):
            feed.leave()
        del self._feeds[query]
        read = {feed.stream for feeds in self._feeds.values() for feed in feeds}
        self._rings = {stream: ring for stream, ring in self._rings.items() if stream in read}

    def offsets(self, query: str) -> dict[str, Offset]:
        """Where the query stands in each of its streams."""
        return {feed.stream: feed.offset for feed in self._of(query)}

    def end(self, stream: str) -> Offset:
        """Up to where the stream's entries may be read."""
        return self._rings[stream].durable

    # ---- in --------------------------------------------------------------------------------------------------------------

    def put(self, stream: str, handed: Handed) -> None:
        """An entry was appended to the stream's log. Nobody gets it before it is durable."""
        ring = self._rings.get(stream)
        if ring is None:
            return
        ring.put(next(self._turns), handed)
        while self._usage.bytes > self._bound and self._usage.entries > 1:
            held = [each for each in self._rings.values() if each.oldest is not None]
            min(held, key=lambda each: each.oldest or 0).evict()

    def durable(self, stream: str, end: Offset) -> None:
        """The stream's log is durable up to here."""
        ring = self._rings.get(stream)
        if ring is not None:
            ring.durable = max(ring.durable, end)

    # ---- out -------------------------------------------------------------------------------------------------------------

    def take(self, query: str) -> tuple[str, Entry] | None:
        """The query's next entry; None when it has read all that is durable. Streams that are behind come first, in rotation; the others
        in the order in which their entries came."""
        feeds = self._of(query)
        for feed in feeds:
            if feed.behind and (entry := feed.from_log()) is not None:
                feeds.remove(feed)
                feeds.append(feed)
                return feed.stream, entry
        while True:
            turns = [(turn, place) for place, feed in enumerate(feeds) if (turn := feed.turn) is not None]
            if not turns:
                return None
            feed = feeds[min(turns)[1]]
            entry = feed.from_ring()
            if entry is not None:
                return feed.stream, entry

    def close(self) -> None:
        """Forget everything."""
        for query in list(self._feeds):
            self.unsubscribe(query)

    def _of(self, query: str) -> list[Feed]:
        if query not in self._feeds:
            raise ConfigurationError(f"no query '{query}' is registered")
        return self._feeds[query]
