"""The answers of a query, in a queue, until they are fetched."""

from __future__ import annotations

import sys

import polars as pl

from nilometer.dataflow.entry_queue import EntryQueue
from nilometer.dataflow.part import Rows, frame_of
from nilometer.dataflow.policy import Outcome, Policy


class Answers:
    """A queue of frames. Frames without rows are not queued: most rounds of a window have none. `name` joins
    `ready` while frames wait. A queue without a bound is a list, which may hold parts of shared frames."""

    def __init__(
        self, capacity: int, policy: Policy, name: str = "", ready: dict[str, None] | None = None
    ) -> None:
        unbounded = policy is Policy.BLOCK and capacity == sys.maxsize
        self._listed: list[Rows] = []
        self._frames: EntryQueue[pl.DataFrame] | None = None if unbounded else EntryQueue(capacity, policy)
        self.bounded = policy is Policy.BLOCK and not unbounded
        self.name = name
        self._ready = {} if ready is None else ready

    @property
    def room(self) -> bool:
        """Whether the plan below may go on."""
        return self._frames is None or self._frames.room

    def put(self, rows: Rows) -> Outcome:
        """Add the rows of a round."""
        if not rows.height:
            return Outcome.ACCEPTED
        self._ready[self.name] = None
        if self._frames is None:
            self._listed.append(rows)
            return Outcome.ACCEPTED
        return self._frames.put(frame_of(rows))

    def drain(self) -> list[pl.DataFrame]:
        """Remove and return all waiting frames."""
        return [frame_of(rows) for rows in self.drain_parts()]

    def drain_parts(self) -> list[Rows]:
        """Remove and return all waiting frames; those that are parts of shared frames are not cut out."""
        self._ready.pop(self.name, None)
        if self._frames is None:
            found, self._listed = self._listed, []
            return found
        frames: list[Rows] = []
        while (rows := self._frames.get()) is not None:
            frames.append(rows)
        return frames

    def peek(self) -> list[pl.DataFrame]:
        """Return all waiting frames and leave them in the queue."""
        return list(self._frames) if self._frames is not None else [frame_of(rows) for rows in self._listed]
