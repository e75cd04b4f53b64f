"""The first scheme of steam.txt section 5.2: a stream has a list of queues, and each queue gets its own copy
of every batch.

A tuple needs one access, and a queue that overflows spills alone. But S shared streams read by Q queries take
Q*S buffers. The copies are real. Frames that share memory would make this the second scheme, with Python's
reference count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import polars as pl

from nilometer.dataflow.policy import Outcome, Policy
from nilometer.errors import ConfigurationError
from nilometer.laboratory.stream_buffers.spill_queue import SpillQueue
from nilometer.laboratory.stream_buffers.stream_buffers import Memory

UNBOUNDED = 1 << 62


class CopiedBuffers:
    """A queue of batches for every query. `queue` makes a queue, by default without a bound."""

    def __init__(self, queue: Callable[[], SpillQueue] | None = None) -> None:
        self._queue = queue if queue is not None else lambda: SpillQueue(UNBOUNDED)
        self._queues: dict[str, SpillQueue] = {}
        self._lists: dict[str, list[str]] = {}

    def subscribe(self, query: str, streams: Iterable[str]) -> None:
        """Pass every batch that is put into these streams from now on to the query."""
        if query in self._queues:
            raise ConfigurationError(f"query '{query}' has subscribed already")
        self._queues[query] = self._queue()
        for stream in dict.fromkeys(streams):
            self._lists.setdefault(stream, []).append(query)

    def unsubscribe(self, query: str) -> None:
        """Remove the query and the batches that wait for it."""
        self._of(query).close()
        del self._queues[query]
        self._lists = {
            stream: kept
            for stream, found in self._lists.items()
            if (kept := [q for q in found if q != query])
        }

    def put(self, stream: str, batch: pl.DataFrame) -> Outcome:
        """Pass a copy to every query of the stream. FULL: no query got it; offer the batch again later."""
        queues = [self._queues[query] for query in self._lists.get(stream, ())]
        full = [queue for queue in queues if queue.policy is Policy.BLOCK and not queue.fits(batch)]
        if full:
            return full[0].put(batch, stream)  # the queue counts it, and raises if it can never fit
        outcomes = {
            queue.put(batch if not place else _copy(batch), stream) for place, queue in enumerate(queues)
        }
        return Outcome.DROPPED if Outcome.DROPPED in outcomes else Outcome.ACCEPTED

    def get(self, query: str) -> tuple[str, pl.DataFrame] | None:
        """The query's next batch and its stream; None when the query has read all."""
        entry = self._of(query).get()
        return None if entry is None else (entry.stream, entry.frame)

    def memory(self) -> Memory:
        """The memory and disk space in use now."""
        queues = self._queues.values()
        places = sum(queue.batches for queue in queues)
        return Memory(
            places, places, sum(q.memory_bytes for q in queues), sum(queue.disk_bytes for queue in queues)
        )

    def queue(self, query: str) -> SpillQueue:
        """The query's own queue, for its books."""
        return self._of(query)

    def _of(self, query: str) -> SpillQueue:
        if query not in self._queues:
            raise ConfigurationError(f"no query '{query}' has subscribed")
        return self._queues[query]


def _copy(batch: pl.DataFrame) -> pl.DataFrame:
    """Copy the rows into memory of their own. A clone would share the memory."""
    return batch[pl.int_range(batch.height, eager=True)] if batch.height else batch
