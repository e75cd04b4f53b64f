"""Finds out where a log's writer goes on, from files as a crash may have left them.

A torn tail is cut off, and nothing else. Bytes that fail their checksum but were settled (a later record says
so) are damage: they stay for `verify` to report, and the writer goes on after the last complete record. So
the stream goes on, and nothing that was acknowledged is deleted. A segment that was closed in order and has lost its
last records is different: with them went the last note, which says how far the sources were read. The writer refuses it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nilometer.errors import DataError
from nilometer.log.annex import annex_from_bytes
from nilometer.log.files import Files
from nilometer.log.formats import FormatError
from nilometer.log.manifest import end_on_record
from nilometer.log.producers import Producers
from nilometer.log.record import RecordKind
from nilometer.log.schema import from_bytes
from nilometer.log.segment import (
    INDEX,
    Contents,
    Damage,
    SegmentId,
    Tally,
    contents_of,
    index_of,
    segment_ids,
)

BEGINNING = SegmentId(0, 0)


@dataclass
class Recovered:
    """Where the log ends. `torn` bytes after the first `size` are to be cut off its last segment (`tally`;
    None if there is no segment), of which `settled` were durable for sure. `sealed`: that segment has its index, as after a clean close. `note` is the
    last note.
    """

    end: SegmentId = BEGINNING
    schema: Any = None
    producers: Producers = field(default_factory=Producers)
    note: dict[str, Any] | None = None
    tally: Tally | None = None
    size: int = 0
    settled: int = 0
    sealed: bool = False
    torn: int = 0
    short: SegmentId | None = None
    """Where the records of a segment end that its index says are more."""
    damages: list[Damage] = field(default_factory=list)


def recover(files: Files) -> Recovered:
    """Examine the last segment. The only change to files is to delete the index of a segment that retention
    has deleted."""
    ids = segment_ids(files)
    for name in files.names():
        # An index after the first segment is evidence of a lost segment, and stays.
        if name.endswith(INDEX) and ids and name < ids[0].index_name:
            files.delete(name)
    if not ids:
        return Recovered(end=end_on_record(files))
    found = Recovered()
    try:
        index = index_of(files, ids[-1])
    except FormatError:
        raise
    except DataError:
        # The records are enough; the index is written again when the segment is sealed.
        index = None
    contents = contents_of(files, ids[-1], index, on_damage=found.damages.append)
    _replay(contents, found)
    found.sealed = index is not None
    found.torn = contents.torn
    found.size = contents.end
    if index is not None:
        # The damaged rows had positions, which are not used again.
        if found.end < SegmentId(index.end_number, index.end_position):
            found.short = found.end
        found.end = max(found.end, SegmentId(index.end_number, index.end_position))
    if contents.schema(found.damages.append) is None or len(contents.runs[0].starts) == 1:
        # Damaged at its very beginning, or with nothing after its schema, where the producers are stored if
        # there are any: an earlier segment knows the schema, and the producers up to there.
        schema = found.schema
        for each in reversed(ids[:-1]):
            earlier = Recovered()
            _replay(contents_of(files, each, None, on_damage=_known), earlier)
            if earlier.schema is not None:
                headed = len(earlier.producers) or earlier.note is not None
                if schema is not None and headed and not found.damages:
                    # A segment's head is durable before it gets its name, so the rest of it is no torn tail.
                    torn, found.torn = found.torn, 0
                    end = found.size + torn
                    found.damages.append(Damage(ids[-1].name, found.size, end, "its producers are lost"))
                found.schema, found.producers = earlier.schema, earlier.producers
                found.note = earlier.note
                _replay(contents, found)
                break
    # Positions that are on record as lost are not used again, either.
    on_record = end_on_record(files)
    if on_record >= found.end:
        found.short = None
    found.end = max(found.end, on_record)
    return found


def _known(_: Damage) -> None:
    """Ignore damage in older segments: `verify` reports it."""


def _replay(contents: Contents, found: Recovered) -> None:
    tally = Tally(contents.segment)
    for header, run in contents:
        tally.add_header(header)
        found.settled = max(found.settled, header.settled)
        if header.kind == RecordKind.SCHEMA:
            found.schema = from_bytes(header.body(run.buffer, run.base))
        elif header.kind == RecordKind.PRODUCERS:
            found.producers = Producers.from_bytes(bytes(header.body(run.buffer, run.base)))
        if header.annex_bytes:
            marks, note = annex_from_bytes(header.annex(run.buffer, run.base))
            for producer, sequence in marks:
                found.producers.mark(producer, sequence)
            found.note = note if note is not None else found.note
    found.tally = tally
    found.end = tally.end
