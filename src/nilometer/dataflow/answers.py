"""The top of a query's plan: its rows wait here until they are fetched, in a bounded queue."""

from __future__ import annotations

import polars as pl

from nilometer.dataflow.entry_queue import EntryQueue
from nilometer.dataflow.policy import Outcome, Policy


class Answers:
    """Frames with rows. Most rounds of a window have none."""

    def __init__(self, capacity: int, policy: Policy) -> None:
        self._frames: EntryQueue[pl.DataFrame] = EntryQueue(capacity, policy)

    @property
    def room(self) -> bool:
        """Whether the plan below may go on."""
        return self._frames.room

    def put(self, rows: pl.DataFrame) -> Outcome:
        """The rows of a round."""
        return self._frames.put(rows) if rows.height else Outcome.ACCEPTED

    def drain(self) -> list[pl.DataFrame]:
        """Everything that waits."""
        frames = []
        while (rows := self._frames.get()) is not None:
            frames.append(rows)
        return frames

    def peek(self) -> list[pl.DataFrame]:
        """Everything that waits, and goes on waiting."""
        return list(self._frames)
