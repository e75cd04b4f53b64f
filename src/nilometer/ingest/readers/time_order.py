"""Sorts the rows of files by time, in memory up to a bound and on disk beyond it (external merge sort).

Rows that are already in order stay as they are: checking costs a look at the times. Otherwise up to `limit`
bytes of rows are sorted in memory. More rows are sorted in runs of that size, which are written to disk,
merged, and mapped back into memory, so that their pages need not stay there.

The law: the result is the stable sort by time, however the rows are cut into frames and whatever the bound.
Every row has a time.

>>> order = TimeOrder("time")
>>> order.add(pl.DataFrame({"time": [2, 1]}))
>>> [frame["time"].to_list() for frame in order.finish()], order.displaced
([[1, 2]], 1)
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import polars as pl
import pyarrow as pa

from nilometer.errors import ResourceError
from nilometer.memory import budget

IN_MEMORY: int | None = None
"""The bytes of rows that are sorted in memory at once; None: the part that the process has for it."""

WRITTEN = 1 << 17
"""The rows of a record batch of a run."""


class TimeOrder:
    """Takes frames in the order of their files with `add`, and gives them sorted by time with `finish`.

    `displaced` is then the number of rows that came after a row with a later time. The frames may be mapped
    from files, which are gone from the directory already: they last as long as a frame is mapped from them.
    """

    def __init__(self, time: str, limit: int | None = None) -> None:
        self.displaced = 0
        self._time = time
        given = IN_MEMORY if limit is None else limit
        self._limit = budget().sorting if given is None else given
        self._pending: list[pl.DataFrame] = []
        self._bytes = 0
        self._latest: int | None = None
        self._runs: list[pl.DataFrame] = []

    def add(self, frame: pl.DataFrame) -> None:
        """Take the next frame."""
        size = int(frame.estimated_size())
        if self._pending and self._bytes + size > self._limit:
            self._flush()
        self._pending.append(frame)
        self._bytes += size
        self._note(frame.get_column(self._time))

    def finish(self) -> list[pl.DataFrame]:
        """All rows, in order."""
        if not self._runs and not self.displaced:
            return self._pending
        if not self._runs and self._bytes <= self._limit:
            return [self._sorted(self._pending)]
        self._flush()
        if not self.displaced:
            return self._runs
        block = max(1, sum(run.height for run in self._runs) // len(self._runs) ** 2)
        return [self._written(merged(self._runs, self._time, block))]

    def _note(self, times: pl.Series) -> None:
        """Count the rows that come after a later one."""
        if not times.len():
            return
        latest = self._latest
        if (latest is None or int(times[0]) >= latest) and times.is_sorted():
            self._latest = int(times[-1])
            return
        self._latest = max(int(times.max()), latest if latest is not None else int(times[0]))  # type: ignore[arg-type]
        before = times.cum_max().shift(1).fill_null(times[0])
        if latest is not None:
            before = before.clip(lower_bound=latest)
        self.displaced += int((times < before).sum())

    def _flush(self) -> None:
        """Write what is pending as sorted runs."""
        pending, self._pending = self._pending, []
        rows = sum(frame.height for frame in pending)
        if not rows:
            return
        parts = -(-self._bytes // max(1, self._limit))
        self._bytes = 0
        whole = pl.concat(pending)
        height = max(1, -(-rows // parts))
        for start in range(0, rows, height):
            self._runs.append(self._written(iter([self._sorted([whole[start : start + height]])])))

    def _sorted(self, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
        whole = pl.concat(frames)
        times = whole.get_column(self._time)
        return whole if times.is_sorted() else whole.sort(self._time, maintain_order=True)

    def _written(self, frames: Iterator[pl.DataFrame]) -> pl.DataFrame:
        """The frames in a file, mapped into memory. Its name is removed at once."""
        with tempfile.NamedTemporaryFile(prefix="nilometer-sort-") as file:
            try:
                first = next(frames)
                with pa.ipc.new_file(file.name, first.to_arrow().schema) as writer:
                    for frame in chain((first,), frames):
                        for start in range(0, frame.height, WRITTEN):
                            writer.write_table(frame[start : start + WRITTEN].rechunk().to_arrow())
            except OSError as error:
                raise ResourceError(
                    "rows that are out of order cannot be sorted on disk",
                    detail=f"'{Path(file.name).parent}': {error.strerror or error}",
                    hint="make room there, set TMPDIR to another disk, or sort the files by time",
                ) from None
            mapped = pa.ipc.open_file(pa.memory_map(file.name)).read_all()
        return pl.DataFrame(pl.from_arrow(mapped, rechunk=False))


def merged(runs: Sequence[pl.DataFrame], time: str, block: int) -> Iterator[pl.DataFrame]:
    """Merge sorted runs, of rows with equal times those of earlier runs first. At most `block` rows of each
    run are sorted at a time.

    A round looks `block` rows ahead in every run. Up to the least time found there, all rows are known: those
    before it are sorted, and those of that very time follow in the order of the runs.
    """
    times = [run.get_column(time) for run in runs]
    heads = [0] * len(runs)
    while True:
        ahead = [
            int(column[min(head + block, column.len()) - 1])
            for column, head in zip(times, heads, strict=True)
            if head < column.len()
        ]
        if not ahead:
            return
        reached = min(ahead)
        before = [int(column.search_sorted(reached, "left")) for column in times]
        after = [int(column.search_sorted(reached, "right")) for column in times]
        earlier = [run[head:end] for run, head, end in zip(runs, heads, before, strict=True) if head < end]
        if earlier:
            yield pl.concat(earlier).sort(time, maintain_order=True)
        for run, head, start, end in zip(runs, heads, before, after, strict=True):
            if max(head, start) < end:
                yield run[max(head, start) : end]
        heads = [max(head, end) for head, end in zip(heads, after, strict=True)]
