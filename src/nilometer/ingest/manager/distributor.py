"""Passes the entries of logs to the queries that registered for their streams.

Each stream has a ring of recent entries, with the log behind it. A query that keeps up reads the ring
(ring.py), which holds each entry once for all queries. When the rings together exceed `bound`, the oldest
entry is evicted. A query that had not read it yet reads the log from there on (feed.py), and returns to the
ring when it has caught up. So nothing is spilled: every entry handed on is in the log already.

The laws: a query gets every durable entry of its streams from its offset on, in log order and once, whatever
the bound and the other queries. After a `put` the rings hold no more than the bound, or one entry.
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
class FeedStart:
    """A stream of a query. The log is durable up to `durable` (None: all of it). The query reads from
    `offset` on (None: from the durable end)."""

    stream: str
    log: StreamLog
    durable: Offset | None = None
    offset: Offset | None = None


class Distributor:
    """The rings of all streams and the feeds of all queries. `bound`: the bytes of all rings."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._turns = count()
        self._usage = Usage()
        self._rings: dict[str, Ring] = {}
        self._feeds: dict[str, list[Feed]] = {}

    @property
    def bytes(self) -> int:
        """The memory of the entries. It does not depend on the number of queries."""
        return self._usage.bytes

    # ---- queries ---------------------------------------------------------------------------------------------------------

    def subscribe(self, query: str, starts: Iterable[FeedStart]) -> None:
        """Start to pass the entries of these streams to the query."""
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
        """Remove the query, and the rings of streams that no query reads any more."""
        for feed in self._of(query):
            feed.leave()
        del self._feeds[query]
        read = {feed.stream for feeds in self._feeds.values() for feed in feeds}
        self._rings = {stream: ring for stream, ring in self._rings.items() if stream in read}

    def offsets(self, query: str) -> dict[str, Offset]:
        """The query's offset in each of its streams."""
        return {feed.stream: feed.offset for feed in self._of(query)}

    def skipped(self, query: str) -> int:
        """The rows of its streams that were deleted from the logs before the query had read them."""
        return sum(feed.skipped for feed in self._of(query))

    def end(self, stream: str) -> Offset:
        """The offset up to which the stream's entries may be read."""
        return self._rings[stream].durable

    # ---- in --------------------------------------------------------------------------------------------------------------

    def put(self, stream: str, handed: Handed) -> None:
        """Take an entry that was appended to the stream's log. No query gets it before it is durable."""
        ring = self._rings.get(stream)
        if ring is None:
            return
        ring.put(next(self._turns), handed)
        while self._usage.bytes > self._bound and self._usage.entries > 1:
            held = [each for each in self._rings.values() if each.oldest is not None]
            min(held, key=lambda each: each.oldest or 0).evict()

    def durable(self, stream: str, end: Offset) -> None:
        """Note that the stream's log is durable up to `end`."""
        ring = self._rings.get(stream)
        if ring is not None:
            ring.durable = max(ring.durable, end)

    # ---- out -------------------------------------------------------------------------------------------------------------

    def take(self, query: str) -> tuple[str, Entry] | None:
        """The query's next entry; None when it has read all durable ones. Streams that are behind their ring
        come first, in rotation. The others come in the order in which their entries arrived."""
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
