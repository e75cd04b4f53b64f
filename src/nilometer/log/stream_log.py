"""One stream's log: append to it, scan it, read it by name, trim it, verify it.

>>> import tempfile, polars as pl
>>> folder = tempfile.TemporaryDirectory()
>>> with StreamLog(folder.name, {"time": pl.Int64(), "depth": pl.Float64()}) as log:
...     token = log.append(pl.DataFrame({"time": [1, 2], "depth": [0.5, 0.6]}), producer="gauge", sequence=1)
...     again = log.append(pl.DataFrame({"time": [1, 2], "depth": [0.5, 0.6]}), producer="gauge", sequence=1)
...     _ = log.heartbeat(3)
>>> token.position, again.duplicate, StreamLog(folder.name).end
(0, True, Offset(number=2, position=2))
>>> [entry.rows.height if entry.rows is not None else entry.tick for entry in log.reader("me").read()]
[2, 3]
>>> folder.cleanup()

Reading needs no lock and may be done in any process; the first append takes the writer's lock, `close` gives it back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.log import doubles, failpoints, letters, notes, readers, retention, scan, verify
from nilometer.log import repair as repairing
from nilometer.log.annex import Note
from nilometer.log.doubles import Doubles
from nilometer.log.files import Files
from nilometer.log.gaps import Continuity, lost_end
from nilometer.log.local_files import LocalFiles
from nilometer.log.manifest import Loss, end_on_record, manifest_of
from nilometer.log.reader import Cursor, LogEntry, Offset, newest_dtypes
from nilometer.log.readers import NamedReader
from nilometer.log.schema import Dtypes, arrow_schema, time_column_of
from nilometer.log.segment import (
    Damage,
    Index,
    OnDamage,
    SegmentId,
    Tally,
    index_of,
    look,
    refuse,
    segment_ids,
)
from nilometer.log.settings import LogSettings
from nilometer.log.writer import NOBODY, Committed, LogWriter, Token, resources
from nilometer.operators.frames import dtypes
from nilometer.types import Schema

if TYPE_CHECKING:
    from nilometer.dataflow.sources import Entry


@dataclass(frozen=True)
class SegmentInfo:
    """A segment and its index."""

    segment: SegmentId
    index: Index
    sealed: bool


class StreamLog:
    """`files` is a directory, or any `Files`.

    `columns` are the stream's: an existing log gets the new ones among them; without any, the log has the
    columns it was last written with. If the stream has a KEY, its entries come without doubles. `committed`
    gives the offsets that others have committed: a log that ends before them takes no append. `on_damage`
    decides what readers do about damage and gaps.
    """

    def __init__(
        self,
        files: Files | Path | str,
        columns: Dtypes | Stream | None = None,
        settings: LogSettings | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        committed: Committed = NOBODY,
        on_damage: OnDamage = refuse,
    ) -> None:
        self._committed = committed
        self._on_damage = on_damage
        self.files: Files = (
            LocalFiles(files, failpoints.from_environment()) if isinstance(files, Path | str) else files
        )
        self._columns = dtypes(Schema(columns.columns)) if isinstance(columns, Stream) else columns
        self._stream = columns if isinstance(columns, Stream) else None
        self._key = doubles.key_of(self._stream) if self._stream is not None else ()
        self._doubles: Doubles | None = None
        self._settings = settings or LogSettings()
        self._clock = clock
        self._writer: LogWriter | None = None
        self._held: tuple[Offset, Offset] | None = None

    # ---- writing -----------------------------------------------------------------------------------------------------

    @property
    def writer(self) -> LogWriter:
        """The writer. The first access takes the lock and recovers from a crash."""
        if self._writer is None:
            self._writer = LogWriter(self.files, self._columns, self._settings, self._clock, self._committed)
        return self._writer

    def append(
        self,
        rows: pl.DataFrame,
        *,
        producer: str | None = None,
        sequence: int | None = None,
        arrived: int | None = None,
        note: Note | None = None,
    ) -> Token:
        """Append readings; see LogWriter."""
        return self.writer.append(rows, producer=producer, sequence=sequence, arrived=arrived, note=note)

    def heartbeat(self, tick: int) -> Token:
        """Append a promise: no tuple with an earlier tick comes after it."""
        return self.writer.heartbeat(tick)

    def flush(self) -> Offset:
        """Make every append durable. Returns the end of the log."""
        return self.writer.flush()

    def durable(self, token: Token) -> bool:
        """Whether an append survives a power cut."""
        return self.writer.durable(token)

    def evolve(self, columns: Dtypes | Stream) -> None:
        """From here on the log has these columns."""
        wanted = dtypes(Schema(columns.columns)) if isinstance(columns, Stream) else columns
        self.writer.evolve(wanted)
        self._columns = wanted

    def close(self) -> None:
        """Make everything durable and release the lock; reading goes on."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()

    def abandon(self) -> None:
        """Let go without making anything durable, as a crash of the process would."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- reading -----------------------------------------------------------------------------------------------------

    @property
    def remarks(self) -> list[str]:
        """The damage, or the torn tail that it has cut off, which the writer found when it opened the log."""
        return [] if self._writer is None else self._writer.remarks

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The stream's columns: as given, or as last written."""
        return dict(self._columns) if self._columns is not None else newest_dtypes(self.files) or {}

    @property
    def exists(self) -> bool:
        """Whether anything was ever written."""
        return bool(segment_ids(self.files))

    def hold(self) -> StreamLog:
        """Look up the start and the end once, for a reader that asks often while nobody writes."""
        self._held = None
        self._held = self.start, self.end
        return self

    @property
    def end(self) -> Offset:
        """The offset of the next append: the number of entries and rows ever written."""
        if self._writer is not None:
            return self._writer.end
        if self._held is not None:
            return self._held[1]
        ids = segment_ids(self.files)
        on_record = end_on_record(self.files)
        lost = Offset(on_record.number, on_record.position)
        if not ids:
            return lost
        found = self._segment(ids[-1]).index
        return max(lost, Offset(found.end_number, found.end_position))

    @property
    def start(self) -> Offset:
        """The offset at which the log begins, after what retention has deleted."""
        if self._held is not None:
            return self._held[0]
        ids = segment_ids(self.files)
        return Offset(ids[0].number, ids[0].position) if ids else Offset()

    def scan(
        self,
        from_position: int = 0,
        columns: Sequence[str] | None = None,
        time_range: scan.TimeRange | None = None,
        on_damage: OnDamage | None = None,
    ) -> Iterator[pl.DataFrame]:
        """The rows from a position on, as frames that share the memory of the file where they can.

        `@position` may be asked for as a column. `time_range` is from the first time up to but not including
        the second.
        """
        stream = self.columns
        if not stream:
            return iter(())
        time_column = time_column_of(arrow_schema(stream))
        told = on_damage or self._on_damage
        return scan.scan(self.files, from_position, columns, time_range, stream, time_column, told)

    def read(self, offset: Offset = Offset(), on_damage: OnDamage | None = None) -> Iterator[LogEntry]:  # noqa: B008
        """The entries from an offset on, one record at a time, up to the present end."""
        return iter(self.cursor(offset, on_damage))

    def cursor(self, offset: Offset, on_damage: OnDamage | None = None) -> Cursor:
        """A reader of the entries from an offset on, which may be told to read further."""
        return Cursor(self.files, offset, self._columns, on_damage or self._on_damage, doubles=self.doubles)

    def entries(self, offset: Offset = Offset()) -> Iterator[Entry]:  # noqa: B008
        """The entries in the form that the gateway takes. Their division depends on the log alone, so a run
        can be restored.
        """
        for entry in self.read(offset):
            yield entry.entry()

    def tail(self, rows: int) -> pl.DataFrame:
        """The last rows, with their positions."""
        first = max(self.start.position, self.end.position - rows)
        frames = list(self.scan(first, ["@position", *self.columns]))
        return pl.concat(frames) if frames else pl.DataFrame(schema={"@position": pl.Int64(), **self.columns})

    # ---- the stream's KEY --------------------------------------------------------------------------------------------

    @property
    def recorded_doubles(self) -> Doubles:
        """The doubles by the stream's KEY, if a writer has recorded them; else none."""
        if self._doubles is None and self._key:
            found = doubles.recorded(self.files)
            self._doubles = found if found is not None and found.key == self._key else None
        return self._doubles or doubles.NONE

    @property
    def doubles(self) -> Doubles:
        """The doubles by the stream's KEY. If no writer has recorded them, the log is searched."""
        found = self.recorded_doubles
        if self._doubles is None and self._key:
            assert self._stream is not None
            found = self._doubles = doubles.find(self, self._stream)
        return found

    def keep_key(self) -> None:
        """Record the doubles that the log has, for its readers; from here on no double by the stream's KEY is
        appended. Takes the lock.
        """
        end = self.writer.flush().position
        kept = doubles.recorded(self.files) or doubles.NONE
        # A record that is ahead of the log describes rows that were lost in a power cut.
        if kept.key == self._key and kept.end <= end:
            return
        found = doubles.Doubles((), end)
        if self._key:
            assert self._stream is not None
            known = self._doubles is not None and self._doubles.end == end
            found = self.doubles if known else doubles.find(self, self._stream)
        with resources(self.files.place):
            doubles.record(self.files, found)
        self._doubles = found if self._key else None

    # ---- beside the rows ---------------------------------------------------------------------------------------------

    @property
    def note(self) -> dict[str, Any] | None:
        """The last note; also for a process that only reads."""
        return self._writer.note if self._writer is not None else notes.last_note(self.files)

    def letters(self, limit: int | None = None, on_damage: OnDamage = refuse) -> pl.DataFrame:
        """The last dead letters, oldest first: arrived, source, reason, payload, count."""
        return letters.last_letters(self.files, limit, on_damage)

    def demands(self, on_damage: OnDamage = refuse) -> Iterator[dict[str, Any]]:
        """Every change of the demand on the sensors, oldest first."""
        return notes.demands(self.files, on_damage)

    # ---- named readers, retention ------------------------------------------------------------------------------------

    def reader(self, name: str, start: Offset | None = None, on_damage: OnDamage = refuse) -> NamedReader:
        """The reader of that name, at its offset; a new one begins at `start` (default: the beginning)."""
        return NamedReader(
            self.files, name, start if start is not None else self.start, self._columns, on_damage
        )

    def readers(self) -> dict[str, Offset]:
        """The named readers and their offsets."""
        return readers.offsets(self.files)

    def forget_reader(self, name: str) -> None:
        """Delete the reader; retention no longer waits for it."""
        with resources(self.files.place):
            readers.forget_reader(self.files, name)

    def trim(
        self, before: int | None = None, *, force: bool = False, needed: Mapping[str, Offset] | None = None
    ) -> retention.Trimmed:
        """Delete whole segments of rows earlier than `before` (None: any) that every named reader has read. `needed`
        rows, from an offset on, stay even by force."""
        return retention.trim(self.files, before, force=force, needed=needed)

    # ---- looking at it -----------------------------------------------------------------------------------------------

    def segments(self) -> list[SegmentInfo]:
        """The segments and their indexes."""
        return [self._segment(segment) for segment in segment_ids(self.files)]

    def verify(self) -> verify.Verdict:
        """Check the whole log."""
        return verify.verify(self.files, self._committed)

    def repair(self) -> repairing.Repaired:
        """Move damaged files aside, and put on record what is lost. Takes the lock."""
        return repairing.repair(self.files, self._committed)

    def gaps(self) -> list[str]:
        """The entries that are missing and not on record as lost, by the segments' names and indexes alone."""
        found: list[Damage] = []
        continuity = Continuity(self.files, found.append)
        infos = self.segments()
        if infos:
            continuity.check_first(SegmentId(0, 0), infos[0].segment)
        for before, after in pairwise(infos):
            end = SegmentId(before.index.end_number, before.index.end_position)
            continuity.check(end, after.segment)
        told = [damage.what for damage in found]
        last = SegmentId(self.end.number, self.end.position)
        beyond = lost_end(self.files, last, self._committed())
        return told if beyond is None else [*told, f"the log has lost its end: {beyond}"]

    @property
    def lost(self) -> tuple[Loss, ...]:
        """The ranges of entries that are on record as lost."""
        manifest = manifest_of(self.files)
        return manifest.lost if manifest is not None else ()

    def _segment(self, segment: SegmentId) -> SegmentInfo:
        index = index_of(self.files, segment)
        if index is not None:
            return SegmentInfo(segment, index, True)
        tally = Tally(segment)
        for header, _ in look(self.files, segment)[1]:
            tally.add_header(header)
        return SegmentInfo(segment, tally.index(), False)
