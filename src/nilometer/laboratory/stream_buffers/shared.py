"""The second scheme of steam.txt section 5.2: one StreamBuffer per stream holds each batch once, and the
queues hold references.

Each batch counts the queues that still have to read it, and is removed when the count reaches zero. The
memory is additive, Q queues of references and S buffers of tuples, at the price of a second access per batch.
With a `bound`, batches that do not fit in memory go to disk, one file each, and every query that needs one
reads it back. The queues move at their own pace, so there is no common head to prefetch for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count

import polars as pl

from nilometer.dataflow.policy import Outcome, Policy
from nilometer.errors import ConfigurationError, ResourceError
from nilometer.laboratory.stream_buffers.spill_files import IpcFiles, SpillFiles
from nilometer.laboratory.stream_buffers.stream_buffers import Memory


@dataclass
class _Held:
    """A batch that is held once: in memory, or on disk (None in memory). `readers` is STEAM's count."""

    frame: pl.DataFrame | None
    bytes: int
    disk_bytes: int
    readers: int


@dataclass
class StreamBuffer:
    """The batches of one stream by their identifiers, and the queues that get references to new ones."""

    held: dict[int, _Held] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)


class SharedBuffers:
    """Holds each batch once. `bound`: the bytes of all streams together. Beyond it the buffers spill to disk, or BLOCK."""

    def __init__(
        self, bound: int | None = None, policy: Policy | None = None, files: SpillFiles | None = None
    ) -> None:
        if policy not in (None, Policy.BLOCK):
            raise ConfigurationError(
                f"a shared buffer cannot {policy}: what it drops, all its queries lose",
                hint="spill or block; or give each query a queue of its own",
            )
        self.bound = bound
        self.policy = policy
        self.refused = 0
        self._files = files if files is not None else IpcFiles()
        self._identifiers = count()
        self._streams: dict[str, StreamBuffer] = {}
        self._queues: dict[str, deque[tuple[str, int]]] = {}
        self._bytes = 0

    def subscribe(self, query: str, streams: Iterable[str]) -> None:
        """Pass every batch that is put into these streams from now on to the query."""
        if query in self._queues:
            raise ConfigurationError(f"query '{query}' has subscribed already")
        self._queues[query] = deque()
        for stream in dict.fromkeys(streams):
            self._streams.setdefault(stream, StreamBuffer()).queries.append(query)

    def unsubscribe(self, query: str) -> None:
        """Remove the query and its references."""
        for stream, identifier in self._of(query):
            self._release(stream, identifier)
        del self._queues[query]
        for stream, buffer in list(self._streams.items()):
            buffer.queries = [other for other in buffer.queries if other != query]
            if not buffer.queries:  # no query refers to it any more
                del self._streams[stream]

    def put(self, stream: str, batch: pl.DataFrame) -> Outcome:
        """Keep the batch once, and give a reference to every query of the stream."""
        buffer = self._streams.get(stream)
        if buffer is None:
            return Outcome.ACCEPTED
        size, written = int(batch.estimated_size()), 0
        identifier = next(self._identifiers)
        fits = self.bound is None or self._bytes + size <= self.bound
        if not fits:
            if self.policy is Policy.BLOCK:
                self.refused += 1
                return Outcome.FULL
            try:
                written = self._files.write(identifier, batch)
            except OSError as error:
                raise ResourceError(
                    "a buffer is full and its disk takes no more", detail=str(error)
                ) from error
        else:
            self._bytes += size
        buffer.held[identifier] = _Held(batch if fits else None, size, written, len(buffer.queries))
        for query in buffer.queries:
            self._queues[query].append((stream, identifier))
        return Outcome.ACCEPTED

    def get(self, query: str) -> tuple[str, pl.DataFrame] | None:
        """The query's next batch and its stream; None when the query has read all."""
        queue = self._of(query)
        if not queue:
            return None
        stream, identifier = queue[0]
        frame = self._streams[stream].held[identifier].frame
        if frame is None:
            try:
                frame = self._files.read(identifier)
            except OSError as error:
                raise ResourceError("a spilled batch cannot be read back", detail=str(error)) from error
        queue.popleft()
        self._release(stream, identifier)
        return stream, frame

    def _release(self, stream: str, identifier: int) -> None:
        held = self._streams[stream].held
        batch = held[identifier]
        batch.readers -= 1
        if batch.readers:
            return
        del held[identifier]
        if batch.frame is None:
            self._files.remove(identifier)
        else:
            self._bytes -= batch.bytes

    def memory(self) -> Memory:
        """The memory and disk space in use now."""
        batches = [batch for buffer in self._streams.values() for batch in buffer.held.values()]
        places = sum(map(len, self._queues.values()))
        return Memory(len(batches), places, self._bytes, sum(batch.disk_bytes for batch in batches))

    def readers(self) -> int:
        """The sum of the counts of all batches. It equals the number of places in all queues."""
        return sum(b.readers for buffer in self._streams.values() for b in buffer.held.values())

    def close(self) -> None:
        """Drop everything, and remove the files."""
        self._files.close()
        self._streams.clear()
        self._queues.clear()
        self._bytes = 0

    def _of(self, query: str) -> deque[tuple[str, int]]:
        if query not in self._queues:
            raise ConfigurationError(f"no query '{query}' has subscribed")
        return self._queues[query]
