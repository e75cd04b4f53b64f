"""The answers of standing queries for any number of subscribers: each new commit is read and encoded once.

    commit log ─► one thread reads the new commits ─► a tail per query, bounded ─► subscribers, each at its position
             └──────────────── a subscriber that is behind its tail reads the log by itself ──────┘

The laws: a subscriber has a position, not a queue. One that reads slowly holds one chunk, and reads the log when the
tail has moved on: it costs nobody else memory or time. A position is a place in the log, so that a subscriber that
comes again with it gets every row once, also from the next server. Only commits that survive a power cut are given out
(sinks/commits.py). All of a tail is touched by the event loop alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from nilometer.errors import NilometerError
from nilometer.live.standing import result_files, result_logs
from nilometer.log import Offset
from nilometer.log.results.numbers import first_number
from nilometer.log.results.shared_results import SharedResults
from nilometer.server.callers import most_subscribers
from nilometer.server.problems import ConflictError, GoneError, TooManyError
from nilometer.sinks.commits import CommitPlace, Commits
from nilometer.types import Schema

if TYPE_CHECKING:
    from nilometer.live.owner.owner import Owner

CHUNK_ROWS = 4_096
"""The most rows of one chunk, and so of one event."""
SMALL_ROWS = 256
"""A chunk of more rows is encoded in a thread."""
TAIL_BYTES = 4 << 20
"""How much of a query's newest answers is kept for its subscribers."""
LOOK = 0.02
"""Seconds between two looks for a commit that is on its way to the disk."""
IDLE = 1.0
"""Seconds between two looks otherwise."""

_ID = re.compile(r"(\d{1,18})-(\d{1,18})-(\d{1,6})-(\d{1,18})")


@dataclass(frozen=True)
class Position:
    """A position in a query's answers: so many rows came before it. `first` is the number of the query's first commit:
    it changes when the query is dropped or replayed. `place` is where in the log to look.

    >>> str(Position(0, 1234, Place(0, Offset(88, 1200))))
    '0-1234-0-88'
    """

    first: int
    rows: int
    place: CommitPlace | None = None

    def __str__(self) -> str:
        place = self.place or CommitPlace()
        return f"{self.first}-{self.rows}-{place.log}-{place.offset.number}"

    @staticmethod
    def parse(text: str) -> Position | None:
        """The inverse of `str`; None for a text that is none."""
        found = _ID.fullmatch(text.strip())
        if found is None:
            return None
        first, rows, log, number = map(int, found.groups())
        return Position(first, rows, CommitPlace(log, Offset(number, 0)))


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows of one version, from a position on. `encoded` is what they were turned into, by form."""

    schema: Schema
    version: str
    rows: pl.DataFrame
    position: int
    before: CommitPlace
    after: CommitPlace
    encoded: dict[str, asyncio.Future[bytes]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The position after the last row."""
        return self.position + self.rows.height

    def since(self, position: int) -> Chunk:
        """The part from a position on."""
        if position <= self.position:
            return self
        return replace(self, rows=self.rows[position - self.position :], position=position, encoded={})

    async def encode(self, form: str, encoder: Callable[[Chunk], bytes]) -> bytes:
        """The chunk in a form, made once for all subscribers; in a thread, unless it is small."""
        if form not in self.encoded:
            if self.rows.height <= SMALL_ROWS:
                done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
                done.set_result(encoder(self))
                self.encoded[form] = done
            else:
                self.encoded[form] = asyncio.ensure_future(asyncio.to_thread(encoder, self))
        return await asyncio.shield(self.encoded[form])


@dataclass(frozen=True)
class TailState:
    """How a query does: how many rows it has answered, and whether it has ended, failed, or is gone."""

    rows: int = 0
    ended: bool = False
    trouble: str | None = None
    running: bool = False


UNKNOWN = TailState(-1)
"""The state of a query before the station's loop has looked at it."""


@dataclass
class Tail:
    """The newest answers of one query."""

    name: str
    subscribers: int = 0
    state: TailState = UNKNOWN
    reader: Commits | None = None
    position: int = 0
    chunks: deque[Chunk] = field(default_factory=deque)
    size: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def find(self, position: int) -> Chunk | None:
        """The kept chunk that has the row of that position."""
        for chunk in reversed(self.chunks):
            if chunk.position <= position:
                return chunk if position < chunk.end else None
        return None

    def add(self, chunks: list[Chunk]) -> None:
        """Keep new chunks, and forget the oldest."""
        for chunk in chunks:
            self.chunks.append(chunk)
            self.position = chunk.end
            self.size += int(chunk.rows.estimated_size())
        while len(self.chunks) > 1 and self.size > TAIL_BYTES:
            self.size -= int(self.chunks.popleft().rows.estimated_size())
        self.wake()

    def wake(self) -> None:
        """Something has changed: let the subscribers look."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def wait(self, seconds: float) -> None:
        """Wait until something changes."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)


class Tails:
    """All tails. Its thread reads new commits; the station's loop tells it when there may be some."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._tails: dict[str, Tail] = {}
        self._watched: tuple[str, ...] = ()
        self._names: dict[str, str] = {}
        self._states: dict[str, TailState] = {}
        self._bell = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.closed = False

    # ---- in the station's loop ---------------------------------------------------------------------------------------

    def look(self, owner: Owner) -> None:
        """After a turn of the loop: how the queries do that somebody listens to."""
        found = {}
        for name in self._watched:
            live = owner.station.queries.get(self._names.get(name, name))
            if live is None:
                found[name] = TailState()
                continue
            failed = live.failure is not None
            trouble = live.failure.message if live.failure is not None else live.trouble or live.stale
            found[name] = TailState(live.rows, live.finished and not failed, trouble, not failed)
        if found != self._states:
            self._states = found
            self._bell.set()

    # ---- in the thread -----------------------------------------------------------------------------------------------

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to follow the log."""
        self._loop = loop
        self._thread = threading.Thread(target=self._run, name="nilometer-results", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End all subscriptions; from any thread."""
        self.closed = True
        self._bell.set()
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake_all)

    def _wake_all(self) -> None:
        for tail in self._tails.values():
            tail.wake()

    def _run(self) -> None:
        while not self.closed:
            states = dict(self._states)
            behind = any(
                tail.reader is not None and tail.position < states.get(tail.name, UNKNOWN).rows
                for tail in list(self._tails.values())
            )
            self._bell.wait(LOOK if behind else IDLE)
            self._bell.clear()
            states = dict(self._states)
            for tail in list(self._tails.values()):
                found: list[Chunk] = []
                if tail.reader is not None and tail.position < states.get(tail.name, UNKNOWN).rows:
                    with contextlib.suppress(NilometerError, AssertionError):
                        found = read_chunks(tail.reader, tail.position)
                state = states.get(tail.name, tail.state)
                if (found or state != tail.state) and self._loop is not None and not self.closed:
                    done = threading.Event()
                    with contextlib.suppress(RuntimeError):  # the event loop has ended
                        self._loop.call_soon_threadsafe(self._take, tail, found, state, done)
                        done.wait(IDLE)

    def _take(self, tail: Tail, found: list[Chunk], state: TailState, done: threading.Event) -> None:
        tail.state = state
        tail.add(found)
        done.set()

    # ---- in the event loop -------------------------------------------------------------------------------------------

    @property
    def subscribers(self) -> int:
        """The number of subscribers now."""
        return sum(tail.subscribers for tail in self._tails.values())

    @contextlib.contextmanager
    def subscribed(self, name: str) -> Iterator[Tail]:
        """The tail of a query, as long as somebody listens."""
        if self.subscribers >= (most := most_subscribers()):
            raise TooManyError(f"there are {most} subscribers already", hint="try again later")
        key = name.lower()
        tail = self._tails.setdefault(key, Tail(key))
        self._names[key] = name  # as it is declared
        tail.subscribers += 1
        self._watched = tuple(self._tails)
        try:
            yield tail
        finally:
            tail.subscribers -= 1
            if not tail.subscribers:
                del self._tails[key], self._names[key]
                self._watched = tuple(self._tails)


class Subscription:
    """One reader of a query's answers, at its position. `reads` runs a call in a thread."""

    def __init__(self, directory: Path, name: str, tail: Tail, begin: Position) -> None:
        self._directory = directory
        self._name = name
        self._tail = tail
        self._first = begin.first
        self._rows = begin.rows
        self._place = begin.place
        self._own: Commits | None = None
        self._waiting: deque[Chunk] = deque()

    @property
    def position(self) -> Position:
        """The position of the next row."""
        return Position(self._first, self._rows, self._place)

    @property
    def over(self) -> bool:
        """Whether all streams of the query have ended, and all rows were given."""
        return self._tail.state.ended and self._rows >= self._tail.state.rows

    async def ready(self) -> Chunk | None:
        """The next rows that are there; None if there are none now."""
        for _ in range(100):
            chunk = self._waiting.popleft() if self._waiting else self._tail.find(self._rows)
            if chunk is not None:
                return self._given(chunk.since(self._rows))
            if self._tail.reader is not None and self._rows >= self._tail.position:
                return None
            self._waiting.extend(await asyncio.to_thread(self._read))
            if not self._waiting and self._tail.reader is None:
                # It has read everything: from here on, one reader reads for all.
                assert self._own is not None
                self._tail.reader, self._tail.position, self._own = self._own, self._rows, None
                return None
        raise GoneError("the answers that come next are not in the log any more")

    async def wait(self, seconds: float) -> None:
        """Wait until there may be more."""
        await self._tail.wait(seconds)

    @property
    def trouble(self) -> str | None:
        """Why nothing comes, for people."""
        return self._tail.state.trouble

    def _read(self) -> list[Chunk]:
        if self._own is None:
            self._own = reader_at(self._directory, self._name, self._rows, self._place)
        return read_chunks(self._own, self._rows)

    def _given(self, chunk: Chunk) -> Chunk:
        if chunk.position > self._rows:
            raise GoneError(f"rows {self._rows} to {chunk.position} of '{self._name}' were trimmed")
        self._rows, self._place = chunk.end, chunk.after
        return chunk


def reader_at(directory: Path, name: str, rows: int, place: CommitPlace | None) -> Commits:
    """A reader of the log at or before a row: at the place, if that is right, else by a search from the beginning."""
    logs = result_files(directory, name)
    commits = Commits(lambda: result_files(directory, name))
    # Result logs of a query's own are searched by segment, which is quick enough.
    if place is not None and place.log < len(logs) and isinstance(logs[place.log], SharedResults):
        there = CommitPlace(place.log, Offset(place.offset.number, rows))
        with contextlib.suppress(NilometerError):
            commits.seek(there)
            found = commits.read(1)
            if found[0][0].position <= rows if found else rows == total_rows(directory, name):
                commits.seek(there)
                return commits
    commits.seek_row(rows)
    return commits


def read_chunks(commits: Commits, position: int) -> list[Chunk]:
    """The next rows, from that position on, as chunks; empty if there are none now."""
    while True:
        before = commits.place
        found = commits.read(CHUNK_ROWS)
        if not found:
            return []
        chunks: list[Chunk] = []
        for answered, after in found:
            height = answered.rows.height
            for start in range(max(0, position - answered.position), height, CHUNK_ROWS):
                part = answered.rows[start : start + CHUNK_ROWS]
                ends = start + part.height >= height
                chunks.append(
                    Chunk(
                        answered.schema,
                        answered.version,
                        part,
                        answered.position + start,
                        before,
                        after if ends else before,
                    )
                )
            before = after
        if chunks:
            return chunks


def total_rows(directory: Path, name: str) -> int:
    """How many rows a query has ever answered."""
    return sum(log.rows for log in result_logs(directory, name))


def trimmed_rows(directory: Path, name: str) -> int:
    """How many of its oldest rows are not in the log any more."""
    return sum(log.trimmed for log in result_logs(directory, name))


@dataclass(frozen=True)
class Extent:
    """The answers that a query has: the number of its first commit, how many rows it has ever answered, and how many of
    the oldest are not in the log any more."""

    first: int
    rows: int
    trimmed: int


def extent_of(directory: Path, name: str) -> Extent:
    """The extent of a query's answers now."""
    return Extent(first_number(directory, name), total_rows(directory, name), trimmed_rows(directory, name))


def begin_at(
    directory: Path, name: str, there: Extent, asked: str | None, last_event: str | None
) -> Position:
    """The position that a client asks for: `Last-Event-ID`, or `from`: beginning, now, or a number of rows."""
    first = there.first
    if last_event is not None:
        found = Position.parse(last_event)
        if found is None:
            raise ConflictError(
                f"'{last_event[:80]}' is no position",
                hint="send back the id of the last event, or ?from=1234",
            )
        if found.first != first:
            raise GoneError(
                f"'{name}' was dropped or replayed since: its answers begin again",
                hint="begin again, without Last-Event-ID",
            )
        position = found
    elif asked is None or asked == "beginning":
        return Position(first, there.trimmed)
    elif asked == "now":
        return Position(first, there.rows, Commits(lambda: result_files(directory, name)).end())
    elif asked.isdecimal() and len(asked) <= 18:
        position = Position(first, int(asked))
    else:
        raise ConflictError(f"'{asked[:80]}' is no position", hint="beginning, now, or a number of rows")
    if position.rows > there.rows:
        raise ConflictError(
            f"'{name}' has answered {there.rows} rows, fewer than {position.rows}",
            hint="an older copy of the data directory was put back: begin again",
        )
    if position.rows < there.trimmed:
        raise GoneError(
            f"the first {there.trimmed} rows of '{name}' were trimmed",
            hint=f"begin with ?from={there.trimmed}",
        )
    return position
