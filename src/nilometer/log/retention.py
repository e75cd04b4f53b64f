"""Retention of a log: deletes whole sealed segments, oldest first, by age, by size and by the slowest reader.

The laws: rows that a named reader has not committed stay, unless forced. The last segment stays, so that
positions run on. The rest has no gap. Age is event time, unless the caller defines it otherwise: a segment is
as old as its newest row. A segment without rows is as old as its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from nilometer.errors import DataError
from nilometer.log.files import Files
from nilometer.log.manifest import trimming
from nilometer.log.reader import Offset
from nilometer.log.readers import offsets
from nilometer.log.segment import SegmentId, Tally, contents_of, index_of, segment_ids


@dataclass(frozen=True)
class Trimmed:
    """The deleted segments; `held_by` is the reader for which older segments were kept."""

    segments: int = 0
    rows: int = 0
    size: int = 0
    held_by: str | None = None


def newest_time(files: Files, segment: SegmentId) -> int | None:
    """The greatest time in a segment. If the segment has lost its index, the readable records count."""
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


def trim(
    files: Files,
    before: int | None = None,
    *,
    keep: int | None = None,
    force: bool = False,
    newest_of: Callable[[Files, SegmentId], int | None] = newest_time,
    needed: Mapping[str, Offset] | None = None,
) -> Trimmed:
    """Delete segments whose rows are all earlier than `before` (None: any age) and that every named reader
    has read.

    Deletes only while more than `keep` bytes are left (None: any number). Without an age, a size and a
    reader, nothing is deleted. `needed` rows stay, even by force.
    """
    readers = offsets(files)
    if before is None and keep is None and not readers:
        return Trimmed()
    done = Trimmed()
    ids = segment_ids(files)
    left = sum(files.size(segment.name) for segment in ids) if keep is not None else 0
    for segment, following in pairwise(ids):
        size = files.size(segment.name)
        if keep is not None and left <= keep:
            return done
        newest = newest_of(files, segment)
        if before is not None and newest is not None and newest >= before:
            return done
        waiting = dict(needed or {}) if force else {**readers, **(needed or {})}
        behind = [name for name, offset in waiting.items() if offset.number < following.number]
        if behind:
            slowest = min(behind, key=lambda name: (waiting[name], name))
            return Trimmed(done.segments, done.rows, done.size, slowest)
        # The manifest first: a segment that it no longer names may be missing.
        trimming(files, following)
        # Then the records: an index without a segment is harmless, but a segment without its index would
        # seem open.
        files.delete(segment.name)
        files.delete(segment.index_name)
        rows = following.position - segment.position
        left -= size
        done = Trimmed(done.segments + 1, done.rows + rows, done.size + size)
    return done
