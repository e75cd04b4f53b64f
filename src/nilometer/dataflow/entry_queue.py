"""A bounded queue of entries or answers, with a policy for when it is full (fjords.txt section 3.1.1).

The law: every row that is put comes out once and in order, or is counted as dropped. `get` never waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import polars as pl

from nilometer.dataflow.policy import Counts, Outcome, Policy
from nilometer.dataflow.sources import Batch, Heartbeat
from nilometer.errors import ConfigurationError

T = TypeVar("T")


@dataclass(frozen=True)
class StreamEnd:
    """The end of the stream: nothing more will come."""


END = StreamEnd()


class EntryQueue(Generic[T]):
    """A queue of at most `capacity` rows. `policy` says which rows are dropped when more come.

    An empty queue takes an item of any size. A queue with the policy BLOCK takes items until it is full,
    including the one that fills it.
    """

    def __init__(self, capacity: int, policy: Policy = Policy.BLOCK, *, keep_every: int = 10) -> None:
        if capacity < 1 or keep_every < 1:
            raise ConfigurationError("the capacity and keep_every of a queue must be at least 1")
        self.capacity = capacity
        self.policy = policy
        self.counts = Counts()
        self._keep_every = keep_every
        self._arrived_full = 0
        self._items: deque[T] = deque()
        self._rows = 0

    @property
    def room(self) -> bool:
        # An item without rows takes a place too; otherwise their number would have no bound.
        return self.policy is not Policy.BLOCK or max(self._rows, len(self._items)) < self.capacity

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def put(self, item: T) -> Outcome:
        rows = height(item)
        dropped = self.counts.dropped
        if rows and self._rows and self._rows + rows > self.capacity:
            match self.policy:
                case Policy.BLOCK if not self.room:
                    self.counts.refused += 1
                    return Outcome.FULL
                case Policy.DROP_NEWEST:
                    self.counts.put += rows
                    self.counts.dropped_newest += rows
                    return Outcome.DROPPED
                case Policy.SAMPLE:
                    item = self._sampled(item)
                    rows = height(item)
                    self._make_room(rows)
                case Policy.DROP_OLDEST:
                    self._make_room(rows)
        self.counts.put += rows
        self._rows += rows
        _append(self._items, item)
        return Outcome.ACCEPTED if self.counts.dropped == dropped else Outcome.DROPPED

    def get(self) -> T | None:
        if not self._items:
            return None
        item = self._items.popleft()
        self._rows -= height(item)
        self.counts.got += height(item)
        return item

    def put_back(self, item: T) -> None:
        """Put the rest of an item that was just got at the front again."""
        self._items.appendleft(item)
        self._rows += height(item)
        self.counts.got -= height(item)

    def _make_room(self, rows: int) -> None:
        """Drop the oldest rows. Heartbeats and ends hold no rows and stay."""
        kept: deque[T] = deque()
        while self._rows and self._rows + rows > self.capacity:
            item = self._items.popleft()
            if lost := height(item):
                self._rows -= lost
                self.counts.dropped_oldest += lost
            else:
                _append(kept, item)
        for item in self._items:
            _append(kept, item)
        self._items = kept

    def _sampled(self, item: T) -> T:
        """Keep every k-th of the rows that come while the queue is full. The batches do not affect which rows
        are kept."""
        rows = height(item)
        first = -self._arrived_full % self._keep_every
        self._arrived_full += rows
        kept = thinned(item, first, self._keep_every)
        self.counts.put += rows - height(kept)
        self.counts.sampled_out += rows - height(kept)
        return kept


def height(item: object) -> int:
    """The number of rows in an item."""
    match item:
        case Batch(rows=rows):
            return rows.height
        case pl.DataFrame():
            return item.height
        case _:
            return 0


def _append(items: deque[T], item: T) -> None:
    """Append an item. Of several heartbeats in a row only the last is kept, so that they do not fill a queue
    that nobody reads."""
    last = items[-1] if items else None
    if isinstance(item, Heartbeat) and isinstance(last, Heartbeat):
        if item.tick > last.tick:
            items[-1] = item
    else:
        items.append(item)


def thinned(item: T, first: int, step: int) -> T:
    """Every `step`-th row of an item, from the row `first` on."""
    rows = height(item)
    # An index array, not a stepped slice: a slice would keep the memory of the dropped rows.
    places = pl.int_range(first, max(first, rows), step, eager=True)
    match item:
        case Batch():
            return replace(item, rows=item.rows[places])
        case pl.DataFrame():
            return item[places]  # type: ignore[return-value]
        case _:
            return item
