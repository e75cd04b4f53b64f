"""One segment of a log: a file of records, named by its first position, and an index file, written when the
segment is sealed.

    00000000000000081000-000000000093.segment    first row's position, first entry's number
    00000000000000081000-000000000093.index      what is in it, and the checksum of its records' checksums

The laws: a segment without an index is open, and only the last segment is open. A sealed segment agrees with
its index to the last bit. An open segment is a run of whole records and perhaps a torn tail. Records that a
later record calls settled do not belong to the tail.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from nilometer.errors import DataError
from nilometer.log.checksum import checksum_of, next_record, words_of, xxh64
from nilometer.log.files import Files
from nilometer.log.formats import STAMP, FormatError, check_format, unknown_format
from nilometer.log.record import (
    BESIDE,
    ENTRIES,
    UNKNOWN,
    Header,
    RecordKind,
    Records,
    foreign_magic,
    header_at,
    records_in,
)
from nilometer.log.schema import from_bytes

SEGMENT = ".segment"
INDEX = ".index"
FORMAT = 1
"""The format of an index, and of the segment that it seals."""


@dataclass(frozen=True, order=True, slots=True)
class SegmentId:
    """Identifies a segment by the number of its first entry and the position of its first row."""

    number: int
    position: int

    @property
    def stem(self) -> str:
        """The file name without its extension."""
        return f"{self.position:020d}-{self.number:012d}"

    @property
    def name(self) -> str:
        """The name of the file of records."""
        return self.stem + SEGMENT

    @property
    def index_name(self) -> str:
        """The name of the index file, which seals the segment."""
        return self.stem + INDEX


def segment_ids(files: Files) -> list[SegmentId]:
    """The segments of a log, the oldest first."""
    found = []
    for name in files.names():
        position, dash, number = name.removesuffix(SEGMENT).partition("-")
        if name.endswith(SEGMENT) and dash and position.isdigit() and number.isdigit():
            found.append(SegmentId(int(number), int(position)))
    return sorted(found)


@dataclass(frozen=True)
class Index:
    """Describes the contents of a sealed segment. `checksum` is over its records' checksums, in order."""

    position: int
    end_position: int
    number: int
    end_number: int
    records: int
    heartbeats: int
    size: int
    least_time: int | None
    greatest_time: int | None
    checksum: str

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.end_position - self.position

    def to_bytes(self) -> bytes:
        """JSON, with a checksum of its own."""
        text = json.dumps(asdict(self), sort_keys=True)
        checksum = f"{checksum_of(text.encode()):016x}"
        return json.dumps({STAMP: FORMAT, "segment": asdict(self), "checksum": checksum}).encode()

    @staticmethod
    def from_bytes(data: bytes, name: str) -> Index:
        """The index that `to_bytes` wrote. Raises DataError for any other bytes."""
        try:
            whole = json.loads(data)
            text = json.dumps(whole["segment"], sort_keys=True)
            if whole["checksum"] == f"{checksum_of(text.encode()):016x}" and set(whole) - {STAMP} == {
                "segment",
                "checksum",
            }:
                check_format(whole, FORMAT, f"the segment of {name}")
                return Index(**whole["segment"])
        except FormatError:
            raise
        except (ValueError, KeyError, TypeError):
            pass
        raise DataError(f"the index {name} of the log is damaged", hint=VERIFY)


def index_of(files: Files, segment: SegmentId) -> Index | None:
    """The index of a segment; None if it is open."""
    try:
        return Index.from_bytes(bytes(files.read(segment.index_name)), segment.index_name)
    except FileNotFoundError:
        return None


def index_or_damage(files: Files, segment: SegmentId, on_damage: OnDamage) -> Index | None:
    """The index of a segment. If it is damaged, that is reported; the records are enough to read the segment."""
    try:
        return index_of(files, segment)
    except FormatError:
        raise
    except DataError as error:
        on_damage(Damage(segment.index_name, 0, files.size(segment.index_name), error.message))
        return None


class Tally:
    """Adds up the contents of a segment, record by record."""

    def __init__(self, segment: SegmentId) -> None:
        self.segment = segment
        self.end = segment
        self.heartbeats = 0
        self.beside = 0
        self.size = 0
        self.least_time: int | None = None
        self.greatest_time: int | None = None
        self._checksums: list[int] = []

    def add(self, kind: int, rows: int, times: tuple[int, int], length: int, checksum: int) -> None:
        """Add a record that was written at the end."""
        self.size += length
        self._checksums.append(checksum)
        self.beside += kind in BESIDE
        if kind in ENTRIES:
            self.end = SegmentId(self.end.number + 1, self.end.position + rows)
        if kind == RecordKind.HEARTBEAT:
            self.heartbeats += 1
        elif times[0] != UNKNOWN:
            self.least_time = times[0] if self.least_time is None else min(self.least_time, times[0])
            self.greatest_time = times[1] if self.greatest_time is None else max(self.greatest_time, times[1])

    def add_header(self, header: Header) -> None:
        """Add a record found in the file. Its own numbers count: records before it may be damaged."""
        if header.kind in ENTRIES:
            self.end = SegmentId(header.number, header.position)
        times = (header.least_time, header.greatest_time)
        self.add(header.kind, header.rows, times, header.end - header.start, header.checksum)

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self._checksums)

    @property
    def span(self) -> int:
        """The time that the rows span."""
        return (
            0
            if self.least_time is None or self.greatest_time is None
            else self.greatest_time - self.least_time
        )

    def index(self) -> Index:
        """The index with which the segment will be sealed."""
        sums = b"".join(checksum.to_bytes(8, "little") for checksum in self._checksums)
        words = words_of(sums)
        return Index(
            self.segment.position,
            self.end.position,
            self.segment.number,
            self.end.number,
            len(self._checksums),
            self.heartbeats,
            self.size,
            self.least_time,
            self.greatest_time,
            f"{int(xxh64(words, 0, len(words))):016x}",
        )


# ---- reading, with every checksum ------------------------------------------------------------------------------------

VERIFY = "nilometer log verify lists what is damaged, nilometer log repair keeps the rest"
GAP = (
    "put the missing segment back; or nilometer log repair puts the loss on record, and reading goes on;"
    " --allow-gaps reads once without it"
)


class GapError(DataError):
    """Entries are missing from a log."""


@dataclass(frozen=True)
class Damage:
    """Bytes of a segment that differ from what was written."""

    segment: str
    start: int
    end: int
    what: str
    gap: bool = False
    """Whether entries are missing between segments, rather than bytes of one."""

    def error(self) -> DataError:
        """The damage as an error, for a reader that must stop."""
        if self.gap:
            return GapError(f"the log has a gap: {self.what}", detail=self.segment, hint=GAP)
        return DataError(
            f"the log is damaged: {self.what}",
            detail=f"{self.segment}, bytes {self.start} to {self.end}",
            hint=VERIFY,
        )


OnDamage = Callable[[Damage], None]


def refuse(damage: Damage) -> None:
    """Raise damage as an error. This is the default; a reader may pass another function and go on."""
    raise damage.error()


def allow_gaps(told: Callable[[Damage], None]) -> OnDamage:
    """Tell of missing entries and go on; refuse any other damage."""

    def allow(damage: Damage) -> None:
        if not damage.gap:
            raise damage.error()
        told(damage)

    return allow


@dataclass(frozen=True)
class Contents:
    """The records that were read of a segment, from byte `base` on. Reading goes on at byte `end`. `cut`: not
    all bytes of the segment were read."""

    segment: SegmentId
    runs: list[Records]
    sealed: bool
    cut: bool = False

    @property
    def end(self) -> int:
        """The byte after the last whole record."""
        return self.runs[-1].end

    @property
    def torn(self) -> int:
        """The number of bytes after the last whole record."""
        return self.runs[-1].rest

    @property
    def reached(self) -> SegmentId:
        """The offset after the last entry; the segment's beginning if there is none."""
        for run in reversed(self.runs):
            for start in reversed(run.starts.tolist()):
                header = header_at(run.buffer, 8 * start, run.base)
                if header.kind in ENTRIES:
                    return SegmentId(header.number + 1, header.position + header.rows)
        return self.segment

    def __iter__(self) -> Iterator[tuple[Header, Records]]:
        for run in self.runs:
            for header in run:
                yield header, run

    def schema(self, on_damage: OnDamage) -> Any:
        """The Arrow schema, from the first record (of contents from byte 0 on); None if it is damaged."""
        for header, run in self:
            if header.kind == RecordKind.SCHEMA:
                return from_bytes(header.body(run.buffer, run.base))
        on_damage(Damage(self.segment.name, 0, self.end, "a segment without its schema"))
        return None


def contents_of(
    files: Files,
    segment: SegmentId,
    index: Index | None,
    start: int = 0,
    on_damage: OnDamage = refuse,
    most: int = -1,
) -> Contents:
    """The records of a segment from byte `start` on. An open segment is copied; of it only the records in the
    next `most` bytes are read (-1: all)."""
    if index is None:
        buffer = files.read(segment.name, start, most)
    else:
        whole = files.map(segment.name)
        buffer = whole.slice(min(start, whole.size), max(0, min(index.size, whole.size) - start))
        if whole.size != index.size:
            on_damage(
                Damage(segment.name, min(whole.size, index.size), index.size, _length(whole.size, index.size))
            )
    runs = [records_in(buffer, start)]
    runs[-1].refuse_unknown(segment.name)
    while runs[-1].rest:
        last = runs[-1]
        if index is None and (magic := foreign_magic(last.buffer, last.end - start)) is not None:
            raise unknown_format(
                f"a record of {segment.name}, at byte {last.end},", f"format {magic}", "NLG1"
            )
        words = words_of(last.buffer)
        follows = int(next_record(words, (last.end - start) // 8 + 8))
        following = records_in(buffer, start, 8 * follows) if follows >= 0 else None
        if index is None and (following is None or not any(h.settled > last.end for h in following)):
            break
        end = start + (8 * follows if following is not None else buffer.size)
        on_damage(Damage(segment.name, last.end, end, "a record fails its checksum"))
        if following is None:
            break
        following.refuse_unknown(segment.name)
        runs.append(following)
    contents = Contents(segment, runs, index is not None, index is None and buffer.size == most)
    if index is not None and start == 0 and len(runs) == 1:
        _check_index(contents, index, on_damage)
    return contents


def look(
    files: Files, segment: SegmentId, start: int = 0, on_damage: OnDamage = refuse, most: int = -1
) -> tuple[Index | None, Contents]:
    """The index of a segment and its records. A writer may open the segment again, append, cut, or seal it
    while the two are read. So if something looks damaged, both are read again: it is damage only if it stays
    the same."""
    before: tuple[Index | None, list[Damage]] | None = None
    while True:
        found = list[Damage]()
        index = index_or_damage(files, segment, found.append)
        contents = contents_of(files, segment, index, start, found.append, most)
        if not found or (index, found) == before:
            break
        before = index, found
    for damage in found:
        on_damage(damage)
    return index, contents


def _length(found: int, wanted: int) -> str:
    return f"{wanted - found} bytes are missing" if found < wanted else f"{found - wanted} bytes too many"


def _check_index(contents: Contents, index: Index, on_damage: OnDamage) -> None:
    """Compare the records with the index: swapped records pass their own checksums, and fail here."""
    words = contents.runs[0].checksums
    words.flags.writeable = False
    if f"{int(xxh64(words, 0, len(words))):016x}" != index.checksum:
        on_damage(Damage(contents.segment.name, 0, index.size, "its records are not those of its index"))
