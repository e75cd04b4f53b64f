"""A query while it runs: its answers, those not fetched yet, and its books."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.part import Part, Rows, frame_of
from nilometer.errors import NilometerError
from nilometer.live.answers import Answer
from nilometer.live.declarations import CompiledQuery
from nilometer.log import Offset
from nilometer.memory import budget

WAITING_ROWS = 1_000_000
"""How many rows of an answer wait to be fetched, in no more bytes than the process has for results. Older rows are
dropped, and counted."""


@dataclass
class LiveQuery:
    """Call `take()` for the rows that came since the last call. `group` is its place in the shared dataflow:
    queries with the same start share it.
    """

    name: str
    query: CompiledQuery
    group: str
    offsets: dict[str, Offset]
    stops: bool = False
    """Whether a row without a value stops it (ON ERROR STOP)."""
    dead: str | None = None
    """Why a row was set aside last."""
    rows: int = 0
    dropped: int = 0
    trimmed: int = 0
    """Readings that were trimmed from the logs before the query had read them: it was behind the ring, or a durable
    query did not run."""
    finished: bool = False
    failure: NilometerError | None = None
    note: str | None = None
    """A message for whoever installed the query."""
    trouble: str | None = None
    """Why the answers of a durable query cannot be committed now; the query waits."""
    stale: str | None = None
    """Why a table could not be refreshed. Its last version still holds, and the refresh is retried."""
    apart: str | None = None
    """Why the query has a reader of its own; it may be behind the others (apart.py)."""
    skip: int = 0
    """The number of rows at the beginning that nobody wants: a client has them from an earlier owner."""
    bound: tuple[int, int] | None = None
    """How many rows and bytes may wait for a client; the query is not fed beyond that. None: no bound."""
    began: dict[str, Offset] = field(init=False)
    """Where the query began."""
    _waiting: list[Rows] = field(default_factory=list)
    _waiting_rows: int = 0
    _waiting_bytes: int = 0
    _ledger: QueryLedger = field(default_factory=QueryLedger)
    _watermark: int | None = None
    _books: tuple[Callable[[], QueryLedger], Callable[[], int | None]] | None = None

    def __post_init__(self) -> None:
        self.began = dict(self.offsets)

    @property
    def waiting(self) -> bool:
        """Whether there are rows to fetch."""
        return bool(self._waiting)

    @property
    def full(self) -> bool:
        """Whether as many rows wait as may wait for a client."""
        if self.bound is None or not self._waiting:
            return False
        rows, size = self.bound
        return self._waiting_rows >= rows or self._waiting_bytes >= size

    @property
    def ledger(self) -> QueryLedger:
        """The accounts of the readings that it was given."""
        return self._ledger if self._books is None else self._books[0]()

    @property
    def watermark(self) -> int | None:
        """Every tick below it is complete; None if it reads no stream."""
        return self._watermark if self._books is None else self._books[1]()

    def follow(self, ledger: Callable[[], QueryLedger], watermark: Callable[[], int | None]) -> None:
        """Ask these for the books, whenever somebody wants to know: thousands of queries run in a round."""
        self._books = ledger, watermark

    def freeze(self) -> None:
        """Keep the books as they are: the query stops."""
        self.note_books(self.ledger, self.watermark)

    def note_books(self, ledger: QueryLedger, watermark: int | None) -> None:
        """Set the books."""
        self._ledger, self._watermark, self._books = ledger, watermark, None

    def give(self, frames: Sequence[Rows], most: int | None = None) -> None:
        """Add new rows of the answer. At most `most` bytes wait; by default as many as the process has for results."""
        for frame in frames:
            self.rows += frame.height
            if self.skip:
                skipped = min(self.skip, frame.height)
                self.skip -= skipped
                frame = frame_of(frame)[skipped:]
                if not frame.height:
                    continue
            self._waiting.append(frame)
            self._waiting_rows += frame.height
            self._waiting_bytes += _size(frame)
        if most is None:
            most = budget().results
        while len(self._waiting) > 1 and (self._waiting_rows > WAITING_ROWS or self._waiting_bytes > most):
            oldest = self._waiting.pop(0)
            self._waiting_rows -= oldest.height
            self._waiting_bytes -= _size(oldest)
            self.dropped += oldest.height

    def part(self, most: int) -> pl.DataFrame | None:
        """The next rows, at most that many, in one frame; None if there are none."""
        if not self._waiting:
            return None
        first = self._waiting.pop(0)
        self._waiting_bytes -= _size(first)
        oldest = frame_of(first)
        if oldest.height > most:
            self._waiting.insert(0, oldest[most:])
            self._waiting_bytes += _size(oldest[most:])
            oldest = oldest[:most]
        self._waiting_rows -= oldest.height
        return oldest

    def take(self) -> Iterator[Answer]:
        """The rows since the last call. Raises the error that stopped the query, once all its rows are
        fetched.
        """
        frames, self._waiting, self._waiting_rows, self._waiting_bytes = self._waiting, [], 0, 0
        for frame in frames:
            yield Answer(self.query.schema, frame_of(frame), self.watermark)
        if self.failure is not None and not frames:
            raise self.failure


def _size(rows: Rows) -> int:
    """The number of bytes of the rows. A part of a shared frame is guessed, because thousands come in a round."""
    if isinstance(rows, Part):
        return rows.height * 8 * rows.width
    return int(rows.estimated_size())
