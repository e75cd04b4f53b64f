"""A query while it runs: what it has answered, what was not fetched yet, and its books."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from nilometer.dataflow.ledger import QueryLedger
from nilometer.errors import NilometerError
from nilometer.live.answers import Answer
from nilometer.live.declarations import CompiledQuery
from nilometer.log import Offset

WAITING_ROWS = 1_000_000
"""How many rows of an answer wait for whoever asked; older ones are dropped, and counted."""


@dataclass
class LiveQuery:
    """Iterate over `take()` for what came since. `group` is its place in the Fjord: queries of one start share it."""

    name: str
    query: CompiledQuery
    group: str
    offsets: dict[str, Offset]
    rows: int = 0
    dropped: int = 0
    trimmed: int = 0
    """Readings that were trimmed from the logs by force before a durable query, when it was installed, had read them."""
    ledger: QueryLedger = field(default_factory=QueryLedger)
    watermark: int | None = None
    finished: bool = False
    failure: NilometerError | None = None
    note: str | None = None
    """What whoever installed it should know."""
    trouble: str | None = None
    """Why the answers of a durable query cannot be kept now; it waits."""
    stale: str | None = None
    """Why a table could not be read anew; its last version holds, and it is tried again."""
    _waiting: list[pl.DataFrame] = field(default_factory=list)
    _waiting_rows: int = 0

    def give(self, frames: list[pl.DataFrame]) -> None:
        """New rows of the answer."""
        for frame in frames:
            self.rows += frame.height
            self._waiting.append(frame)
            self._waiting_rows += frame.height
        while self._waiting_rows > WAITING_ROWS and len(self._waiting) > 1:
            oldest = self._waiting.pop(0)
            self._waiting_rows -= oldest.height
            self.dropped += oldest.height

    def take(self) -> Iterator[Answer]:
        """The rows since the last call; raises what made the query stop, once its rows are fetched."""
        frames, self._waiting, self._waiting_rows = self._waiting, [], 0
        for frame in frames:
            yield Answer(self.query.schema, frame, self.watermark)
        if self.failure is not None and not frames:
            raise self.failure
