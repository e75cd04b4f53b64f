"""Replays a file, or the files of a directory in the order of their names, as fast as possible or paced.

`file:///data/river.csv?speed=60` replays at sixty times real time: a reading that is N seconds later than the
first one is due N / 60 seconds after the start. Without a speed everything is due at once. With `follow=1` a
directory does not end: the adapter waits for new files. The formats are those of ingest.readers; a garbled
row is a dead letter.

Write a file elsewhere (or under a name that begins with a dot), then rename it into the directory: a file
under its final name counts as complete and is read once. Rows that are appended later are read when the
source is opened again. A file that has fewer rows than were read, or whose name was gone in between, counts
as a new file and is read from its beginning.

The law: rows come in file order, and each file has its own numbering, separate for its rows and its garbled
rows. Whatever files come and go, and however the rows are cut into batches, a row of a file has the same
`part` and `sequence` each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream
from nilometer.errors import DataError
from nilometer.ingest.adapters.adapter import Adapter, Clock, ReadResult, Status
from nilometer.ingest.payloads import FieldCounts, Garbled
from nilometer.ingest.readers import is_data_file, read
from nilometer.ingest.readers.reading import Reading

OPTIONS = "speed batch follow".split()
BATCH = 10_000

GARBLED = "/garbled"
UNREADABLE = "/unreadable"
"""Suffixes of a part's name, which has no slash. They number a file's garbled rows, and the dead letter of a
file that cannot be read at all. If these were numbered together with the rows, a row that is added to a file
or corrected in it would change the numbers of the others."""


@dataclass(frozen=True)
class Piece:
    """Rows of a part, and its garbled rows. `letters` is the part that numbers the garbled rows. `fields` counts what
    the part lacks or has beyond the declaration."""

    rows: pl.DataFrame
    garbled: tuple[Garbled, ...] = ()
    part: str = ""
    letters: str = GARBLED
    fields: FieldCounts = field(default_factory=FieldCounts)


class PacedAdapter(Adapter):
    """Gives readings in batches of at most `batch` rows, paced by their times, from pieces that exist already
    or are made.

    `frames` yields pieces; None means that there is nothing at present. The garbled readings of a piece come
    before its rows.
    """

    paced = True

    def __init__(self, stream: Stream, clock: Clock, *, speed: float = 0.0, batch: int = BATCH) -> None:
        super().__init__(stream, clock)
        self.speed = speed
        self.batch = batch
        self._frames: Iterator[Piece | None] | None = None
        self._rows = self._none
        self._garbled: tuple[Garbled, ...] = ()
        self._part = self._letters = ""
        self._fields = FieldCounts()
        # For each part: the readings read before or given out, and the readings of the pieces so far.
        self._given: dict[str, int] = {}
        self._passed: dict[str, int] = {}
        self._kept = False
        self._began = 0
        self._first: int | None = None
        self._ended: bool = True
        self._time = next(column.name for column in stream.columns if column.name.lower() == "time")

    def frames(self) -> Iterator[Piece | None]:
        """Yield the pieces."""
        raise NotImplementedError

    def open(self) -> None:
        self._frames = self.frames()
        self._began = self.clock()
        self._first = None
        self._given, self._passed, self._kept = {}, {}, False
        self._ended = False

    def resume(self, consumed: Mapping[str, int]) -> None:
        self._given = dict(consumed)

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
        if self._garbled:
            garbled, self._garbled = self._garbled, ()
            return self._numbered(ReadResult(Status.NEW_VALUE, self._none, garbled), self._letters)
        count = self._due_count()
        if not count:
            return self.nothing()
        rows, self._rows = self._rows[:count], self._rows[count:]
        return self._numbered(ReadResult(Status.NEW_VALUE, rows), self._part)

    def _numbered(self, result: ReadResult, part: str) -> ReadResult:
        kept = dict(self._given) if self._kept else None
        self._kept = False
        sequence = self._given.get(part, 0)
        self._given[part] = sequence + result.received
        fields, self._fields = self._fields, FieldCounts()
        return replace(result, sequence=sequence, part=part, kept=kept, fields=fields)

    @property
    def due(self) -> int | None:
        if not self.speed or self._first is None or not self._rows.height:
            return None
        ahead = int(self._rows.get_column(self._time)[0]) - self._first
        return self._began + round(ahead / self.speed)

    def _fetch(self) -> Status:
        """Take the next piece and say whether there is one."""
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
            skipping = self._unread(found)
        if self._first is None and self._rows.height:
            self._first = int(self._rows.get_column(self._time)[0])
        return Status.NEW_VALUE if self._rows.height or self._garbled else Status.NO_VALUE

    def _unread(self, piece: Piece) -> bool:
        """Take the readings of a piece that were not read before. Returns whether any were skipped."""
        self._part, self._letters = piece.part, piece.letters
        letters = self._pass(piece.letters, sum(letter.count for letter in piece.garbled))
        rows = self._pass(piece.part, piece.rows.height)
        self._rows, self._garbled = piece.rows[rows:], _beyond(piece.garbled, letters)
        skipped = letters > 0 or rows > 0
        self._fields = FieldCounts() if skipped else piece.fields
        return skipped

    def _pass(self, part: str, readings: int) -> int:
        """The number of a part's next readings that were read before."""
        before = self._passed.get(part, 0)
        self._passed[part] = before + readings
        return min(max(0, self._given.get(part, 0) - before), readings)

    def _due_count(self) -> int:
        """The number of rows that are due. A row waits for those before it, so the order is kept."""
        limit = min(self._rows.height, self.batch)
        if not self.speed or self._first is None:
            return limit
        reached = self._first + round((self.clock() - self._began) * self.speed)
        times = self._rows.get_column(self._time)[:limit].to_numpy()
        later = np.flatnonzero(times > reached)
        return int(later[0]) if later.size else limit


class ReplayAdapter(PacedAdapter):
    """Replays a file or a directory of files."""

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

    def frames(self) -> Iterator[Piece | None]:
        if not self.path.is_dir():
            self._forget_all_but({self.path.name})
            piece = self._read(self.path)
            assert piece is not None
            yield piece
            return
        seen: set[str] = set()
        while True:
            # A hidden file is still being written: rsync and other programs do it this way.
            found = {p.name for p in self.path.iterdir() if is_data_file(p) and not p.name.startswith(".")}
            self._forget_all_but(found)
            seen &= found
            names = sorted(found - seen)
            for name in names:
                piece = self._read(self.path / name)
                if piece is not None:
                    seen.add(name)
                    yield piece
            # The rest of an old count belongs to files that are gone.
            self._given.pop("", None)
            if not self._follow:
                return
            if not names:
                yield None

    def _forget_all_but(self, names: set[str]) -> None:
        """Forget the files that are not there any more. If one comes again, it is a new file."""
        gone = [part for part in {**self._given, **self._passed} if part and part.split("/")[0] not in names]
        for part in gone:
            self._kept |= self._given.pop(part, None) is not None
            self._passed.pop(part, None)

    def _read(self, path: Path) -> Piece | None:
        """Read a file; None if it has disappeared in the meantime."""
        part = path.name
        try:
            reading = read(path, self.stream)
            letters = _letters(reading, path)
        except (DataError, FileNotFoundError) as error:
            # In a directory the other files go on.
            if path == self.path:
                raise
            if not path.exists():
                return None
            letter = Garbled(b"", str(error).replace("\n", "; "), str(path))
            return Piece(self._none, (letter,), part, part + UNREADABLE)
        piece = Piece(reading.rows, letters, part, part + GARBLED, _fields(reading))
        self._lay_out(piece)
        if reading.rows.height < self._given.get(part, 0):
            # Fewer rows than were read before: it is another file of the same name.
            del self._given[part]
            self._given.pop(piece.letters, None)
            self._kept = True
        return piece

    def _lay_out(self, piece: Piece) -> None:
        """Convert the single count of an older log, which covered all files together: assign it to the files
        in their order, garbled rows first."""
        left = self._given.pop("", 0)
        if not left:
            return
        for part, count in (
            (piece.letters, sum(letter.count for letter in piece.garbled)),
            (piece.part, piece.rows.height),
        ):
            self._given[part] = min(left, count)
            left -= self._given[part]
        if left:
            self._given[""] = left
        self._kept = True


def _beyond(garbled: tuple[Garbled, ...], count: int) -> tuple[Garbled, ...]:
    """The garbled readings after the first `count` ones."""
    left: list[Garbled] = []
    for letter in garbled:
        passed = min(count, letter.count)
        count -= passed
        if passed < letter.count:
            left.append(replace(letter, count=letter.count - passed))
    return tuple(left)


def _fields(reading: Reading) -> FieldCounts:
    """By column, the rows without a value; and the columns that are not declared, which all rows have."""
    height = reading.rows.height
    missing = {
        column.name: column.null_count()
        for column in reading.rows
        if column.name.lower() not in ("time", "id") and column.null_count()
    }
    return FieldCounts(missing, dict.fromkeys(reading.unknown, height) if height else {}, looked=height)


def _letters(reading: Reading, path: Path) -> tuple[Garbled, ...]:
    """The garbled rows of a file: the first few with their bytes; the last of these also counts all
    others."""
    if not reading.garbled:
        return ()
    textual = not path.name.lower().endswith((".parquet", ".gz", ".zst"))
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
