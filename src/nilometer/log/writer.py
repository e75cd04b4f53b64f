"""The one writer of a log: appends, heartbeats, and their durability.

An append is one record: its rows, the producer's sequence and its note are written together or not at all.
The laws: once `append` has returned, the rows survive the death of the process (unless they were gathered);
once `flush` has returned, they survive a power cut. An append that raised left nothing behind, and the next
one may succeed. Positions never have a gap.

Rotation: the open segment is made durable, and its index is written aside and renamed. Then the next segment,
which begins with schema, producers and the last note, is written aside and renamed. After a crash between any
two of these steps, the log is intact.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from nilometer.errors import ConfigurationError, DataError, ResourceError
from nilometer.log.annex import Mark, Note, annex_to_bytes
from nilometer.log.files import Files, Lock
from nilometer.log.formats import FormatError
from nilometer.log.gaps import LostEnd, lost_end
from nilometer.log.letters import Letter, frame_of, to_bytes
from nilometer.log.manifest import cut_off
from nilometer.log.open_segment import OpenSegment
from nilometer.log.reader import Offset, schema_of
from nilometer.log.readers import readable_offsets
from nilometer.log.record import UNKNOWN, RecordKind
from nilometer.log.recovery import recover
from nilometer.log.resources import resources as resources
from nilometer.log.schema import Dtypes, Packer, arrow_schema, check_change, dtypes_of, time_column_of
from nilometer.log.segment import SegmentId, segment_ids
from nilometer.log.settings import Fsync, LogSettings
from nilometer.operators.frames import to_bytes as summaries_to_bytes


@dataclass(frozen=True, slots=True)
class Token:
    """The receipt of an append: its first position and number of rows. `duplicate`: the log already had it.
    By `ticket` the writer knows whether the append is durable.
    """

    position: int
    rows: int
    ticket: int
    duplicate: bool = False


Committed = Callable[[], Mapping[str, SegmentId]]
"""The offsets of a log that others have committed, by what holds them."""


def NOBODY() -> Mapping[str, SegmentId]:  # noqa: N802
    """Nobody else knows of the log."""
    return {}


def refuse_lost_end(files: Files, end: SegmentId, committed: Committed) -> None:
    """Refuse a log that ends before its manifest's last segment, or before a committed offset."""
    readers = readable_offsets(files)
    known = {f"reader '{name}'": SegmentId(at.number, at.position) for name, at in readers.items()}
    found = lost_end(files, end, {**known, **committed()})
    if found is not None:
        raise found.error(files.place)


class BusyError(ResourceError):
    """Another process is the log's writer."""


def locked(files: Files) -> Lock:
    """Become the one writer of a log."""
    try:
        with resources(files.place):
            return files.lock()
    except BlockingIOError as holder:
        raise BusyError(
            f"the log at {files.place} is being written by {holder}",
            hint="a log has one writer at a time; any number may read it",
        ) from None


class LogWriter:
    """Holds the lock from construction to `close`; for use by one thread. `torn` bytes were cut off;
    `damages` remain to be reported; `note` is the last note in the log.
    """

    def __init__(
        self,
        files: Files,
        schema: Dtypes | None = None,
        settings: LogSettings | None = None,
        clock: Callable[[], float] = time.monotonic,
        committed: Committed = NOBODY,
    ) -> None:
        self.settings = settings or LogSettings()
        self._files = files
        self._committed = committed
        self._clock = clock
        self._held: list[pl.DataFrame] = []
        self._held_marks: dict[Mark, None] = {}
        self._held_rows = 0
        self._held_arrived = UNKNOWN
        self._held_note: Note | None = None
        self.note: dict[str, Any] | None = None
        self._tickets = self._written = self._durable = 0
        self._synced_at = clock()
        self._lock: Lock | None = locked(files)
        try:
            self._open(schema)
        except BaseException:
            self.abandon()
            raise

    @property
    def remarks(self) -> list[str]:
        """The damage that a crash or the disk did to the log, as text."""
        said = [
            f"its log is damaged: {damage.what} ({damage.segment}); see nilometer log verify"
            for damage in self.damages
        ]
        if self.torn and not self.damages:
            said.append(f"a crash left an unfinished record in its log: {self.torn} bytes were cut off")
        return said

    # ---- what a writer does ------------------------------------------------------------------------------------------

    def append(
        self,
        rows: pl.DataFrame,
        *,
        producer: str | None = None,
        sequence: int | None = None,
        arrived: int | None = None,
        note: Note | None = None,
    ) -> Token:
        """Append readings in the log's columns. With `producer` and `sequence`, a repeated append does
        nothing. `note` becomes the log's note.
        """
        marks: list[Mark] = []
        if producer is not None and sequence is not None:
            marks = [(producer, sequence)]
            if marks[0] in self._held_marks or self._producers.seen(producer, sequence):
                return Token(self.end.position, 0, self._tickets, duplicate=True)
        elif producer is not None or sequence is not None:
            raise ConfigurationError("a producer has a sequence, and a sequence its producer")
        if not rows.height and not marks and note is None:
            return Token(self.end.position, 0, self._tickets)
        stamp = UNKNOWN if arrived is None else arrived
        if rows.height < self.settings.gather_rows:
            position = self.end.position
            self._hold(rows, marks, stamp, note)
        else:
            self._write_held()
            position = self.end.position
            self._write_rows(rows, marks, stamp, note)
            self._written = self._tickets + 1
        self._tickets += 1
        token = Token(position, rows.height, self._tickets)
        self._sync_if_due()
        return token

    def heartbeat(self, tick: int) -> Token:
        """Append a promise: no tuple with an earlier tick comes after it."""
        return self._write_single(RecordKind.HEARTBEAT, None, times=(tick, tick))

    def summaries(self, rows: pl.DataFrame, *, times: tuple[int, int], note: Note | None = None) -> Token:
        """Append summaries of readings. They have no positions."""
        return self._write_single(RecordKind.SUMMARIES, note, times=times, body=summaries_to_bytes(rows))

    def letters(self, letters: Sequence[Letter] | pl.DataFrame, *, note: Note | None = None) -> Token:
        """Append dead letters, which readers skip. Without any, only the note is written."""
        frame = letters if isinstance(letters, pl.DataFrame) else frame_of(letters)
        return self._write_single(RecordKind.LETTERS, note, rows=frame.height, body=to_bytes(frame))

    def demand(self, change: Note) -> Token:
        """Append a change of the demand on the sensors, which readers skip."""
        return self._write_single(RecordKind.DEMAND, None, body=json.dumps(change).encode())

    def written(self) -> Offset:
        """Write the gathered rows, so that readers see them, without making them durable. Returns the end of
        the log.
        """
        self._write_held()
        return self.end

    def _write_single(self, kind: RecordKind, note: Note | None, **record: Any) -> Token:
        self._write_held()
        self._write(kind, annex=annex_to_bytes((), note), **record)
        self.note = dict(note) if note is not None else self.note
        self._tickets += 1
        self._written = self._tickets
        token = Token(self.end.position, 0, self._tickets)
        self._sync_if_due()
        return token

    def flush(self) -> Offset:
        """Make everything durable. Returns the end of the log."""
        self._write_held()
        if self._durable < self._written:
            with resources(self._files.place):
                self._segment.sync()
            self._durable = self._written
        self._synced_at = self._clock()
        return self.end

    def durable(self, token: Token) -> bool:
        """Whether an append survives a power cut."""
        return token.ticket <= self._durable

    def evolve(self, schema: Dtypes) -> None:
        """From here on the log has these columns; nothing is rewritten."""
        new = arrow_schema(schema)
        if new == self._packer.schema:
            return
        for segment in segment_ids(self._files):
            try:
                found = schema_of(self._files, segment)
            except FormatError:
                raise
            except (FileNotFoundError, DataError):
                continue  # retention has deleted it meanwhile; or its readers report the damage
            check_change(found, new)
        self._write_held()
        self._rotate(new)
        self._take_schema(new)

    def close(self) -> None:
        """Make everything durable, seal the segment, and release the lock."""
        if self._lock is None:
            return
        try:
            self.flush()
            if not self._segment.must_rotate:
                # Everything is durable by now: without space for its index, the segment just stays open.
                with contextlib.suppress(OSError):
                    self._segment.seal()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go without making anything durable, as a crash of the process would."""
        if hasattr(self, "_segment"):
            self._segment.let_go()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def end(self) -> Offset:
        """The offset of the next append, held rows included."""
        end = self._segment.end
        return Offset(end.number, end.position + self._held_rows)

    @property
    def schema(self) -> Any:
        """The log's Arrow schema."""
        return self._packer.schema

    @property
    def sequences(self) -> dict[str, int]:
        """The greatest sequence of each producer."""
        return self._producers.last()

    # ---- opening -----------------------------------------------------------------------------------------------------

    def _open(self, schema: Dtypes | None) -> None:
        with resources(self._files.place):
            found = recover(self._files)
            # Before anything is written: a log that has lost its end would use positions twice.
            refuse_lost_end(self._files, found.end, self._committed)
            if found.short is not None:
                raise LostEnd(found.short, found.end, "the index of its last segment").error(
                    self._files.place
                )
            self.torn = found.torn
            self.damages = tuple(found.damages)
            self._producers = found.producers
            self.note = found.note
            self._segment = OpenSegment(self._files, found)
            if self.torn and not found.damages:
                cut_off(self._files, self.torn)
        if found.schema is None and schema is None:
            raise DataError(
                f"there is no log at {self._files.place}", hint="give the columns with which to begin one"
            )
        first = found.schema if found.schema is not None else arrow_schema(schema or {})
        self._take_schema(first)
        if self._segment.must_rotate:
            self._rotate(first)
        if schema is not None:
            self.evolve(schema)

    def _take_schema(self, schema: Any) -> None:
        self._packer = Packer(schema)
        self._time_column = time_column_of(schema)

    # ---- writing -----------------------------------------------------------------------------------------------------

    def _hold(self, rows: pl.DataFrame, marks: list[Mark], arrived: int, note: Note | None) -> None:
        """Gather small appends. An append that reaches the limit and cannot be written is not kept."""
        rows = self._packer.conformed(rows)
        before, noted = self._held_arrived, self._held_note
        self._held.append(rows)
        self._held_note = note if note is not None else noted
        self._held_marks |= dict.fromkeys(marks)
        self._held_rows += rows.height
        self._held_arrived = max(before, arrived)
        if self._held_rows < self.settings.gather_rows and self.settings.fsync is not Fsync.ALWAYS:
            return
        self._tickets += 1
        try:
            self._write_held()
        except BaseException:
            self._held.pop()
            for mark in marks:
                del self._held_marks[mark]
            self._held_rows -= rows.height
            self._held_arrived, self._held_note = before, noted
            raise
        finally:
            self._tickets -= 1

    def _write_held(self) -> None:
        if not self._held:
            return
        rows = self._held[0] if len(self._held) == 1 else pl.concat(self._held)
        held, self._held_rows = self._held_rows, 0
        try:
            self._write_rows(rows, list(self._held_marks), self._held_arrived, self._held_note)
        except BaseException:
            self._held_rows = held
            raise
        self._held, self._held_marks, self._held_arrived, self._held_note = [], {}, UNKNOWN, None
        self._written = self._tickets

    def _write_rows(self, rows: pl.DataFrame, marks: list[Mark], arrived: int, note: Note | None) -> None:
        batch = self._packer.pack(rows)
        times = (UNKNOWN, UNKNOWN)
        if self._time_column is not None and self._time_column in rows.columns:
            column = rows.get_column(self._time_column)
            least, greatest = column.min(), column.max()
            if isinstance(least, int) and isinstance(greatest, int):
                times = (least, greatest)
        self._write(
            RecordKind.ROWS,
            rows=rows.height,
            times=times,
            arrived=arrived,
            body=batch.serialize(),
            annex=annex_to_bytes(marks, note),
        )
        self.note = dict(note) if note is not None else self.note
        for producer, sequence in marks:
            self._producers.mark(producer, sequence)

    def _write(self, kind: RecordKind, **record: Any) -> None:
        settings, segment = self.settings, self._segment
        if self._lock is None:
            raise ResourceError("the log was closed", hint="open it again to append")
        with resources(self._files.place):
            full = segment.size >= settings.segment_bytes
            if full or (segment.size >= settings.least_bytes and segment.span >= settings.segment_span):
                self._rotate(self._packer.schema)
                self._durable = self._written
            segment.write(kind, settings.fsync, **record)

    def _rotate(self, schema: Any) -> None:
        with resources(self._files.place):
            if self._segment.bare:
                # A segment is named after its first entry, and the next must have another name: write an
                # empty batch between them.
                body = self._packer.pack(pl.DataFrame(schema=dtypes_of(self._packer.schema))).serialize()
                self._segment.write(RecordKind.ROWS, self.settings.fsync, body=body)
            self._segment.rotate(schema, self._producers, self.note)

    def _sync_if_due(self) -> None:
        match self.settings.fsync:
            case Fsync.ALWAYS:
                self._durable = self._written
            case Fsync.INTERVAL if self._clock() - self._synced_at >= self.settings.fsync_interval / 1e6:
                # The append itself succeeded. If it could not be made durable, `flush` will report that.
                self._synced_at = self._clock()
                with contextlib.suppress(ResourceError):
                    self.flush()
            case _:
                pass
