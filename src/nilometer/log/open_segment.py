"""The open segment at the end of a log, and the rotation to the next one.

A failed step changes nothing: a record that could not be written or made durable is taken back; a rotation
that failed half way is completed by the next append.
"""

from __future__ import annotations

from typing import Any

from nilometer.log.annex import Note, annex_to_bytes
from nilometer.log.files import Appender, Files
from nilometer.log.manifest import Loss, begun
from nilometer.log.producers import Producers
from nilometer.log.record import UNKNOWN, Encoder, RecordKind
from nilometer.log.recovery import Recovered
from nilometer.log.schema import to_bytes
from nilometer.log.segment import SegmentId, Tally, segment_ids
from nilometer.log.settings import Fsync


class OpenSegment:
    """Raises OSErrors. `end` is the number of the next entry and the position of the next row."""

    def __init__(self, files: Files, found: Recovered) -> None:
        self._files = files
        self._encoder = Encoder()
        self._appender: Appender | None = None
        self._tally = found.tally
        self._size = found.size
        self._sealed = found.sealed
        self._damaged = bool(found.damages)
        self._end = found.end
        if self._tally is not None and not self._sealed:
            # A process died here. Its writes may be only in the system's memory, and a repeated append of
            # them will be acknowledged. Opening the file again cuts off the torn tail and makes the rest
            # durable.
            if self._damaged:
                name = self._tally.segment.name
                files.append_to(name, files.size(name)).close()
            else:
                self._reopened(found.settled)

    @property
    def end(self) -> SegmentId:
        """The offset of the next entry."""
        return self._end

    @property
    def size(self) -> int:
        """The length of the segment in bytes."""
        return self._size

    @property
    def span(self) -> int:
        """The time that its rows span."""
        return self._tally.span if self._tally is not None else 0

    @property
    def bare(self) -> bool:
        """Whether it has letters or demands but no entry: the next segment would get the same name."""
        tally = self._tally
        return tally is not None and tally.beside > 0 and self._end == tally.segment and not self._damaged

    @property
    def must_rotate(self) -> bool:
        """Whether there is no segment, or it is damaged, or what follows it is on record as lost."""
        return self._tally is None or self._damaged or self._end != self._tally.end

    def write(
        self,
        kind: RecordKind,
        fsync: Fsync,
        *,
        rows: int = 0,
        times: tuple[int, int] = (UNKNOWN, UNKNOWN),
        arrived: int = UNKNOWN,
        body: Any = b"",
        annex: bytes = b"",
    ) -> None:
        """Write one record, all of it or nothing."""
        appender = self._appender if self._appender is not None else self._reopened()
        assert self._tally is not None, "a log without a segment"
        data, checksum = self._encoder.encode(
            kind,
            position=self._end.position,
            number=self._end.number,
            rows=rows,
            times=times,
            arrived=arrived,
            settled=appender.size if fsync is Fsync.NEVER else appender.synced,
            body=body,
            annex=annex,
        )
        length = len(data)
        try:
            appender.write(data)
            if fsync is Fsync.ALWAYS:
                appender.sync()
        except OSError:
            if appender.size != self._size:
                self._take_back(appender)
            raise
        self._size += length
        self._tally.add(kind, rows, times, length, checksum)
        self._end = self._tally.end

    def sync(self) -> None:
        """Make the segment durable."""
        if self._appender is not None and self._appender.synced < self._appender.size:
            self._appender.sync()

    def rotate(self, schema: Any, producers: Producers, note: Note | None) -> None:
        """Seal this segment, if there is anything in it, and begin the next."""
        assert not self.bare, "a segment is named after the entries before it"
        if self._tally is not None and self._end != self._tally.segment and not self._damaged:
            self.seal()
        self._let_go()
        end = self._end
        passed: tuple[Loss, ...] = ()
        if self._damaged and self._tally is not None and end == self._tally.segment:
            # Nothing in it can be read, but we must not overwrite it: the next segment gets another name.
            end = SegmentId(end.number + 1, end.position)
            passed = (Loss(self._end, end, f"{self._end.name} cannot be read"),)
        tally = Tally(end)
        pieces = []
        records = [(RecordKind.SCHEMA, to_bytes(schema), b"")]
        if len(producers) or note is not None:
            records.append((RecordKind.PRODUCERS, producers.to_bytes(), annex_to_bytes((), note)))
        for kind, body, annex in records:
            data, checksum = self._encoder.encode(
                kind, position=end.position, number=end.number, body=body, annex=annex
            )
            pieces.append(bytes(data))
            tally.add(kind, 0, (UNKNOWN, UNKNOWN), len(data), checksum)
        if self._sealed and self._tally is not None and self._tally.segment == end:
            # Nothing was written to it before it was closed: it gets a new head, which its index does not
            # know.
            self._files.delete(end.index_name)
            self._sealed = False
        self._files.replace(end.name, b"".join(pieces))
        begun(self._files, end, segment_ids(self._files), passed)
        self._tally, self._size, self._end = tally, tally.size, end
        self._sealed = self._damaged = False

    def seal(self) -> None:
        """Write the index."""
        assert self._tally is not None, "a log without a segment"
        if self._sealed:
            return
        self.sync()
        self._files.seal(self._tally.segment.name)
        self._let_go()
        self._files.replace(self._tally.segment.index_name, self._tally.index().to_bytes())
        self._sealed = True

    def let_go(self) -> None:
        """Close the file; makes nothing durable."""
        self._let_go()

    def _reopened(self, settled: int | None = None) -> Appender:
        """Prepare a closed segment for writing. The index is deleted first: after the next append it would be
        wrong. One may be there although the segment does not count as sealed, if the last step of that failed.
        """
        assert self._tally is not None, "a log without a segment"
        self._files.delete(self._tally.segment.index_name)
        self._sealed = False
        self._appender = self._files.append_to(self._tally.segment.name, self._size, settled)
        return self._appender

    def _let_go(self) -> None:
        if self._appender is not None:
            self._appender.close()
            self._appender = None

    def _take_back(self, appender: Appender) -> None:
        try:
            appender.cut(self._size)
        except OSError:
            # Opening it again will cut it, or fail until it can.
            self._let_go()
