"""Retention of one query's answers in the commit log, which the answers of all queries share.

Trimming a query sets its floor: its answers before that position are gone. A segment of the commit log is deleted
once every query's floor lies beyond it. The laws are those of answer_retention.py: a row stays until every sink has
received it, unless forced; and the records stay that say where the queries are.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl

from nilometer.live.control import floor_of, keep_floor
from nilometer.log.local_files import LocalFiles
from nilometer.log.manifest import trimming
from nilometer.log.reader import Cursor, Offset
from nilometer.log.readers import offsets
from nilometer.log.results.numbers import first_number
from nilometer.log.results.shared_log import index_at, last_full_segment
from nilometer.log.results.shared_results import SharedResults
from nilometer.log.retention import Trimmed
from nilometer.log.segment import SegmentId, segment_ids
from nilometer.log.writer import resources


def size_in(log: SharedResults) -> int:
    """The bytes of a query's answers: its share of each segment, by rows."""
    return sum(_share(log, segment, following)[1] for segment, following in _pairs(log.files))


def trim_shared(
    directory: Path, log: SharedResults, before: int | None, excess: int | None, *, force: bool
) -> Trimmed:
    """Trim one query's answers in whole segments, oldest first: those committed before a time, and those beyond
    `excess` bytes. The last segment stays."""
    files, done, floor = log.files, Trimmed(), floor_of(directory, log.name)
    own = log.reader("")
    readers = {name: at for name, at in offsets(files).items() if name.endswith(own)}
    ids = segment_ids(files)
    left = excess
    for segment, following in pairwise(ids):
        rows, size, end = _share(log, segment, following)
        if left is not None and left <= 0:
            break
        if before is not None and _written_at(files, segment) >= before:
            break
        behind = [name for name, at in readers.items() if at.position < end]
        if behind and not force:
            done = Trimmed(done.segments, done.rows, done.size, min(behind).removesuffix(own))
            break
        if end > floor:
            floor = end
            done = Trimmed(done.segments + 1, done.rows + rows, done.size + size, done.held_by)
        left = None if left is None else left - size
    if done.rows:
        keep_floor(directory, log.name, floor)
    delete_dead_segments(directory, files)
    return done


def delete_dead_segments(directory: Path, files: LocalFiles) -> int:
    """Delete the oldest segments in which no query has answers left. Returns their number."""
    full, places = last_full_segment(files), index_at(directory).places
    deleted = 0
    for segment, following in pairwise(segment_ids(files)):
        if full is None or segment >= full:
            break
        lines = _lines(files, segment, following)
        for query, first, end in (
            lines.group_by("query").agg(pl.col("number").max(), pl.col("end").max()).iter_rows()
        ):
            kept = (
                query in places
                and first >= first_number(directory, query)
                and end > floor_of(directory, query)
            )
            if kept:
                return deleted
        with resources(files.place):
            trimming(files, following)
            files.delete(segment.name)
            files.delete(segment.index_name)
        deleted += 1
    return deleted


def _pairs(files: LocalFiles) -> list[tuple[SegmentId, SegmentId | None]]:
    ids = segment_ids(files)
    return list(zip(ids, [*ids[1:], None], strict=True))


def _lines(files: LocalFiles, segment: SegmentId, following: SegmentId | None) -> pl.DataFrame:
    """The lines of a segment that have rows: query, number, rows, and the position after the last row."""
    found = []
    for entry in Cursor(files, Offset(segment.number)):
        if following is not None and entry.after.number > following.number:
            break
        if entry.rows is not None:
            found.append(entry.rows.filter(pl.col("rows") > 0).select("query", "number", "first", "rows"))
    frame = (
        pl.concat(found)
        if found
        else pl.DataFrame(
            schema={"query": pl.String, "number": pl.Int64, "first": pl.Int64, "rows": pl.Int64}
        )
    )
    return frame.with_columns((pl.col("first") + pl.col("rows")).alias("end"))


def _share(log: SharedResults, segment: SegmentId, following: SegmentId | None) -> tuple[int, int, int]:
    """The query's rows in a segment, its share of the bytes, and the position after its last row there."""
    lines = _lines(log.files, segment, following)
    mine = lines.filter((pl.col("query") == log.name) & (pl.col("number") >= log.era.number))
    rows, total = int(mine.get_column("rows").sum()), int(lines.get_column("rows").sum())
    end = mine.get_column("end").max()
    return rows, log.files.size(segment.name) * rows // max(1, total), int(end) if isinstance(end, int) else 0


def _written_at(files: LocalFiles, segment: SegmentId) -> int:
    return (files.directory / segment.name).stat().st_mtime_ns // 1_000
