"""One interface for the two schemes of steam.txt section 5.2: streams in, each query's tuples out.

The law for both: a query gets every batch that is put into its streams after it subscribed, once, in the
order of the puts. A batch larger than the scheme's pieces comes in several pieces. No query affects what
another query gets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from nilometer.dataflow.policy import Outcome

REFERENCE_BYTES = 96
"""The bytes of a place in a queue, without the batch: a tuple (stream, identifier) and its slot in a
deque."""


@dataclass(frozen=True)
class Memory:
    """The contents of the buffers: batches, places in queues, and bytes in memory and on disk."""

    batches: int
    places: int
    batch_bytes: int
    disk_bytes: int = 0

    @property
    def bytes(self) -> int:
        """All bytes in memory."""
        return self.batch_bytes + self.places * REFERENCE_BYTES


class StreamBuffers(Protocol):
    """Buffers between streams and queries."""

    def subscribe(self, query: str, streams: Iterable[str]) -> None:
        """Pass every batch that is put into these streams from now on to the query."""

    def unsubscribe(self, query: str) -> None:
        """Remove the query and the batches that wait for it."""

    def put(self, stream: str, batch: pl.DataFrame) -> Outcome:
        """Pass a batch to every query of the stream. FULL: no query got it; offer it again later."""

    def get(self, query: str) -> tuple[str, pl.DataFrame] | None:
        """The query's next batch and its stream; None when the query has read all."""

    def memory(self) -> Memory:
        """The memory and disk space in use now."""
