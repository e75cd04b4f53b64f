"""The top of a query's plan: its rows wait here until they are fetched, in a bounded queue."""

from __future__ import annotations

import polars as pl

from nilometer.dataflow.fjord.messages import Message
from nilometer.dataflow.fjord.queues import PushQueue
from nilometer.dataflow.policy import Counts, Outcome, Policy


class Answers:
    """Takes messages, gives frames with rows. `counts` says also what was dropped because nobody came for it."""

    def __init__(self, capacity: int, policy: Policy) -> None:
        self._frames: PushQueue[pl.DataFrame] = PushQueue(capacity, policy)

    @property
    def room(self) -> bool:
        """Whether the plan below may go on."""
        return self._frames.room

    @property
    def ended(self) -> bool:
        """Answers never end by themselves."""
        return False

    @property
    def counts(self) -> Counts:
        """The books, in rows."""
        return self._frames.counts

    def put(self, item: Message) -> Outcome:
        """The rows of a round; most rounds of a window have none."""
        return self.put_rows(item.output.rows)

    def put_rows(self, rows: pl.DataFrame) -> Outcome:
        """Rows without a round around them."""
        return self._frames.put(rows) if rows.height else Outcome.ACCEPTED

    def get(self) -> Message | None:
        """Nobody reads messages here."""
        return None

    def drain(self) -> list[pl.DataFrame]:
        """All that wait."""
        frames = []
        while (rows := self._frames.get()) is not None:
            frames.append(rows)
        return frames

    def peek(self) -> list[pl.DataFrame]:
        """All that wait, which go on waiting."""
        return list(self._frames)
