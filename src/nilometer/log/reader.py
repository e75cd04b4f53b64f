"""Reads the entries of a log from an offset on, also while another process writes it.

An `Offset` holds the number of the next entry and the position of the next row. So it can point between two
heartbeats, and into a batch. The laws: entries come in order, each once. A reader sees only whole records.
Reading from the same offset gives the same entries again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from nilometer.errors import DataError
from nilometer.log.annex import annex_from_bytes
from nilometer.log.doubles import NONE, Doubles
from nilometer.log.files import Files
from nilometer.log.gaps import Continuity
from nilometer.log.record import ENTRIES, UNKNOWN, Header, RecordKind, Records, records_in
from nilometer.log.schema import Dtypes, Unpacker, dtypes_of, from_bytes
from nilometer.log.segment import Contents, Index, OnDamage, SegmentId, look, refuse, segment_ids
from nilometer.operators.frames import from_bytes as from_stream_bytes

if TYPE_CHECKING:
    from nilometer.dataflow.sources import Entry

LIMIT = 65_536
"""How many rows a reader takes at once by default."""


CHUNK = 1 << 20
"""How many bytes of an open segment a cursor copies into memory at a time; more only for a longer record."""

HEAD = 1 << 16
"""The number of bytes within which a segment's schema is expected."""


@dataclass(frozen=True, order=True, slots=True)
class Offset:
    """A place in a log: the number of the next entry and the position of the next row."""

    number: int = 0
    position: int = 0


@dataclass(frozen=True)
class LogEntry:
    """Rows, including doubles, or a heartbeat with its tick, or summaries. `after` is the offset to commit once the entry
    is dealt with. `note` is what the writer wrote with the entry. `doubles` are the doubles by the stream's
    KEY."""

    position: int
    rows: pl.DataFrame | None
    tick: int | None
    arrived: int | None
    after: Offset
    note: dict[str, Any] | None = None
    doubles: Doubles = NONE
    summaries: pl.DataFrame | None = None

    def entry(self) -> Entry:
        """The entry in the gateway's form, without the doubles."""
        # Imported here, so that a process that only writes a log does not load the gateway and its operators.
        from nilometer.dataflow.sources import Batch, Heartbeat, Summaries

        if self.summaries is not None:
            return Summaries(self.summaries)
        if self.rows is None:
            assert self.tick is not None, "an entry is rows or a heartbeat"
            return Heartbeat(self.tick)
        rows = self.doubles.without(self.rows, self.position)
        return Batch(rows, duplicate=self.rows.height - rows.height)


def newest_dtypes(files: Files) -> dict[str, pl.DataType] | None:
    """The columns of the newest segment, which are those of the stream now; None if there is no log."""
    ids = segment_ids(files)
    return dtypes_of(schema_of(files, ids[-1])) if ids else None


def schema_of(files: Files, segment: SegmentId) -> Any:
    """The Arrow schema of a segment. Reads only the first `HEAD` bytes if the first record fits in them."""
    for header in (run := records_in(files.read(segment.name, 0, HEAD))):
        if header.kind == RecordKind.SCHEMA:
            return from_bytes(header.body(run.buffer))
    return look(files, segment)[1].schema(refuse)


class Cursor:
    """Reads a log from an offset on. `skipped` counts the rows that retention deleted before they were read,
    `lost` those that were missing for another reason, on record (manifest.py) or reported to `on_damage`.
    Rows have the columns `dtypes`, by default those that the log has now. With `as_written` they have the
    columns that the log had when they were written."""

    def __init__(
        self,
        files: Files,
        offset: Offset,
        dtypes: Dtypes | None = None,
        on_damage: OnDamage = refuse,
        *,
        as_written: bool = False,
        doubles: Doubles = NONE,
    ) -> None:
        self.offset = offset
        self.skipped = 0
        self._files = files
        self._dtypes = dtypes
        self._as_written = as_written
        self._doubles = doubles
        self._on_damage = on_damage
        self._continuity = Continuity(files, on_damage)
        self._segment: SegmentId | None = None
        self._reached = SegmentId(0, 0)
        self._at = 0
        self._unpacker: Unpacker | None = None
        self._loaded: deque[tuple[Header, Records]] = deque()

    @property
    def lost(self) -> int:
        """The number of rows that were missing."""
        return self._continuity.rows

    def next(self, limit: int = LIMIT) -> LogEntry | None:
        """The next entry, or the next `limit` rows of a longer one; None if there is nothing more now."""
        if not self._loaded and not self._load():
            return None
        header, run = self._loaded[0]
        entry = self._entry(header, run, limit)
        if entry.after.number > header.number:
            self._loaded.popleft()
        self.offset = entry.after
        return entry

    def read(self, limit: int = LIMIT) -> list[LogEntry]:
        """The next entries, at most `limit` rows in all; an empty list if there is nothing more now."""
        entries: list[LogEntry] = []
        while limit > 0 and (entry := self.next(limit)) is not None:
            entries.append(entry)
            # Heartbeats and empty batches count, too: otherwise one read could take all of a silent stream's
            # log.
            limit -= max(1, 0 if entry.rows is None else entry.rows.height)
        return entries

    def __iter__(self) -> Iterator[LogEntry]:
        """All entries that are there now, one whole record at a time."""
        while self._loaded or self._load():
            header, run = self._loaded.popleft()
            entry = self._entry(header, run, header.rows)
            self.offset = entry.after
            yield entry

    def _entry(self, header: Header, run: Records, limit: int) -> LogEntry:
        done = max(0, self.offset.position - header.position) if header.number == self.offset.number else 0
        after = Offset(header.number + 1, header.position + header.rows)
        annex = header.annex(run.buffer, run.base) if header.annex_bytes else b""
        note = annex_from_bytes(annex)[1] if annex else None
        if header.kind == RecordKind.HEARTBEAT:
            return LogEntry(header.position, None, header.greatest_time, None, after, note)
        if header.kind == RecordKind.SUMMARIES:
            summaries = from_stream_bytes(bytes(header.body(run.buffer, run.base)))
            return LogEntry(header.position, None, None, None, after, note, summaries=summaries)
        assert self._unpacker is not None, "rows before their segment's schema"
        rows = self._unpacker.frame([batch_of(header, run, self._unpacker.schema)])
        arrived = None if header.arrived == UNKNOWN else header.arrived
        rows = rows[done:] if done else rows
        entry = LogEntry(header.position + done, rows, None, arrived, after, note, self._doubles)
        if header.rows - done > limit:
            assert entry.rows is not None
            position = header.position + done + limit
            entry = replace(entry, rows=entry.rows[:limit], after=Offset(header.number, position))
        return entry

    def _load(self) -> bool:
        """Load more records, from this segment or the next. Returns False if there are none now."""
        while True:
            # List the segments first: a segment that has a successor before it is read is complete when it is
            # read.
            ids = segment_ids(self._files)
            if (self._segment is None or self._segment not in ids) and not self._enter(ids):
                return False
            segment = self._segment
            assert segment is not None
            try:
                index, contents = self._look(segment)
            except FileNotFoundError:
                continue
            if self._at == 0:
                schema = contents.schema(self._on_damage)
                wanted = self._dtypes if self._dtypes is not None else newest_dtypes(self._files) or {}
                if self._as_written and schema is not None:
                    wanted = dtypes_of(schema)
                self._unpacker = None if schema is None else Unpacker(schema, wanted, segment.name)
            self._at = contents.end
            self._reached = max(self._reached, contents.reached)
            if index is not None:
                # Damage at the end of a segment was reported as such, and is no gap before the next one.
                self._reached = max(self._reached, SegmentId(index.end_number, index.end_position))
            # Rows whose schema is lost cannot be read. The damage was reported, and the cursor goes on.
            bare = (RecordKind.HEARTBEAT, RecordKind.SUMMARIES)
            kinds = ENTRIES if self._unpacker is not None else bare
            self._loaded.extend(
                (h, run) for h, run in contents if h.kind in kinds and h.number >= self.offset.number
            )
            if self._loaded:
                return True
            if contents.cut:
                continue
            following = [each for each in ids if each > segment]
            if not following:
                # A reader beyond the end would skip what is appended next.
                self._continuity.check_end(self._reached, self._wanted)
                return False
            self._continuity.check(max(self._reached, self._wanted), following[0])
            self._segment, self._at, self._reached = following[0], 0, following[0]

    @property
    def _wanted(self) -> SegmentId:
        return SegmentId(self.offset.number, self.offset.position)

    def _look(self, segment: SegmentId) -> tuple[Index | None, Contents]:
        """The next records of a segment, at least one if there is any."""
        most = CHUNK
        while True:
            index, contents = look(self._files, segment, self._at, self._on_damage, most)
            if contents.end > self._at or not contents.cut:
                return index, contents
            most *= 2

    def _enter(self, ids: list[SegmentId]) -> bool:
        """Enter the segment that contains the offset; the first segment if retention has deleted it."""
        if not ids:
            return False
        before = [each for each in ids if each.number <= self.offset.number]
        self._segment, self._at = (before[-1] if before else ids[0]), 0
        self._reached = self._segment
        if not before:
            left = self._continuity.check_first(self._wanted, ids[0])
            self.skipped += max(0, left.position - self.offset.position)
            self.offset = Offset(ids[0].number, ids[0].position)
        return True


def batch_of(header: Header, run: Records, schema: Any) -> Any:
    """The record batch of a rows record. It uses the file's buffers without a copy."""
    try:
        return pa.ipc.read_record_batch(header.body(run.buffer, run.base), schema)
    except (OSError, ValueError, EOFError, pa.ArrowException) as error:
        raise DataError(f"rows that Arrow cannot read: {error}") from None
