"""Readings that come from peers: the rows of another gateway's stream, and the results of joins among gateways.

The law: a row of another gateway is numbered by its position in that gateway's log, so that it enters our log once and
in the same order, however often either process is killed. A result has the positions of its members as KEY.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

import polars as pl

from nilometer.catalog import Stream
from nilometer.ingest.adapters import Adapter, Clock, ReadResult, Status
from nilometer.ingest.adapters.wake import Wake
from nilometer.operators.frames import dtype
from nilometer.overlay.messages import Shipped
from nilometer.types import SECOND

AGAIN = 2 * SECOND
"""A peer that does not answer is asked again after this time."""


class RemoteAdapter(Adapter):
    """The source of another gateway's stream. `ask` asks that gateway for the rows from a position on."""

    def __init__(
        self, stream: Stream, clock: Clock, ask: Callable[[str, int], None], goes_on: Callable[[str], bool]
    ) -> None:
        super().__init__(stream, clock)
        self.wake: Wake = Wake()
        self._ask, self._goes_on = ask, goes_on
        self._waiting: deque[Shipped] = deque()
        self._next = -1
        self._log = ""
        self._consumed: Mapping[str, int] = {}
        self._asked = 0
        self._open = False
        self.promised = 0
        self.missing = 0
        """Rows that the home's log no longer had when they were asked for."""

    def open(self) -> None:
        """Ask for rows."""
        self._open = True
        self.ask_again(at_once=True)

    def resume(self, consumed: Mapping[str, int]) -> None:
        """Go on after the rows that our log has, if a standing query wants them all; else from now on."""
        self._consumed = dict(consumed)
        if consumed and self._goes_on(self.stream.name):
            self._log, self._next = next(reversed(self._consumed.items()))

    def came(self, shipped: Shipped) -> None:
        """Rows have come. Those that we have, or that leave a gap, are asked for again."""
        if not self._open:
            return
        if shipped.log != self._log or self._next < 0:
            self._log = shipped.log
            self._next = shipped.first if self._next < 0 else self._consumed.get(shipped.log, shipped.first)
        if shipped.first != self._next:
            if not self._next < shipped.first == shipped.begins:
                self.ask_again(at_once=True)
                return
            self.missing += shipped.first - self._next
        if shipped.rows.height or shipped.tick:
            self._next = shipped.upto
            self._waiting.append(shipped)
            self.wake.set()

    def ask_again(self, *, at_once: bool = False) -> None:
        """Ask for more, now and then: it also says that the rows are still wanted."""
        if self._open and len(self._waiting) < 4 and (at_once or self.clock() - self._asked >= AGAIN):
            self._asked = self.clock()
            self._ask(self.stream.name, self._next)

    def read(self) -> ReadResult:
        """The rows that have come."""
        self.wake.clear()
        while self._waiting:
            shipped = self._waiting.popleft()
            self.promised = max(self.promised, shipped.tick)
            self.ask_again(at_once=True)
            if self._waiting:
                self.wake.set()
            if shipped.rows.height:
                return ReadResult(
                    Status.NEW_VALUE,
                    conformed(self.stream, shipped.rows),
                    arrived=self.clock(),
                    sequence=shipped.upto - shipped.rows.height,
                    part=shipped.log,
                )
        return self.nothing()

    def close(self) -> None:
        """The rows are no longer wanted."""
        self._open = False
        self._waiting.clear()
        self._next = -1


class ResultsAdapter(Adapter):
    """The source of a join's results, or of the answers of an aggregate."""

    def __init__(self, stream: Stream, clock: Clock) -> None:
        super().__init__(stream, clock)
        self.wake: Wake = Wake()
        self._waiting: deque[tuple[pl.DataFrame, int]] = deque()
        self.promised = 0

    def open(self) -> None:
        """Results come by themselves."""

    def came(self, rows: pl.DataFrame, promise: int = 0) -> None:
        """Results have come, in the columns of the stream; after them none is earlier than `promise`."""
        self._waiting.append((rows, promise))
        self.wake.set()

    def read(self) -> ReadResult:
        """The results that have come."""
        self.wake.clear()
        if not self._waiting:
            return self.nothing()
        rows = pl.concat([rows for rows, _ in self._waiting])
        self.promised = max(self.promised, *(promise for _, promise in self._waiting))
        self._waiting.clear()
        if not rows.height:
            return self.nothing()
        return ReadResult(Status.NEW_VALUE, conformed(self.stream, rows), arrived=self.clock())


def conformed(stream: Stream, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows in the columns of a stream."""
    there = {name.lower(): name for name in rows.columns}
    return rows.select(
        (pl.col(there[c.name.lower()]) if c.name.lower() in there else pl.lit(None))
        .cast(dtype(c.type))
        .alias(c.name)
        for c in stream.columns
    )
