"""STEAM's StreamsQueue: batches in, the same batches out in the same order, in bounded memory (steam.txt
section 5.1).

While everything fits, everything is in memory. On overflow the tail goes to disk through the four partitions
of `double_buffer.py`. Once these have been read to the end, everything is in memory again. Nothing is ever
lost. If the disk is full, `put` raises ResourceError, and the batches accepted before stay readable. With a
policy the disk is never touched.

The laws: the order is kept. Memory never exceeds `bound` bytes (Polars' `estimated_size`, without the few
words per batch of the index). `counts` balance. Without a policy a batch larger than a partition, a quarter
of the bound, comes out in pieces; with one a batch larger than the bound does. One thread puts and gets; an
executor, if given, only does the reading and writing.

>>> queue = SpillQueue(bound=1_000)
>>> queue.put(pl.DataFrame({"x": [1, 2, 3]}))
<Outcome.ACCEPTED: 'accepted'>
>>> queue.get().frame["x"].to_list(), queue.get()
([1, 2, 3], None)
"""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Self

import polars as pl

from nilometer.dataflow.policy import Outcome, Policy
from nilometer.errors import ConfigurationError, ResourceError
from nilometer.laboratory.stream_buffers.double_buffer import DoubleBuffer
from nilometer.laboratory.stream_buffers.partitions import Entry, Partition, entries_of
from nilometer.laboratory.stream_buffers.spill_counts import SpillCounts
from nilometer.laboratory.stream_buffers.spill_files import Inline, IpcFiles, SpillFiles


class SpillQueue:
    """A queue of batches in at most `bound` bytes of memory; what does not fit goes to disk, or is treated
    by `policy`. `keep_every` is the k of `Policy.SAMPLE`."""

    def __init__(
        self,
        bound: int,
        policy: Policy | None = None,
        *,
        keep_every: int = 10,
        files: SpillFiles | None = None,
        executor: Executor | None = None,
    ) -> None:
        if bound < 4 or keep_every < 1:
            raise ConfigurationError("a queue needs some memory, and to keep at least every k-th tuple")
        self.bound = bound
        self.policy = policy
        self.counts = SpillCounts()
        self._partition = bound // 4
        self._most = self._partition if policy is None else bound
        self._keep_every = keep_every
        self._arrived_full = 0
        self._files = files if files is not None else IpcFiles()
        self._executor = executor if executor is not None else Inline()
        self._resident = Partition()
        self._divided: DoubleBuffer | None = None

    # ---- what the queue holds ----------------------------------------------------------------------------------------

    @property
    def divided(self) -> bool:
        """Whether the memory is divided into the four partitions."""
        return self._divided is not None

    @property
    def memory_bytes(self) -> int:
        """The bytes held in memory now."""
        return self._resident.bytes if self._divided is None else self._divided.memory_bytes

    @property
    def disk_bytes(self) -> int:
        """The bytes of the files that wait to be read."""
        return 0 if self._divided is None else self._divided.disk_bytes

    @property
    def batches(self) -> int:
        """The batches that wait, in memory or on disk."""
        return len(self._resident.entries) if self._divided is None else self._divided.batches

    def __len__(self) -> int:
        """The rows that wait."""
        return self.counts.waiting

    def fits(self, frame: pl.DataFrame) -> bool:
        """Whether a batch would be accepted completely and at once, without loss."""
        return self._fit(entries_of("", frame, self._most))

    def _fit(self, entries: list[Entry]) -> bool:
        return self.policy is None or self.memory_bytes + _size(entries) <= self.bound

    # ---- in ----------------------------------------------------------------------------------------------------------

    def put(self, frame: pl.DataFrame, stream: str = "") -> Outcome:
        """Add a batch at the tail. FULL (with `Policy.BLOCK`): nothing was added; the caller waits."""
        entries = entries_of(stream, frame, self._most)
        if self.policy is None:
            self._put_all(entries)
            return Outcome.ACCEPTED
        if self.policy is Policy.BLOCK and not self._fit(entries):
            self.counts.refused += 1
            if not len(self):
                raise ResourceError("a batch is larger than its queue", hint="give the queue more memory")
            return Outcome.FULL
        if self.policy is Policy.SAMPLE and not self._fit(entries):
            return self._put_sample(frame, stream)
        return self._put_in_memory(entries)

    def _put_all(self, entries: list[Entry]) -> None:
        """Add all pieces of a batch or, if the disk is full, none."""
        if self._divided is None and self._resident.bytes + _size(entries) <= self.bound:
            for entry in entries:
                self._resident.append(entry)
        else:
            try:
                if self._divided is None:
                    divided = DoubleBuffer(self._partition, self._files, self._executor, self.counts)
                    divided.divide(self._resident.entries)
                    self._divided, self._resident = divided, Partition()
                self._divided.put(entries)
            except OSError as error:
                self.counts.refused += 1
                raise ResourceError(
                    "a queue is full and its disk takes no more",
                    detail=str(error),
                    hint="what was accepted can still be read; offer the batch again when there is room",
                ) from error
        self.counts.put += sum(entry.frame.height for entry in entries)

    def _put_in_memory(self, entries: list[Entry]) -> Outcome:
        before = self.counts.dropped
        for entry in entries:
            self.counts.put += entry.frame.height
            if self._resident.bytes + entry.bytes > self.bound and self.policy is Policy.DROP_NEWEST:
                self.counts.dropped_newest += entry.frame.height
                continue
            while self._resident.bytes + entry.bytes > self.bound:
                self.counts.dropped_oldest += self._resident.popleft().frame.height
            self._resident.append(entry)
        return Outcome.DROPPED if self.counts.dropped > before else Outcome.ACCEPTED

    def _put_sample(self, frame: pl.DataFrame, stream: str) -> Outcome:
        """Keep every k-th tuple that comes while the queue is full. The oldest tuples make room for it."""
        first = -self._arrived_full % self._keep_every
        self._arrived_full += frame.height
        # A fancy index copies, unlike a stepped slice, so the rows kept do not hold the memory of the rows
        # dropped.
        kept = frame[pl.int_range(first, max(first, frame.height), self._keep_every, eager=True)]
        self.counts.put += frame.height - kept.height
        self.counts.sampled_out += frame.height - kept.height
        self._put_in_memory(entries_of(stream, kept, self._most) if kept.height else [])
        return Outcome.DROPPED

    # ---- out ---------------------------------------------------------------------------------------------------------

    def get(self) -> Entry | None:
        """The batch at the head; None when there is none."""
        entry = None
        if self._divided is not None:
            entry = self._divided.get()
            if entry is None:  # nothing is left on disk: the rest fits in memory
                self._resident, self._divided = self._divided.rest(), None
        if entry is None and self._resident.entries:
            entry = self._resident.popleft()
        if entry is not None:
            self.counts.got += entry.frame.height
        return entry

    def close(self) -> None:
        """Remove the files, and drop the rows that wait (they stay in `counts.waiting`)."""
        if self._divided is not None:
            self._divided.finish()
        self._files.close()
        self._resident, self._divided = Partition(), None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _size(entries: list[Entry]) -> int:
    return sum(entry.bytes for entry in entries)
