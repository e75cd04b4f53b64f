"""Scans a log into frames, as fast as the bytes can be checked: sealed segments are memory maps whose buffers
the frames share.

Segments and records outside the time range are not decoded. The law: the rows are those of the log, in order,
however they are divided into records; every byte of them has passed its checksum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from nilometer.errors import DataError
from nilometer.log.files import Files
from nilometer.log.gaps import Continuity
from nilometer.log.reader import batch_of
from nilometer.log.record import RecordKind
from nilometer.log.schema import Dtypes, Unpacker
from nilometer.log.segment import OnDamage, SegmentId, index_or_damage, look, refuse, segment_ids
from nilometer.operators.logic import POSITION

CHUNK = 65_536
"""Small batches are joined into frames of about this many rows: a few megabytes, which stay in the cache for
their reader.
"""

ALONE = 65_536
"""A batch of this many rows becomes a frame of its own, without a copy."""

TimeRange = tuple[int | None, int | None]
"""From the first on, up to but not including the second; None is open."""


def scan(
    files: Files,
    from_position: int,
    columns: Sequence[str] | None,
    time_range: TimeRange | None,
    stream: Dtypes,
    time_column: str | None,
    on_damage: OnDamage = refuse,
) -> Iterator[pl.DataFrame]:
    """The rows from a position on, in all or some of the stream's columns; the column `@position` gives their
    positions.
    """
    names = list(stream) if columns is None else list(columns)
    for name in names:
        if name not in stream and name != POSITION:
            raise DataError(f"the log has no column '{name}'", hint=f"its columns are {', '.join(stream)}")
    low, high = time_range if time_range is not None else (None, None)
    timed = low is not None or high is not None
    if timed and time_column is None:
        raise DataError("the log has no time column, so no time range can be asked for")
    read = [name for name in names if name != POSITION]
    if timed and time_column is not None and time_column not in read:
        read.append(time_column)
    wanted = {name: stream[name] for name in read}

    def outside(least: int | None, greatest: int | None) -> bool:
        if not timed or least is None or greatest is None:
            return False
        return (low is not None and greatest < low) or (high is not None and least >= high)

    def give(unpacker: Unpacker, group: list[Any], first: int) -> pl.DataFrame:
        frame = unpacker.frame(group)
        if POSITION in names:
            frame = frame.with_columns(
                pl.Series(POSITION, np.arange(first, first + frame.height, dtype=np.int64))
            )
        if first < from_position:
            frame = frame[from_position - first :]
        if timed and time_column is not None:
            at = pl.col(time_column)
            frame = frame.filter(
                at >= low if low is not None else True, at < high if high is not None else True
            )
        return frame if frame.columns == names else frame.select(names)

    ids = segment_ids(files)
    continuity = Continuity(files, on_damage)
    if ids and ids[0].position > from_position:
        continuity.check_first(SegmentId(0, from_position), ids[0])
    reached: SegmentId | None = None
    for number, segment in enumerate(ids):
        if number + 1 < len(ids) and ids[number + 1].position <= from_position:
            continue
        if reached is not None:
            continuity.check(max(reached, SegmentId(reached.number, from_position)), segment)
        try:
            # A damaged index is reported by the look below.
            index = index_or_damage(files, segment, lambda _: None) if timed else None
            if index is not None and outside(index.least_time, index.greatest_time):
                reached = SegmentId(index.end_number, index.end_position)
                continue
            index, contents = look(files, segment, on_damage=on_damage)
        except FileNotFoundError:  # retention has deleted it meanwhile
            reached = None
            continue
        # Damage at the end of a segment is reported as such, and is no gap before the next one.
        reached = contents.reached
        if index is not None:
            reached = max(reached, SegmentId(index.end_number, index.end_position))
        schema = contents.schema(on_damage)
        if schema is None:
            continue
        unpacker = Unpacker(schema, wanted, segment.name)
        group: list[Any] = []
        first = end = rows = 0
        for header, run in contents:
            if header.kind != RecordKind.ROWS or not header.rows:
                continue
            if header.position + header.rows <= from_position:
                continue
            if header.timed and outside(header.least_time, header.greatest_time):
                continue
            if group and (header.position != end or rows >= CHUNK or header.rows >= ALONE):
                yield give(unpacker, group, first)
                group, rows = [], 0
            if not group:
                first = header.position
            group.append(batch_of(header, run, unpacker.schema))
            rows += header.rows
            end = header.position + header.rows
            if header.rows >= ALONE:
                yield give(unpacker, group, first)
                group, rows = [], 0
        if group:
            yield give(unpacker, group, first)
