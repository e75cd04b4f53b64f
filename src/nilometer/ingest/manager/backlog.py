"""A bounded queue of results that were read and could not be appended yet.

With BLOCK nothing is shed: `full` tells the source to stop reading. The other policies shed readings and
count them: the oldest, the newest, or all but every k-th of the new rows. The law: put = got + shed +
waiting, in readings.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

import polars as pl

from nilometer.dataflow.policy import Policy
from nilometer.ingest.adapters.adapter import ReadResult

_LETTER_BYTES = 200


@dataclass(frozen=True)
class Waiting:
    """A result that waits. `end`: how far its source has been read after it."""

    result: ReadResult
    end: int | None
    bytes: int


@dataclass(frozen=True)
class Shed:
    """The number of readings that were shed, and the handles of the results that were shed completely."""

    readings: int = 0
    handles: tuple[object, ...] = ()


class Backlog:
    """A queue of about `bound` bytes of results. An empty queue takes a result of any size."""

    def __init__(self, bound: int, policy: Policy = Policy.BLOCK, keep_every: int = 10) -> None:
        self.bound = bound
        self.policy = policy
        self.bytes = 0
        self._keep_every = keep_every
        self._sampled = 0
        self._waiting: deque[Waiting] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def readings(self) -> int:
        """The number of readings that wait."""
        return sum(waiting.result.received for waiting in self._waiting)

    @property
    def full(self) -> bool:
        """Whether the source must stop reading."""
        return self.bytes >= self.bound and self.policy is Policy.BLOCK

    @property
    def head(self) -> Waiting | None:
        """The result to append next."""
        return self._waiting[0] if self._waiting else None

    def pop(self) -> Waiting:
        """Remove the head, which has been appended."""
        waiting = self._waiting.popleft()
        self.bytes -= waiting.bytes
        return waiting

    def put(self, result: ReadResult) -> Shed:
        """Add a result at the tail. Returns the readings that were shed for it."""
        end = None if result.sequence is None else result.sequence + result.received
        size = _size(result)
        if self._fits(size) or self.policy is Policy.BLOCK:
            self._append(Waiting(result, end, size))
            return Shed()
        if self.policy is Policy.DROP_NEWEST:
            return Shed(result.received, (result.handle,))
        readings = 0
        if self.policy is Policy.SAMPLE:
            before = result.received
            first = -self._sampled % self._keep_every
            self._sampled += result.rows.height
            # A fancy index copies, so the rows kept do not hold the memory of the rows dropped.
            kept = result.rows[
                pl.int_range(first, max(first, result.rows.height), self._keep_every, eager=True)
            ]
            result = replace(result, rows=kept, garbled=())
            readings, size = before - result.received, _size(result)
        handles: list[object] = []
        while not self._fits(size):
            oldest = self.pop()
            readings += oldest.result.received
            handles.append(oldest.result.handle)
        self._append(Waiting(result, end, size))
        return Shed(readings, tuple(handles))

    def _fits(self, size: int) -> bool:
        return not self._waiting or self.bytes + size <= self.bound

    def _append(self, waiting: Waiting) -> None:
        self._waiting.append(waiting)
        self.bytes += waiting.bytes


def _size(result: ReadResult) -> int:
    letters = sum(len(letter.payload) + _LETTER_BYTES for letter in result.garbled)
    summaries = 0 if result.summaries is None else int(result.summaries.estimated_size())
    return int(result.rows.estimated_size()) + letters + summaries
