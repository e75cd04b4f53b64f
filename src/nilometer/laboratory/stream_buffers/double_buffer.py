"""The four partitions of an overflowed queue (steam.txt section 5.1, Fig. 5). They keep the order, and memory
holds at most four partitions.

    get ◄── out │ out ◄── prefetched ── files ◄── swapped ── in │ in ◄── put

The reader empties one `out` partition while the next is fetched. The writer fills one `in` partition while
the other, sealed, is written to disk. A partition that cannot be written stays in memory, where it can be
read, and is tried again before the next one is sealed. A partition that cannot be read stays on disk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future
from itertools import count

from nilometer.errors import ResourceError
from nilometer.laboratory.stream_buffers.partitions import (
    Entry,
    Partition,
    Swapped,
    read_runs,
    runs_of,
    write_runs,
)
from nilometer.laboratory.stream_buffers.spill_counts import SpillCounts
from nilometer.laboratory.stream_buffers.spill_files import SpillFiles

Fetching = tuple[Swapped, Future[Partition]]


class DoubleBuffer:
    """Takes and gives entries of at most `partition` bytes. Counts in `counts` what it writes to disk."""

    def __init__(self, partition: int, files: SpillFiles, executor: Executor, counts: SpillCounts) -> None:
        self._partition = partition
        self._files = files
        self._executor = executor
        self._counts = counts
        self._numbers = count()
        self._out: deque[Partition | Fetching] = deque()
        self._disk: deque[Swapped] = deque()
        self._sealed: tuple[Partition, Swapped] | None = None
        self._filling = Partition()

    # ---- what it holds -----------------------------------------------------------------------------------------------

    @property
    def memory_bytes(self) -> int:
        """The bytes in memory. Partitions on their way to or from the disk count in full."""
        out = sum(o.bytes if isinstance(o, Partition) else o[0].bytes for o in self._out)
        return out + (self._sealed[0].bytes if self._sealed else 0) + self._filling.bytes

    @property
    def disk_bytes(self) -> int:
        """The bytes of the files that wait to be read."""
        return sum(swapped.written.result() for swapped in self._away())

    @property
    def batches(self) -> int:
        """The batches in memory and on disk."""
        parts = [self._filling, *(o for o in self._out if isinstance(o, Partition))]
        parts += [self._sealed[0]] if self._sealed else []
        return sum(len(p.entries) for p in parts) + sum(len(r.heights) for s in self._away() for r in s.runs)

    def _away(self) -> list[Swapped]:
        return [*(o[0] for o in self._out if not isinstance(o, Partition)), *self._disk]

    # ---- in ----------------------------------------------------------------------------------------------------------

    def divide(self, entries: Iterable[Entry]) -> None:
        """Divide the entries of a queue that overflowed. The head becomes the `out` partitions, the tail
        becomes the partition being filled, and the middle goes to disk.

        Raises OSError, and then the buffer is empty.
        """
        parts = list(_packed(entries, self._partition))
        out, middle = parts[:2], parts[2:]
        filling = middle.pop() if middle else Partition()
        swapped: list[Swapped] = []
        try:
            for part in middle:
                swapped.append(self._swap(part))
                swapped[-1].written.result()
        except OSError:
            for done in swapped:
                self._remove(done)
            raise
        for part, done in zip(middle, swapped, strict=True):
            self._note(part, done)
        self._out.extend(out)
        self._disk.extend(swapped)
        self._filling = filling

    def put(self, entries: Iterable[Entry]) -> None:
        """Add all entries at the tail. Raises OSError, and then none is added."""
        taken = 0
        try:
            for entry in entries:
                if self._filling.bytes + entry.bytes > self._partition:
                    self._seal()
                self._filling.append(entry)
                taken += 1
        except OSError:
            self._take_back(taken)
            raise
        self._prefetch()

    def _seal(self) -> None:
        self._settle()
        self._sealed = (self._filling, self._swap(self._filling))
        self._filling = Partition()
        written = self._sealed[1].written
        if written.done() and written.exception() is None:
            self._settle()

    def _settle(self) -> None:
        """Wait until the sealed partition is on disk. Retries a failed write once; then raises OSError."""
        if self._sealed is None:
            return
        part, swapped = self._sealed
        if isinstance(swapped.written.exception(), OSError):
            swapped = self._swap(part)
            self._sealed = (part, swapped)
        swapped.written.result()
        self._note(part, swapped)
        self._disk.append(swapped)
        self._sealed = None

    def _take_back(self, taken: int) -> None:
        """Remove the last `taken` entries: first from the partition being filled, then from the sealed one,
        then from disk."""
        for _ in range(taken):
            if self._filling.entries:
                self._filling.pop()
            elif self._sealed is not None:
                self._sealed[0].pop()
                if not self._sealed[0].entries:
                    self._sealed = None
            else:
                swapped = self._disk.pop()
                self._counts.spilled -= swapped.runs[-1].heights[-1]
                shorter = swapped.without_last()
                if shorter.runs:
                    self._disk.append(shorter)
                if len(shorter.runs) < len(swapped.runs):
                    self._files.remove(swapped.runs[-1].number)

    # ---- out ---------------------------------------------------------------------------------------------------------

    def get(self) -> Entry | None:
        """The entry at the head; None if nothing is left outside the partition being filled."""
        self._prefetch()
        if not self._out and self._sealed is not None:
            self._out.append(self._unsealed(*self._sealed))
        if not self._out:
            return None
        first = self._out[0]
        part = first if isinstance(first, Partition) else self._fetched(first)
        entry = part.popleft()
        if not part.entries:
            self._out.popleft()
            self._prefetch()
        return entry

    def rest(self) -> Partition:
        """Take the partition being filled, which `get` does not read. The buffer is empty afterwards."""
        rest, self._filling = self._filling, Partition()
        return rest

    def _prefetch(self) -> None:
        """Keep both `out` partitions full or being fetched, as long as there are partitions on disk."""
        while self._disk and len(self._out) < 2:
            swapped = self._disk.popleft()
            self._out.append((swapped, self._fetch(swapped)))

    def _fetch(self, swapped: Swapped) -> Future[Partition]:
        return self._executor.submit(read_runs, self._files, swapped)

    def _fetched(self, fetching: Fetching) -> Partition:
        swapped, future = fetching
        if isinstance(
            future.exception(), OSError
        ):  # the partition is still on disk, and the error may have been transient
            future = self._fetch(swapped)
        try:
            part = future.result()
        except OSError as error:
            raise ResourceError("a spilled batch cannot be read back", detail=str(error)) from error
        self._out[0] = part
        return part

    def _unsealed(self, part: Partition, swapped: Swapped) -> Partition:
        """Take the sealed partition from memory and remove its file: everything before it has been read."""
        self._sealed = None
        if swapped.written.exception() is None:
            self._note(part, swapped)
            self._remove(swapped)
        return part

    # ---- disk --------------------------------------------------------------------------------------------------------

    def _swap(self, part: Partition) -> Swapped:
        runs = runs_of(part, self._numbers)
        written = self._executor.submit(write_runs, self._files, runs)
        return Swapped(tuple(run for run, _ in runs), written)

    def _note(self, part: Partition, swapped: Swapped) -> None:
        self._counts.spilled += part.rows
        self._counts.spilled_bytes += swapped.written.result()

    def _remove(self, swapped: Swapped) -> None:
        for run in swapped.runs:
            self._files.remove(run.number)

    def finish(self) -> None:
        """Wait for the reads and writes that are under way."""
        for item in self._out:
            if not isinstance(item, Partition):
                item[1].exception()
        if self._sealed is not None:
            self._sealed[1].written.exception()


def _packed(entries: Iterable[Entry], most: int) -> Iterator[Partition]:
    """The entries in order, in partitions of at most `most` bytes."""
    part = Partition()
    for entry in entries:
        if part.entries and part.bytes + entry.bytes > most:
            yield part
            part = Partition()
        part.append(entry)
    if part.entries:
        yield part
