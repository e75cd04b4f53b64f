"""The one writer of a log: appends, heartbeats, and when they are durable.

An append is one record: its rows and the producer's sequence stand or fall together. The laws: what `append` returned for
survives the death of the process (unless it was gathered), what `flush` returned for survives a power cut; an append
that raised left nothing behind, and the next one may succeed; positions run on without a gap, whatever happens.

Rotation: the open segment is made durable, its index is written aside and renamed, then the next segment, which begins with
schema and producers, is written aside and renamed. After a crash between any two of these steps the log is whole.
"""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from nilometer.edge.log.files import Files, Lock
from nilometer.edge.log.open_segment import OpenSegment
from nilometer.edge.log.producers import Mark, marks_to_bytes
from nilometer.edge.log.reader import Offset, schema_of
from nilometer.edge.log.record import UNKNOWN, RecordKind
from nilometer.edge.log.recovery import recover
from nilometer.edge.log.schema import Dtypes, Packer, arrow_schema, check_change, time_column_of
from nilometer.edge.log.segment import segment_ids
from nilometer.edge.log.settings import Fsync, LogSettings
from nilometer.errors import ConfigurationError, DataError, ResourceError


@dataclass(frozen=True, slots=True)
class Token:
    """The receipt of an append: its first position and number of rows. `duplicate`: the log had it before. `ticket` is
    what the writer goes by to say whether it is durable."""

    position: int
    rows: int
    ticket: int
    duplicate: bool = False


class LogWriter:
    """Holds the lock from construction to `close`. `torn` bytes were cut off; `damages` stay to be reported. Of one thread."""

    def __init__(
        self,
        files: Files,
        schema: Dtypes | None = None,
        settings: LogSettings | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings or LogSettings()
        self._files = files
        self._clock = clock
        self._held: list[pl.DataFrame] = []
        self._held_marks: dict[Mark, None] = {}
        self._held_rows = 0
        self._held_arrived = UNKNOWN
        self._tickets = self._written = self._durable = 0
        self._synced_at = clock()
        self._lock: Lock | None = self._locked()
        try:
            self._open(schema)
        except BaseException:
            self.abandon()
            raise

    # ---- what a writer does ------------------------------------------------------------------------------------------

    def append(
        self,
        rows: pl.DataFrame,
        *,
        producer: str | None = None,
        sequence: int | None = None,
        arrived: int | None = None,
    ) -> Token:
        """Append readings in the log's columns. With `producer` and `sequence`, a second time does nothing."""
        marks: list[Mark] = []
        if producer is not None and sequence is not None:
            marks = [(producer, sequence)]
            if marks[0] in self._held_marks or self._producers.seen(producer, sequence):
                return Token(self.end.position, 0, self._tickets, duplicate=True)
        elif producer is not None or sequence is not None:
            raise ConfigurationError("a producer has a sequence, and a sequence its producer")
        if not rows.height and not marks:
            return Token(self.end.position, 0, self._tickets)
        stamp = UNKNOWN if arrived is None else arrived
        if rows.height < self.settings.gather_rows:
            position = self.end.position
            self._hold(rows, marks, stamp)
        else:
            self._write_held()
            position = self.end.position
            self._write_rows(rows, marks, stamp)
            self._written = self._tickets + 1
        self._tickets += 1
        token = Token(position, rows.height, self._tickets)
        self._sync_if_due()
        return token

    def heartbeat(self, tick: int) -> Token:
        """A promise, in band: from here on, no tuple with an earlier tick."""
        self._write_held()
        self._write(RecordKind.HEARTBEAT, times=(tick, tick))
        self._tickets += 1
        self._written = self._tickets
        token = Token(self.end.position, 0, self._tickets)
        self._sync_if_due()
        return token

    def flush(self) -> Offset:
        """Make everything durable; gives where the log ends."""
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
            with contextlib.suppress(FileNotFoundError):  # retention was faster
                check_change(schema_of(self._files, segment), new)
        self._write_held()
        with resources(self._files.place):
            self._segment.rotate(new, self._producers)
        self._take_schema(new)

    def close(self) -> None:
        """Make everything durable, seal the segment, let another writer in."""
        if self._lock is None:
            return
        try:
            self.flush()
            if not self._segment.must_rotate:
                # Everything is durable by now: without room for its index the segment just stays open.
                with contextlib.suppress(OSError):
                    self._segment.seal()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go without making anything durable, as the death of the process would."""
        if hasattr(self, "_segment"):
            self._segment.let_go()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def end(self) -> Offset:
        """Where the next append begins, held rows included."""
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

    def _locked(self) -> Lock:
        try:
            with resources(self._files.place):
                return self._files.lock()
        except BlockingIOError as holder:
            raise ResourceError(
                f"the log at {self._files.place} is being written by {holder}",
                hint="a log has one writer at a time; any number may read it",
            ) from None

    def _open(self, schema: Dtypes | None) -> None:
        with resources(self._files.place):
            found = recover(self._files)
            self.torn = found.torn
            self.damages = tuple(found.damages)
            self._producers = found.producers
            self._segment = OpenSegment(self._files, found)
        if found.schema is None and schema is None:
            raise DataError(
                f"there is no log at {self._files.place}", hint="give the columns with which to begin one"
            )
        first = found.schema if found.schema is not None else arrow_schema(schema or {})
        self._take_schema(first)
        if self._segment.must_rotate:
            with resources(self._files.place):
                self._segment.rotate(first, self._producers)
        if schema is not None:
            self.evolve(schema)

    def _take_schema(self, schema: Any) -> None:
        self._packer = Packer(schema)
        self._time_column = time_column_of(schema)

    # ---- writing -----------------------------------------------------------------------------------------------------

    def _hold(self, rows: pl.DataFrame, marks: list[Mark], arrived: int) -> None:
        """Gather small appends; one that fills the measure and cannot be written is not kept."""
        rows = self._packer.conformed(rows)
        before = self._held_arrived
        self._held.append(rows)
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
            self._held_arrived = before
            raise
        finally:
            self._tickets -= 1

    def _write_held(self) -> None:
        if not self._held:
            return
        rows = self._held[0] if len(self._held) == 1 else pl.concat(self._held)
        held, self._held_rows = self._held_rows, 0
        try:
            self._write_rows(rows, list(self._held_marks), self._held_arrived)
        except BaseException:
            self._held_rows = held
            raise
        self._held, self._held_marks, self._held_arrived = [], {}, UNKNOWN
        self._written = self._tickets

    def _write_rows(self, rows: pl.DataFrame, marks: list[Mark], arrived: int) -> None:
        batch = self._packer.pack(rows)
        times = (UNKNOWN, UNKNOWN)
        if self._time_column is not None and self._time_column in rows.columns:
            column = rows.get_column(self._time_column)
            least, greatest = column.min(), column.max()
            if isinstance(least, int) and isinstance(greatest, int):
                times = (least, greatest)
        annex = marks_to_bytes(marks)
        self._write(
            RecordKind.ROWS,
            rows=rows.height,
            times=times,
            arrived=arrived,
            body=batch.serialize(),
            annex=annex,
        )
        for producer, sequence in marks:
            self._producers.mark(producer, sequence)

    def _write(self, kind: RecordKind, **record: Any) -> None:
        settings, segment = self.settings, self._segment
        if self._lock is None:
            raise ResourceError("the log was closed", hint="open it again to append")
        with resources(self._files.place):
            full = segment.size >= settings.segment_bytes
            if full or (segment.size >= settings.least_bytes and segment.span >= settings.segment_span):
                segment.rotate(self._packer.schema, self._producers)
                self._durable = self._written
            segment.write(kind, settings.fsync, **record)

    def _sync_if_due(self) -> None:
        match self.settings.fsync:
            case Fsync.ALWAYS:
                self._durable = self._written
            case Fsync.INTERVAL if self._clock() - self._synced_at >= self.settings.fsync_interval / 1e6:
                # The append itself succeeded. What could not be made durable stays so, and `flush` will say it.
                self._synced_at = self._clock()
                with contextlib.suppress(ResourceError):
                    self.flush()
            case _:
                pass


@contextlib.contextmanager
def resources(place: str) -> Iterator[None]:
    """What the operating system refuses is a ResourceError."""
    try:
        yield
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise ResourceError(
                f"the disk is full: the log at {place} takes no more",
                detail="what failed left nothing behind",
                hint="make space (nilometer log trim), then try again",
            ) from error
        raise ResourceError(f"the log at {place} cannot be written", detail=str(error)) from error
