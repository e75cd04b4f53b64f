"""What may be deleted of a log: whole sealed segments, the oldest first, by age and by the slowest reader.

The laws: what a named reader has not committed stays, unless forced; the last segment stays, so positions run on; what is left
is without a gap. Age is event time: a segment is old when its newest row is. One that holds no rows is as old as its
neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from nilometer.edge.log.files import Files
from nilometer.edge.log.readers import offsets
from nilometer.edge.log.segment import SegmentId, Tally, contents_of, index_of, segment_ids
from nilometer.errors import DataError


@dataclass(frozen=True)
class Trimmed:
    """What was deleted; `held_by` is the reader for whom older segments were kept."""

    segments: int = 0
    rows: int = 0
    size: int = 0
    held_by: str | None = None


def trim(files: Files, before: int | None = None, *, force: bool = False) -> Trimmed:
    """Delete segments whose rows are all earlier than `before` (None: of any age) and that every named reader has read. With
    neither an age nor a reader nothing is deleted."""
    readers = offsets(files)
    if before is None and not readers:
        return Trimmed()
    done = Trimmed()
    ids = segment_ids(files)
    for segment, following in pairwise(ids):
        newest = _newest(files, segment)
        if before is not None and newest is not None and newest >= before:
            return done
        behind = [name for name, offset in readers.items() if offset.number < following.number]
        if behind and not force:
            slowest = min(behind, key=lambda name: (readers[name], name))
            return Trimmed(done.segments, done.rows, done.size, slowest)
        size = files.size(segment.name)
        # The records first: an index without a segment is nothing, a segment without its index would seem open.
        files.delete(segment.name)
        files.delete(segment.index_name)
        rows = following.position - segment.position
        done = Trimmed(done.segments + 1, done.rows + rows, done.size + size)
    return done


def _newest(files: Files, segment: SegmentId) -> int | None:
    """The greatest time in it: of one that lost its index, what can still be read counts."""
    try:
        index = index_of(files, segment)
        if index is not None:
            return index.greatest_time
    except DataError:
        pass
    tally = Tally(segment)
    for header, _ in contents_of(files, segment, None, on_damage=lambda _: None):
        tally.add_header(header)
    return tally.greatest_time
