"""The answers of a query, in a bounded queue, until they are fetched."""

from __future__ import annotations

import sys

import polars as pl

from nilometer.dataflow.entry_queue import EntryQueue
from nilometer.dataflow.policy import Outcome, Policy


class Answers:
    """A queue of frames. Frames without rows are not queued: most rounds of a window have none. `name` joins
    `ready` while frames wait."""

    def __init__(
        self, capacity: int, policy: Policy, name: str = "", ready: dict[str, None] | None = None
    ) -> None:
        self._frames: EntryQueue[pl.DataFrame] = EntryQueue(capacity, policy)
        self.bounded = policy is Policy.BLOCK and capacity < sys.maxsize
        self._name = name
        self._ready = {} if ready is None else ready

    @property
    def room(self) -> bool:
        """Whether the plan below may go on."""
        return self._frames.room

    def put(self, rows: pl.DataFrame) -> Outcome:
        """Add the rows of a round."""
        if not rows.height:
            return Outcome.ACCEPTED
        self._ready[self._name] = None
        return self._frames.put(rows)

    def drain(self) -> list[pl.DataFrame]:
        """Remove and return all waiting frames."""
        frames = []
        while (rows := self._frames.get()) is not None:
            frames.append(rows)
        self._ready.pop(self._name, None)
        return frames

    def peek(self) -> list[pl.DataFrame]:
        """Return all waiting frames and leave them in the queue."""
        return list(self._frames)
