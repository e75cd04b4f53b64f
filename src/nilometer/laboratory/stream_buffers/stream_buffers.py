"""One interface for the two schemes of steam.txt section 5.2: streams in, each query's tuples out.

The law, for both: a query gets every batch put into its streams after it subscribed, in the order of the puts, once; a
batch larger than the scheme's pieces comes as several. What one query does never changes what another one gets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from nilometer.dataflow.policy import Outcome

REFERENCE_BYTES = 96
"""What a place in a queue costs besides the batch: a small tuple (stream, identifier) and its slot in a deque."""


@dataclass(frozen=True)
class Memory:
    """What the buffers hold: batches with tuples in them, places in queues, and bytes in memory and on disk."""

    batches: int
    places: int
    batch_bytes: int
    disk_bytes: int = 0

    @property
    def bytes(self) -> int:
        """All bytes in memory."""
        return self.batch_bytes + self.places * REFERENCE_BYTES


class StreamBuffers(Protocol):
    """Streams on one side, queries on the other."""

    def subscribe(self, query: str, streams: Iterable[str]) -> None:
        """From now on the query gets what is put into these streams."""

    def unsubscribe(self, query: str) -> None:
        """The query gets nothing more, and what waited for it is forgotten."""

    def put(self, stream: str, batch: pl.DataFrame) -> Outcome:
        """Hand a batch to every query of the stream; FULL: to none of them, offer it again later."""

    def get(self, query: str) -> tuple[str, pl.DataFrame] | None:
        """The query's next batch and the stream it is from; None when it has seen all."""

    def memory(self) -> Memory:
        """What is held now."""
