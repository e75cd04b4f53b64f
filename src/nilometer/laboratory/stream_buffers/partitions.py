"""The partitions of STEAM's double buffer (steam.txt section 5.1, Fig. 5): runs of batches of a known size.

A partition is at most a quarter of its queue's memory. On disk it is one frame for each run of batches of one
schema; the stored heights restore the batches. A partition that came from disk counts in full until its last
batch is read, because its batches are slices of one frame, and the frame lives as long as any of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import groupby

import polars as pl

from nilometer.errors import ResourceError
from nilometer.laboratory.stream_buffers.spill_files import SpillFiles


@dataclass(frozen=True)
class Entry:
    """A batch in a queue, the stream it came from, and its bytes."""

    stream: str
    frame: pl.DataFrame
    bytes: int


def entries_of(stream: str, frame: pl.DataFrame, most: int) -> list[Entry]:
    """The batch as entries. A batch larger than `most` bytes is cut by rows into pieces of at most that size,
    each with memory of its own."""
    size = int(frame.estimated_size())
    if size <= most:
        return [Entry(stream, frame, size)]
    if frame.height <= 1:
        raise ResourceError(
            "a tuple is larger than a partition of its queue",
            detail=f"{size} bytes, where a partition holds {most}",
            hint="give the queue more memory: a partition is a quarter of it",
        )
    half = frame.height // 2
    return [
        entry
        for part in (pl.int_range(half, eager=True), pl.int_range(half, frame.height, eager=True))
        for entry in entries_of(stream, frame[part], most)
    ]


@dataclass
class Partition:
    """A run of batches in memory."""

    entries: deque[Entry] = field(default_factory=deque)
    bytes: int = 0
    whole: bool = False  # the entries share one frame, whose memory is freed with the last entry

    def append(self, entry: Entry) -> None:
        """Add at the tail."""
        self.entries.append(entry)
        self.bytes += entry.bytes

    def popleft(self) -> Entry:
        """Take from the head."""
        entry = self.entries.popleft()
        if not self.entries:
            self.bytes = 0
        elif not self.whole:
            self.bytes -= entry.bytes
        return entry

    def pop(self) -> Entry:
        """Take back from the tail."""
        entry = self.entries.pop()
        self.bytes -= entry.bytes
        return entry

    @property
    def rows(self) -> int:
        """The number of tuples in the partition."""
        return sum(entry.frame.height for entry in self.entries)


@dataclass(frozen=True)
class SpilledRun:
    """Consecutive batches of one stream and schema in one file."""

    number: int
    stream: str
    heights: tuple[int, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Swapped:
    """A partition on disk; `written` gives the bytes of its files."""

    runs: tuple[SpilledRun, ...]
    written: Future[int]

    @property
    def bytes(self) -> int:
        """The memory that the partition takes once it is read."""
        return sum(sum(run.sizes) for run in self.runs)

    def without_last(self) -> Swapped:
        """The partition without its last batch, whose rows stay at the end of the file and are never read."""
        *runs, last = self.runs
        if len(last.heights) > 1:
            runs.append(replace(last, heights=last.heights[:-1], sizes=last.sizes[:-1]))
        return Swapped(tuple(runs), self.written)


def runs_of(partition: Partition, numbers: Iterator[int]) -> list[tuple[SpilledRun, list[pl.DataFrame]]]:
    """Divide a partition into runs, one for each file."""
    runs = []
    for (stream, _), group in groupby(
        partition.entries, key=lambda entry: (entry.stream, tuple(entry.frame.schema.items()))
    ):
        found = list(group)
        heights = tuple(entry.frame.height for entry in found)
        sizes = tuple(entry.bytes for entry in found)
        runs.append((SpilledRun(next(numbers), stream, heights, sizes), [entry.frame for entry in found]))
    return runs


def write_runs(files: SpillFiles, runs: list[tuple[SpilledRun, list[pl.DataFrame]]]) -> int:
    """Write all of a partition or nothing."""
    done: list[int] = []
    total = 0
    try:
        for run, frames in runs:
            done.append(run.number)
            # Rechunking would copy the partition while memory is short.
            total += files.write(run.number, pl.concat(frames, rechunk=False))
    except BaseException:
        for number in done:
            files.remove(number)
        raise
    return total


def read_runs(files: SpillFiles, swapped: Swapped) -> Partition:
    """Read a partition from disk and remove its files."""
    swapped.written.result()
    partition = Partition(whole=True)
    for run in swapped.runs:
        frame = files.read(run.number)
        start = 0
        for height, size in zip(run.heights, run.sizes, strict=True):
            partition.append(Entry(run.stream, frame.slice(start, height), size))
            start += height
    for run in swapped.runs:
        files.remove(run.number)
    return partition
