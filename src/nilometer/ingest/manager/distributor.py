"""Entries of logs -> the queries that registered for their streams, through the buffers of steam.txt section 5.2.

Which of the two schemes is chosen by measure, anew whenever queries come and go: then new entries go into new buffers, and each query first
empties the old ones. A query that begins at an older offset reads the log until it has caught up and then changes over to its buffer. So
does one whose buffer could not take an entry because the disk is full: the log has it.

The laws: a query gets each entry of its streams from its offset on, in order, once; rows of an entry may come in several batches. `offset`
is where it would go on if it were registered anew.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count

from nilometer.dataflow.sources import Batch, Entry
from nilometer.errors import ConfigurationError, ResourceError
from nilometer.ingest.buffers import (
    Choice,
    SharedBuffers,
    SpillQueue,
    StreamBuffers,
    StreamUse,
    choose,
    chosen_buffers,
)
from nilometer.ingest.manager.handed import Handed
from nilometer.log import LogEntry, Offset, StreamLog
from nilometer.log.reader import Cursor

_MEMORY = 0.9
"""The weight of the old mean size of a batch."""


@dataclass
class _Generation:
    """Buffers of one choice; `feeds` still have something in them or get what comes."""

    buffers: StreamBuffers
    feeds: set[str] = field(default_factory=set)


@dataclass
class _Note:
    """A place in a feed's queue: what the buffers do not keep of an entry, and which of them has its rows."""

    turn: int
    handed: Handed
    left: int
    generation: _Generation


@dataclass
class _Feed:
    """One stream of one query. While `cursor` is set it catches up from the log."""

    name: str
    stream: str
    log: StreamLog
    offset: Offset
    cursor: Cursor | None = None
    ready: deque[LogEntry] = field(default_factory=deque)
    notes: deque[_Note] = field(default_factory=deque)


class Distributor:
    """`bound` is the memory of shared buffers, `queue_bound` of each queue of the copied ones."""

    def __init__(self, bound: int, queue_bound: int) -> None:
        self._bound = bound
        self._queue_bound = queue_bound
        self._turns = count()
        self._queries: dict[str, list[_Feed]] = {}
        self._streams: dict[str, list[_Feed]] = {}
        self._ends: dict[str, Offset] = {}
        self._sizes: dict[str, float] = {}
        self._generations: list[_Generation] = []
        self.choice: Choice | None = None

    # ---- queries ---------------------------------------------------------------------------------------------------------

    def subscribe(self, query: str, logs: Iterable[tuple[str, StreamLog, Offset | None]]) -> None:
        """From now on the query gets the entries of these streams from an offset on (None: from the end)."""
        if query in self._queries:
            raise ConfigurationError(f"query '{query}' is registered already", hint="give it another name")
        feeds = []
        for stream, log, start in logs:
            end = self._ends.setdefault(stream, log.end)
            offset = start if start is not None else end
            feed = _Feed(f"{query}\0{stream}", stream, log, offset)
            if start is not None:
                feed.cursor = log.cursor(offset)
            feeds.append(feed)
            self._streams.setdefault(stream, []).append(feed)
        self._queries[query] = feeds
        self._choose()
        for feed in feeds:
            if feed.cursor is None:
                self._live(feed)

    def unsubscribe(self, query: str) -> None:
        """The query gets nothing more."""
        for feed in self._of(query):
            self._leave(feed)
            self._streams[feed.stream].remove(feed)
            if not self._streams[feed.stream]:
                del self._streams[feed.stream], self._ends[feed.stream]
        del self._queries[query]
        self._choose()

    def offsets(self, query: str) -> dict[str, Offset]:
        """Where the query stands in each of its streams."""
        return {feed.stream: feed.offset for feed in self._of(query)}

    def end(self, stream: str) -> Offset:
        """Up to where the stream's entries were handed on."""
        return self._ends[stream]

    def waiting(self, query: str) -> int:
        """Entries in the query's buffers."""
        return sum(len(feed.notes) for feed in self._of(query))

    # ---- in --------------------------------------------------------------------------------------------------------------

    def put(self, stream: str, handed: Handed) -> None:
        """An entry is durable: hand it to the stream's queries that have caught up; the others find it in the log."""
        if stream not in self._streams:
            return
        self._ends[stream] = max(self._ends[stream], handed.after)
        live = [feed for feed in self._streams[stream] if feed.cursor is None]
        if not live:
            return
        generation = self._generations[-1]
        if handed.rows:
            assert isinstance(handed.entry, Batch)
            rows = handed.entry.rows
            size = float(rows.estimated_size())
            self._sizes[stream] = _MEMORY * self._sizes.get(stream, size) + (1 - _MEMORY) * size
            try:
                generation.buffers.put(stream, rows)
            except ResourceError:
                # No room to spill to. The log has the entry, and what waits besides: read it there.
                for feed in live:
                    self._fall_back(feed)
                return
            handed = replace(handed, entry=replace(handed.entry, rows=rows.clear()))
            left = rows.height
        else:
            left = 0
        turn = next(self._turns)
        for feed in live:
            feed.notes.append(_Note(turn, handed, left, generation))

    # ---- out -------------------------------------------------------------------------------------------------------------

    def take(self, query: str) -> tuple[str, Entry] | None:
        """The query's next entry, or a part of it; None when it has seen all."""
        feeds = self._of(query)
        for feed in feeds:
            if feed.cursor is not None and (entry := self._caught_up(feed)) is not None:
                # The next time another stream has its turn.
                feeds.remove(feed)
                feeds.append(feed)
                return feed.stream, entry
        while waiting := [feed for feed in feeds if feed.notes]:
            feed = min(waiting, key=lambda each: each.notes[0].turn)
            entry = self._buffered(feed)
            if entry is not None:
                return feed.stream, entry
        return None

    def _caught_up(self, feed: _Feed) -> Entry | None:
        """What the log has next; None if the feed now goes on from its buffer."""
        assert feed.cursor is not None
        while True:
            if not feed.ready:
                feed.ready.extend(feed.cursor.read())
            # What is in the log but not durable yet is not handed on.
            if not feed.ready or feed.offset.number >= self._ends[feed.stream].number:
                break
            entry = feed.ready.popleft()
            feed.offset = entry.after
            if entry.rows is None or entry.rows.height:
                return entry.entry()
        if not feed.ready and feed.cursor.offset.number >= self._ends[feed.stream].number:
            feed.offset = max(feed.offset, feed.cursor.offset)
            feed.cursor = None
            self._live(feed)
        return None

    def _buffered(self, feed: _Feed) -> Entry | None:
        note = feed.notes[0]
        entry = note.handed.entry
        if note.left:
            found = note.generation.buffers.get(feed.name)
            assert found is not None, "a note without its rows"
            note.left -= found[1].height
            assert isinstance(entry, Batch)
            entry = replace(entry, rows=found[1])
        position = note.handed.after.position - note.left
        again = note.handed.after.number <= feed.offset.number
        if note.left:
            feed.offset = max(feed.offset, Offset(note.handed.at.number, position))
        else:
            feed.offset = max(feed.offset, note.handed.after)
            feed.notes.popleft()
            if note.generation is not self._generations[-1] and (
                not feed.notes or feed.notes[0].generation is not note.generation
            ):
                self._drained(note.generation, feed)
        empty = isinstance(entry, Batch) and not entry.rows.height
        return None if again or empty else entry

    # ---- buffers ---------------------------------------------------------------------------------------------------------

    def _choose(self) -> None:
        """Buffers of the scheme that is cheaper now; those in use are emptied by their readers."""
        uses = []
        for stream, feeds in self._streams.items():
            waiting = sum(len(feed.notes) for feed in feeds) / len(feeds)
            uses.append(StreamUse(stream, len(feeds), self._sizes.get(stream, 4_096.0), max(1.0, waiting)))
        if self._generations and choose(uses, memory=self._bound).scheme == self._scheme():
            return
        buffers, self.choice = chosen_buffers(
            uses, bound=self._bound, queue=lambda: SpillQueue(self._queue_bound)
        )
        old = self._generations[-1] if self._generations else None
        self._generations.append(_Generation(buffers))
        for feeds in self._queries.values():
            for feed in feeds:
                if old is None or feed.name not in old.feeds:
                    continue
                self._live(feed)
                if not any(note.generation is old for note in feed.notes):
                    self._drained(old, feed)

    def _scheme(self) -> str:
        return "shared" if isinstance(self._generations[-1].buffers, SharedBuffers) else "copied"

    def _live(self, feed: _Feed) -> None:
        generation = self._generations[-1]
        generation.buffers.subscribe(feed.name, [feed.stream])
        generation.feeds.add(feed.name)

    def _drained(self, generation: _Generation, feed: _Feed) -> None:
        generation.buffers.unsubscribe(feed.name)
        generation.feeds.discard(feed.name)
        if not generation.feeds and generation is not self._generations[-1]:
            self._generations.remove(generation)
            if isinstance(generation.buffers, SharedBuffers):
                generation.buffers.close()

    def _leave(self, feed: _Feed) -> None:
        for generation in list(self._generations):
            if feed.name in generation.feeds:
                self._drained(generation, feed)
        feed.notes.clear()

    def _fall_back(self, feed: _Feed) -> None:
        """Forget what is in the buffers, and read on in the log where the query stands."""
        self._leave(feed)
        feed.ready.clear()
        feed.cursor = feed.log.cursor(feed.offset)

    def close(self) -> None:
        """Forget everything, and remove what was spilled."""
        for query in list(self._queries):
            with contextlib.suppress(ResourceError):
                self.unsubscribe(query)
        for generation in self._generations:
            if isinstance(generation.buffers, SharedBuffers):
                generation.buffers.close()
        self._generations.clear()

    def _of(self, query: str) -> list[_Feed]:
        if query not in self._queries:
            raise ConfigurationError(f"no query '{query}' is registered")
        return self._queries[query]
