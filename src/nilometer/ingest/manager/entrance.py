"""The entrance: validates and deduplicates readings, appends them to the stream's log, and keeps the books.

A reading without a time is garbled. A reading stamped more than FUTURE ahead of its arrival is quarantined. A
reading whose KEY the log holds is a duplicate; a sensed stream without a KEY has the key (id, tick), see
design.md. All others are appended. Garbled and quarantined readings go to the dead letters, with the reason
and the bytes (a quarantined row as JSON).

The laws: received = appended + garbled + future + duplicate + shed + absorbed, at any moment and after a crash at any
moment. The books are written as the note of the record that holds the rows, so a result is in both or in
neither. How a source cuts readings into results changes only how they are cut in the log. A result that could
not be written leaves nothing behind except, perhaps, its letters, and may be given again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from nilometer.algebra.summary import READINGS
from nilometer.catalog.extents import Stream
from nilometer.dataflow.ledger import StreamLedger
from nilometer.dataflow.sources import Batch, Summaries
from nilometer.ingest.adapters.adapter import ReadResult
from nilometer.ingest.manager.known_ids import KnownIds
from nilometer.ingest.manager.seen_keys import LIMIT, SeenKeys, key_of
from nilometer.ingest.manager.seen_summaries import SeenSummaries
from nilometer.ingest.manager.unit_before import UnitBefore
from nilometer.ingest.payloads import FieldCounts
from nilometer.log import Letter, StreamLog
from nilometer.log import letters as dead
from nilometer.log.record import ENTRIES, RecordKind
from nilometer.log.segment import look, segment_ids
from nilometer.types import HOUR, MINUTE, SECOND

SOURCES = 16
"""For how many sources of a stream the log remembers how far they were read."""


class Entrance:
    """The one way into a stream's log. It takes the log's writer. `source` (a URL) names the origin of
    numbered readings. `consumed` counts the readings of each part of it that are dealt with: there the source
    resumes.
    """

    def __init__(self, stream: Stream, log: StreamLog, *, source: str = "", keys: int = LIMIT) -> None:
        self.stream = stream
        self.log = log
        note = log.writer.note or {}
        held = log.end.position
        # The log may be older than the books: then all its rows count as received and appended.
        books = note.get("ledger", {"received": held, "appended": held})
        self.ledger = StreamLedger(**books)
        self._noted: StreamLedger | None = self.ledger
        self.fields = FieldCounts.from_json(note.get("fields"))
        """The fields that payloads lacked, or had beyond the declaration."""
        self.sessions: dict[str, int] = dict(note.get("sessions", {}))
        """The sessions that servers keep for us, and how often each was lost."""
        self._source = source
        # The log may be older than the parts of sources: then it has one count for all parts, under "".
        self._consumed: dict[str, dict[str, int]] = {
            each: {"": parts} if isinstance(parts, int) else parts
            for each, parts in note.get("consumed", {}).items()
        }
        self._lettered: ReadResult | None = None
        time = stream.column("time")
        assert time is not None, "a stream without a time"
        self._time = time.name
        self._before = UnitBefore(stream, note.get("through")) if stream.form.through is not None else None
        self.ids = KnownIds()
        log.keep_key()
        columns = key_of(stream)
        self.keys = SeenKeys(stream, columns, log, keys) if columns else None
        self._summaries: SeenSummaries | None = None

    @property
    def consumed(self) -> Mapping[str, int]:
        """How many numbered readings of each part of the source are dealt with. The source resumes there."""
        return self._consumed.get(self._source, {})

    def greatest(self) -> int | None:
        """The greatest event time of the newest segment that has any. A heartbeat counts as the moment before
        its tick."""
        files = self.log.files
        for segment in reversed(segment_ids(files)):
            # Damage is ignored here: the readers of the rows report it.
            _, records = look(files, segment, on_damage=lambda _: None)
            times = [
                header.greatest_time - (header.kind == RecordKind.HEARTBEAT)
                for header, _ in records
                if header.kind in ENTRIES and header.timed
            ]
            if times:
                return max(times)
        return None

    def admit(
        self, result: ReadResult, now: int | None = None, *, lead: int = 0, end: int | None = None
    ) -> Batch | Summaries | None:
        """Append the accepted readings of a result and return them. `lead`: how far the clock that stamped
        the arrival had been set back. `end`: how far the source has been read after the result, if part of it
        was shed. Raises ResourceError, and then nothing has changed."""
        arrived = None if result.arrived is None else result.arrived + lead
        if result.summaries is not None:
            return self._admit_summaries(result, result.summaries, arrived, now)
        rows, letters, repeated = self._unread(result)
        rows, refused, garbled, future = self._sorted_out(rows, arrived, now)
        rows, strange = self._of_known_ids(rows, arrived if arrived is not None else now)
        refused += strange
        garbled += sum(frame.height for frame in strange)
        absorbed = 0
        if self._before is not None:
            taken = self._before.take(rows)
            rows, absorbed = taken.rows, taken.absorbed
            for reason, frame in taken.refused:
                refused.append(
                    self._quarantined(frame, pl.lit(reason), arrived if arrived is not None else now)
                )
                garbled += frame.height
        before = rows.height
        if self.keys is not None:
            rows = self.keys.fresh(rows)
        delta = StreamLedger(
            received=result.received,
            appended=rows.height,
            garbled=garbled + sum(letter.count for letter in letters),
            future=future,
            duplicate=before - rows.height + repeated,
            absorbed=absorbed,
        )
        if not result.received:
            return None
        frame = dead.frame_of(_letters(letters, arrived, now))
        if refused:
            frame = pl.concat([frame, *refused])
        consumed = self._consumed
        if result.sequence is not None:
            reached = end if end is not None else result.sequence + result.received
            others = [(k, v) for k, v in consumed.items() if k != self._source][-SOURCES + 1 :]
            parts = dict(self._parts(result))
            parts[result.part] = max(parts.get(result.part, 0), reached)
            consumed = dict(others) | {self._source: parts}
        fields = self.fields if repeated else self.fields + result.fields
        try:
            self._write(result, rows, frame, arrived, self._note(self.ledger + delta, consumed, fields))
        except Exception:
            if self._before is not None:
                self._before.undo()
            raise
        self.ledger = self._noted = self.ledger + delta
        self.fields = fields
        self._consumed = consumed
        if self.keys is not None:
            self.keys.remember(rows)
        return Batch(rows) if rows.height else None

    def _admit_summaries(
        self, result: ReadResult, summaries: pl.DataFrame, arrived: int | None, now: int | None
    ) -> Summaries | None:
        """Append the summaries of a result, which has no rows. Each is accepted or refused as a whole."""
        assert not result.rows.height, "readings and summaries in one result"
        stamp = arrived if arrived is not None else now
        letters = [dead.frame_of(_letters(result.garbled, arrived, now))]
        rows, future = summaries, 0
        if arrived is not None and rows.height:
            early = rows.get_column(self._time) > arrived + self.stream.future
            if early.any():
                refused = rows.filter(early)
                future = int(refused.get_column(READINGS).sum())
                letters.append(self._quarantined(refused, pl.lit("a summary from the future"), stamp))
                rows = rows.filter(~early)
        before = int(rows.get_column(READINGS).sum())
        if self._summaries is None:
            self._summaries = SeenSummaries(self.stream, self.log)
        rows = self._summaries.fresh(rows)
        appended = int(rows.get_column(READINGS).sum())
        delta = StreamLedger(
            received=result.received,
            appended=appended,
            garbled=result.garbled_count,
            future=future,
            duplicate=before - appended,
        )
        if not result.received:
            return None
        note = self._note(self.ledger + delta, self._consumed, self.fields)
        frame, writer = pl.concat(letters), self.log.writer
        if rows.height:
            if frame.height and self._lettered is not result:
                writer.letters(frame)
                self._lettered = result
            times = rows.get_column(self._time)
            writer.summaries(rows, times=(int(times.min()), int(times.max())), note=note)  # type: ignore[arg-type]
        else:
            writer.letters(frame, note=note)
        self._lettered = None
        self.ledger = self._noted = self.ledger + delta
        self._summaries.remember(rows)
        return Summaries(rows) if rows.height else None

    def session(self, name: str, lost: int = 0) -> None:
        """Remember that a server keeps this session for us, and that it has lost it so many times more. Durable with
        the next record."""
        if lost or name not in self.sessions:
            kept = [(each, count) for each, count in self.sessions.items() if each != name][-SOURCES + 1 :]
            self.sessions = dict(kept) | {name: self.sessions.get(name, 0) + lost}
            self._noted = None

    def shed(self, readings: int) -> None:
        """Count readings that were received and shed. The count is durable with the next record."""
        self.ledger += StreamLedger(received=readings, shed=readings)

    def settle(self) -> None:
        """Write the books if they have changed since they were last written to the log."""
        if self.ledger != self._noted:
            self.log.writer.letters([], note=self._note(self.ledger, self._consumed, self.fields))
            self._noted = self.ledger

    # ---- step by step ----------------------------------------------------------------------------------------------------

    def _unread(self, result: ReadResult) -> tuple[pl.DataFrame, tuple[Any, ...], int]:
        """The rows and letters that are new to the log, and the number of readings that are not. In a
        source's numbering the garbled readings come first."""
        over = 0
        if result.sequence is not None:
            over = max(0, self._parts(result).get(result.part, 0) - result.sequence)
        if not over:
            return result.rows, result.garbled, 0
        garbled = result.garbled_count
        over = min(max(over, garbled), result.received)
        return result.rows[over - garbled :], (), over

    def _parts(self, result: ReadResult) -> Mapping[str, int]:
        """How far each part of the source was read before this result."""
        return self.consumed if result.kept is None else result.kept

    def _sorted_out(
        self, rows: pl.DataFrame, arrived: int | None, now: int | None
    ) -> tuple[pl.DataFrame, list[pl.DataFrame], int, int]:
        refused: list[pl.DataFrame] = []
        stamp = arrived if arrived is not None else now
        garbled = future = 0
        times = rows.get_column(self._time)
        if times.null_count():
            timeless = rows.filter(times.is_null())
            refused.append(self._quarantined(timeless, pl.lit("a reading without a time"), stamp))
            garbled = timeless.height
            rows = rows.filter(times.is_not_null())
        if arrived is not None and rows.height:
            ahead = rows.get_column(self._time) - arrived
            if int(ahead.max()) > self.stream.future:  # type: ignore[arg-type]
                early = ahead > self.stream.future
                seconds = (ahead.filter(early) // SECOND).cast(pl.String)
                reason = (
                    "stamped "
                    + seconds
                    + " seconds ahead of its arrival"
                    + _perhaps_local(ahead.filter(early))
                )
                refused.append(self._quarantined(rows.filter(early), reason, stamp))
                future = int(early.sum())
                rows = rows.filter(~early)
        return rows, refused, garbled, future

    def _of_known_ids(self, rows: pl.DataFrame, stamp: int | None) -> tuple[pl.DataFrame, list[pl.DataFrame]]:
        """The readings of ids for which there is room, and the others as letters."""
        identity = self.stream.column("id")
        if identity is None or not rows.height:
            return rows, []
        beyond = self.ids.beyond(rows.get_column(identity.name))
        if beyond is None:
            return rows, []
        reason = pl.lit(f"a new id, and the stream has sent {self.ids.most:,} ids already")
        return rows.filter(~beyond), [self._quarantined(rows.filter(beyond), reason, stamp)]

    def _quarantined(
        self, rows: pl.DataFrame, reason: pl.Expr | pl.Series, arrived: int | None
    ) -> pl.DataFrame:
        """Rows as dead letters."""
        identity = self.stream.column("id")
        source = pl.lit("") if identity is None else pl.col(identity.name).cast(pl.String).fill_null("")
        return rows.select(
            pl.lit(arrived, dtype=pl.Int64).alias("arrived"),
            source.alias("source"),
            (reason if isinstance(reason, pl.Expr) else pl.lit(reason)).alias("reason"),
            pl.struct(pl.all()).struct.json_encode().cast(pl.Binary).alias("payload"),
            pl.lit(1, dtype=pl.Int64).alias("count"),
        )

    def _write(
        self,
        result: ReadResult,
        rows: pl.DataFrame,
        letters: pl.DataFrame,
        arrived: int | None,
        note: dict[str, Any],
    ) -> None:
        writer = self.log.writer
        if rows.height:
            # The letters come first and are not counted yet. If writing the rows fails, the result comes
            # again, and a letter may stand in the log twice.
            if letters.height and self._lettered is not result:
                writer.letters(letters)
                self._lettered = result
            writer.append(rows, arrived=arrived, note=note)
            writer.written()
        else:
            writer.letters(letters, note=note)
        self._lettered = None

    def _note(
        self, ledger: StreamLedger, consumed: dict[str, dict[str, int]], fields: FieldCounts
    ) -> dict[str, Any]:
        counts: dict[str, Any] = {"fields": fields.as_json()} if fields else {}
        counts |= {"sessions": self.sessions} if self.sessions else {}
        counts |= {"through": self._before.note()} if self._before is not None else {}
        return {"ledger": ledger.as_dict()} | ({"consumed": consumed} if consumed else {}) | counts


def _perhaps_local(ahead: pl.Series) -> pl.Series:
    """A hint for readings that are ahead by what a time zone differs from UTC, less the way to us."""
    short = -ahead % (15 * MINUTE)
    zone = (ahead > 25 * MINUTE) & (ahead < 15 * HOUR) & (short < 2 * MINUTE)
    hint = pl.when(zone).then(pl.lit(": a local time? FORMAT ... (TIMEZONE '...') names its zone"))
    return pl.select(hint.otherwise(pl.lit(""))).to_series()


def _letters(garbled: tuple[Any, ...], arrived: int | None, now: int | None) -> list[Letter]:
    stamp = arrived if arrived is not None else now
    return [Letter(stamp, letter.source, letter.reason, letter.payload, letter.count) for letter in garbled]
