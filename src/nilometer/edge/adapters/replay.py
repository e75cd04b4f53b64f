"""A file, or the files of a directory in the order of their names -> readings, as fast as possible or paced.

`file:///data/river.csv?speed=60` replays at sixty times real time: a reading is due when as much of the replay has passed, at that
speed, as lies between the first reading's time and its own. Without a speed all is due at once. `follow=1` waits for new
files in a directory instead of ending. Formats are those of edge.readers; a garbled row is a dead letter.

The law: rows come in file order, and a replay gives the same rows with the same `sequence` each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.edge.adapters.adapter import Adapter, Clock, ReadResult, Status
from nilometer.edge.adapters.address import Address
from nilometer.edge.payloads import Garbled
from nilometer.edge.readers import is_data_file, read
from nilometer.edge.readers.reading import Reading
from nilometer.errors import DataError

OPTIONS = "speed batch follow".split()
BATCH = 10_000


class PacedAdapter(Adapter):
    """Frames that are at hand or can be made -> readings in batches of at most `batch` rows, paced by their times.

    `frames` gives (rows, garbled) pairs; None means that there is nothing at present. The garbled readings of a frame come
    before its rows, so that a place in the sequence is the same however the rows are cut.
    """

    paced = True

    def __init__(self, stream: Stream, clock: Clock, *, speed: float = 0.0, batch: int = BATCH) -> None:
        super().__init__(stream, clock)
        self.speed = speed
        self.batch = batch
        self._frames: Iterator[tuple[pl.DataFrame, tuple[Garbled, ...]] | None] | None = None
        self._rows = self._none
        self._garbled: tuple[Garbled, ...] = ()
        self._sequence = self._skip = 0
        self._began = 0
        self._first: int | None = None
        self._ended: bool = True
        self._time = next(column.name for column in stream.columns if column.name.lower() == "time")

    def frames(self) -> Iterator[tuple[pl.DataFrame, tuple[Garbled, ...]] | None]:
        """Where the rows come from."""
        raise NotImplementedError

    def open(self) -> None:
        self._frames = self.frames()
        self._began = self.clock()
        self._first = None
        self._sequence = self._skip = 0
        self._ended = False

    def resume(self, sequence: int) -> None:
        self._sequence = self._skip = sequence

    def close(self) -> None:
        self._ended = True
        self._frames = None
        self._rows, self._garbled = self._none, ()

    def read(self) -> ReadResult:
        if self._ended:
            return self.nothing(Status.END)
        if not self._rows.height and not self._garbled:
            status = self._fetch()
            if status is not Status.NEW_VALUE:
                return self.nothing(status)
        count = self._due_count()
        if not count and not self._garbled:
            return self.nothing()
        rows, self._rows = self._rows[:count], self._rows[count:]
        garbled, self._garbled = self._garbled, ()
        result = ReadResult(Status.NEW_VALUE, rows, garbled, sequence=self._sequence)
        self._sequence += result.received
        return result

    @property
    def due(self) -> int | None:
        if not self.speed or self._first is None or not self._rows.height:
            return None
        ahead = int(self._rows.get_column(self._time)[0]) - self._first
        return self._began + round(ahead / self.speed)

    def _fetch(self) -> Status:
        """Take the next frame; whether there is one."""
        assert self._frames is not None
        skipping = True
        while skipping and not self._rows.height and not self._garbled:
            try:
                found = next(self._frames)
            except StopIteration:
                self._ended = True
                return Status.END
            if found is None:
                return Status.NO_VALUE
            skipping = self._skip > 0
            self._rows, self._garbled = self._unread(*found)
        if self._first is None and self._rows.height:
            self._first = int(self._rows.get_column(self._time)[0])
        return Status.NEW_VALUE if self._rows.height or self._garbled else Status.NO_VALUE

    def _unread(
        self, rows: pl.DataFrame, garbled: tuple[Garbled, ...]
    ) -> tuple[pl.DataFrame, tuple[Garbled, ...]]:
        """What `resume` did not skip."""
        letters = sum(letter.count for letter in garbled)
        skip = min(self._skip, letters + rows.height)
        self._skip -= skip
        return rows[max(0, skip - letters) :], () if skip else garbled

    def _due_count(self) -> int:
        """How many of the rows at hand are due; rows wait for those before them, so that their order is kept."""
        limit = min(self._rows.height, self.batch)
        if not self.speed or self._first is None:
            return limit
        reached = self._first + round((self.clock() - self._began) * self.speed)
        times = self._rows.get_column(self._time)[:limit].to_numpy()
        later = np.flatnonzero(times > reached)
        return int(later[0]) if later.size else limit


class ReplayAdapter(PacedAdapter):
    """A file or a directory of files."""

    def __init__(self, stream: Stream, address: Address, clock: Clock) -> None:
        address.check(OPTIONS)
        super().__init__(
            stream, clock, speed=address.number("speed", 0.0), batch=address.count("batch", BATCH)
        )
        self.path = Path(address.path)
        self._follow = address.options.get("follow", "0").lower() in ("1", "true", "yes")

    def open(self) -> None:
        if not self.path.exists():
            raise DataError(f"there is no file or directory '{self.path}'")
        super().open()

    def frames(self) -> Iterator[tuple[pl.DataFrame, tuple[Garbled, ...]] | None]:
        if not self.path.is_dir():
            yield self._read(self.path)
            return
        seen: set[str] = set()
        while True:
            names = sorted(p.name for p in self.path.iterdir() if is_data_file(p) and p.name not in seen)
            # A hidden file is one that is being written, by the custom of rsync and others.
            for name in (name for name in names if not name.startswith(".")):
                seen.add(name)
                yield self._read(self.path / name)
            if not self._follow:
                return
            if not names:
                yield None

    def _read(self, path: Path) -> tuple[pl.DataFrame, tuple[Garbled, ...]]:
        try:
            reading = read(path, self.stream)
        except DataError as error:
            # In a directory the other files go on.
            if path == self.path:
                raise
            return self._none, (Garbled(b"", str(error).replace("\n", "; "), str(path)),)
        return reading.rows, _letters(reading, path)


def _letters(reading: Reading, path: Path) -> tuple[Garbled, ...]:
    """The garbled rows of a file: the first few with their bytes, the others counted in the last letter."""
    if not reading.garbled:
        return ()
    textual = not path.name.lower().endswith((".parquet", ".gz"))
    lines = path.read_bytes().split(b"\n") if textual else []
    letters = [
        Garbled(
            lines[letter.line - 1].rstrip(b"\r") if letter.line <= len(lines) else b"",
            letter.reason,
            f"{path}:{letter.line}",
        )
        for letter in reading.dead_letters
    ]
    beyond = reading.garbled - len(letters)
    if beyond and letters:
        letters[-1] = replace(letters[-1], count=1 + beyond)
    return tuple(letters) or (Garbled(b"", "rows that could not be read", str(path), reading.garbled),)
