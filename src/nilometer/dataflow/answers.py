"""The answers of a query, in a bounded queue, until they are fetched."""

from __future__ import annotations

import polars as pl

from nilometer.dataflow.entry_queue import EntryQueue
from nilometer.dataflow.policy import Outcome, Policy


class Answers:
    """A queue of frames. Frames without rows are not queued: most rounds of a window have none."""

    def __init__(self, capacity: int, policy: Policy) -> None:
        self._frames: EntryQueue[pl.DataFrame] = EntryQueue(capacity, policy)

    @property
    def room(self) -> bool:
        """Whether the plan below may go on."""
        return self._frames.room

    def put(self, rows: pl.DataFrame) -> Outcome:
        """Add the rows of a round."""
        return self._frames.put(rows) if rows.height else Outcome.ACCEPTED

    def drain(self) -> list[pl.DataFrame]:
        """Remove and return all waiting frames."""
        frames = []
        while (rows := self._frames.get()) is not None:
            frames.append(rows)
        return frames

    def peek(self) -> list[pl.DataFrame]:
        """Return all waiting frames and leave them in the queue."""
        return list(self._frames)
