"""A bounded queue of entries or answers, with a policy for when it is full (fjords.txt section 3.1.1).

The law: what is put comes out once and in order, or is counted as dropped. `get` never waits.
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
    """The stream has ended: nothing more will come."""


END = StreamEnd()


class EntryQueue(Generic[T]):
    """At most `capacity` rows; `policy` says what gives way when there are more. An empty queue takes anything, and one that
    blocks takes the item with which it becomes full."""

    def __init__(self, capacity: int, policy: Policy = Policy.BLOCK, *, keep_every: int = 10) -> None:
        if policy is Policy.SPILL:
            raise ConfigurationError(
                "a queue in front of a dataflow does not spill",
                hint="drop, sample or block: what the log has can be read again",
            )
        if capacity < 1 or keep_every < 1:
            raise ConfigurationError("a queue needs room for a row, and to keep at least every k-th")
        self.capacity = capacity
        self.policy = policy
        self.counts = Counts()
        self._keep_every = keep_every
        self._arrived_full = 0
        self._items: deque[T] = deque()
        self._rows = 0

    @property
    def room(self) -> bool:
        # An empty message takes a place too, or there would be no end of them.
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

    def _make_room(self, rows: int) -> None:
        """Drop the oldest; promises and ends hold no rows and stay."""
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
        """Of the rows that come while the queue is full every k-th; which ones does not depend on the batches."""
        rows = height(item)
        first = -self._arrived_full % self._keep_every
        self._arrived_full += rows
        kept = thinned(item, first, self._keep_every)
        self.counts.put += rows - height(kept)
        self.counts.sampled_out += rows - height(kept)
        return kept


def height(item: object) -> int:
    """The rows that an item carries."""
    match item:
        case Batch(rows=rows):
            return rows.height
        case pl.DataFrame():
            return item.height
        case _:
            return 0


def _append(items: deque[T], item: T) -> None:
    """Of promises in a row the last is enough: they must not fill a queue that nobody reads."""
    last = items[-1] if items else None
    if isinstance(item, Heartbeat) and isinstance(last, Heartbeat):
        if item.tick > last.tick:
            items[-1] = item
    else:
        items.append(item)


def thinned(item: T, first: int, step: int) -> T:
    """Every `step`-th row of it, from `first` on."""
    rows = height(item)
    # A fancy index, not a stepped slice: the rows kept must not hold the memory of those that are not.
    places = pl.int_range(first, max(first, rows), step, eager=True)
    match item:
        case Batch():
            return replace(item, rows=item.rows[places])
        case pl.DataFrame():
            return item[places]  # type: ignore[return-value]
        case _:
            return item
