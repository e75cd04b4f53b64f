"""Repairs a damaged log: keeps every record that can be read, moves damaged files aside, and puts on record
what is lost.

    quarantine/1-<segment>     the file as it was found; nothing is ever deleted from here
    <segment>                  its intact records, as they were written
    manifest                   the losses, so that readers pass over them and no position is used twice

The laws: a copy in quarantine is durable before the damaged file is replaced. A record that can be read is not
changed. A position that anybody has committed is not used again. Repairing an intact log changes nothing. A
repair that was interrupted can be done again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from nilometer.errors import DataError
from nilometer.log.files import Files
from nilometer.log.formats import FormatError
from nilometer.log.gaps import lost_end, orphans
from nilometer.log.manifest import FILE, Loss, Manifest, manifest_of, not_recorded
from nilometer.log.readers import ENDING, FOLDER, readable_offsets, stored_offset
from nilometer.log.record import ENTRIES, Encoder, Header, RecordKind, Records
from nilometer.log.resources import resources
from nilometer.log.schema import to_bytes
from nilometer.log.segment import (
    Contents,
    Damage,
    Index,
    SegmentId,
    Tally,
    contents_of,
    index_of,
    segment_ids,
)
from nilometer.log.verify import wrong_rows
from nilometer.log.writer import NOBODY, Committed, locked

QUARANTINE = "quarantine"


@dataclass
class Repaired:
    """The files that were moved aside, the losses that were put on record, and further remarks."""

    place: str
    moved: list[str] = field(default_factory=list)
    lost: list[Loss] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """The number of rows that are lost."""
        return sum(loss.rows for loss in self.lost)

    def __bool__(self) -> bool:
        return bool(self.moved or self.lost or self.remarks)


def repair(files: Files, committed: Committed = NOBODY) -> Repaired:
    """Repair a log that nobody writes. `committed` gives the offsets that others have committed."""
    lock = locked(files)
    try:
        with resources(files.place):
            return _Repair(files, committed).run()
    finally:
        lock.release()


class _Repair:
    def __init__(self, files: Files, committed: Committed) -> None:
        self._files = files
        self._committed = committed
        self._done = Repaired(files.place)
        try:
            self._manifest = manifest_of(files)
        except FormatError:
            raise
        except DataError:
            self._move(FILE)
            self._manifest = None

    def run(self) -> Repaired:
        ids = segment_ids(self._files)
        end = ids[0] if ids else SegmentId(0, 0)
        if self._manifest is not None and self._manifest.first < end:
            self._lose([(self._manifest.first, end)], "segments before the first one are missing")
        for number, segment in enumerate(ids):
            following = ids[number + 1] if number + 1 < len(ids) else None
            end = self._segment(segment, following)
        self._readers()
        known = readable_offsets(self._files)
        told = {f"reader '{name}'": SegmentId(at.number, at.position) for name, at in known.items()}
        on_record = max((loss.end for loss in self._recorded), default=end)
        beyond = lost_end(self._files, max(end, on_record), {**told, **self._committed()})
        if beyond is not None:
            # Both numbers never fall, so the greatest of each is beyond all that anybody knows.
            self._lose([(end, beyond.known)], f"the log ended before {beyond.who}")
        for name in orphans(self._files):
            self._move(name)
        if self._done.lost or (self._manifest is None and ids):
            first = (
                self._manifest.first if self._manifest is not None else (ids[0] if ids else SegmentId(0, 0))
            )
            last = max([*ids, self._manifest.last if self._manifest is not None else first])
            torn = self._manifest.torn if self._manifest is not None else (0, 0)
            kept = Manifest(first, last, (*self._recorded, *self._done.lost), torn)
            self._files.replace(FILE, kept.to_bytes())
        return self._done

    @property
    def _recorded(self) -> tuple[Loss, ...]:
        return self._manifest.lost if self._manifest is not None else ()

    def _lose(self, ranges: Iterable[tuple[SegmentId, SegmentId]], why: str) -> None:
        for start, end in ranges:
            found = not_recorded(self._manifest, start, end)
            self._done.lost += [Loss(loss.start, loss.end, why) for loss in found]

    def _move(self, name: str) -> None:
        """Copy a file to the quarantine, durably, and then delete it."""
        self._copy(name)
        self._files.delete(name)

    def _copy(self, name: str) -> None:
        number = len(self._files.names(QUARANTINE)) + 1
        aside = f"{QUARANTINE}/{number}-{name.replace('/', '-')}"
        self._files.replace(aside, bytes(self._files.read(name)))
        self._done.moved.append(aside)

    # ---- one segment -------------------------------------------------------------------------------------------------

    def _segment(self, segment: SegmentId, following: SegmentId | None) -> SegmentId:
        """Repair a segment. Returns the offset after its last entry."""
        index: Index | None = None
        missing = False
        try:
            index = index_of(self._files, segment)
            missing = index is None and following is not None
        except FormatError:
            raise
        except DataError:
            self._move(segment.index_name)
            missing = True
        damages: list[Damage] = []
        contents = contents_of(self._files, segment, index, on_damage=damages.append)
        torn = contents.torn if index is None else 0
        schema = contents.schema(lambda _: None)
        if not damages and not torn and schema is not None:
            if missing:
                self._seal(segment, contents)
            return self._passed(segment, [header for header, _ in contents], index, following, "a gap")
        self._copy(segment.name)
        why = damages[0].what if damages else "its schema is lost" if schema is None else "a torn tail"
        records = self._intact(segment, contents, schema)
        if index is not None:
            self._files.delete(segment.index_name)
        if records:
            self._files.replace(segment.name, b"".join(records))
            if following is not None:
                self._seal(segment, contents_of(self._files, segment, None))
        else:
            self._files.delete(segment.name)
            self._done.remarks.append(f"nothing in {segment.name} can be read")
        headers = [header for header, _ in contents if header.kind in ENTRIES] if records else []
        return self._passed(segment, headers, index, following, why)

    def _passed(
        self,
        segment: SegmentId,
        headers: list[Header],
        index: Index | None,
        following: SegmentId | None,
        why: str,
    ) -> SegmentId:
        """Put the entries that are missing in a segment, and between it and the next, on record."""
        missing = []
        reached = segment
        for header in headers:
            if header.kind in ENTRIES:
                at = SegmentId(header.number, header.position)
                if at > reached:
                    missing.append((reached, at))
                reached = SegmentId(header.number + 1, header.position + header.rows)
        end = following
        if end is None and index is not None:
            end = SegmentId(index.end_number, index.end_position)
        if end is not None and end > reached:
            missing.append((reached, end))
        self._lose(missing, why)
        return max(reached, end or reached)

    def _intact(self, segment: SegmentId, contents: Contents, schema: Any) -> list[bytes]:
        """The records that can be read, with a schema of a neighbour if theirs is lost."""
        records = [(header, run, _bytes_of(header, run)) for header, run in contents]
        if schema is not None:
            return [data for _, _, data in records]
        schema = self._neighbour_schema(segment)
        rows = [each for each in records if each[0].kind == RecordKind.ROWS]
        if schema is None or any(wrong_rows(header, run, schema) for header, run, _ in rows):
            return []
        head, _ = Encoder().encode(
            RecordKind.SCHEMA, position=segment.position, number=segment.number, body=to_bytes(schema)
        )
        return [bytes(head), *(data for _, _, data in records)]

    def _neighbour_schema(self, segment: SegmentId) -> Any:
        """The schema of the segment before, else of the one after."""
        ids = segment_ids(self._files)
        before = [each for each in reversed(ids) if each < segment]
        for each in [*before, *(each for each in ids if each > segment)]:
            found = contents_of(self._files, each, None, on_damage=lambda _: None).schema(lambda _: None)
            if found is not None:
                return found
        return None

    def _seal(self, segment: SegmentId, contents: Contents) -> None:
        tally = Tally(segment)
        for header, _ in contents:
            tally.add_header(header)
        self._files.replace(segment.index_name, tally.index().to_bytes())
        self._done.remarks.append(f"the index of {segment.name} was made again")

    # ---- beside the segments -----------------------------------------------------------------------------------------

    def _readers(self) -> None:
        for file in self._files.names(FOLDER):
            try:
                stored_offset(self._files, file.removesuffix(ENDING))
            except DataError:
                self._move(f"{FOLDER}/{file}")
                self._done.remarks.append(f"reader '{file.removesuffix(ENDING)}' has no offset any more")


def _bytes_of(header: Header, run: Records) -> bytes:
    return bytes(run.buffer.slice(header.start - run.base, header.end - header.start))
