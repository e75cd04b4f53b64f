"""A stream's log as the field's source: follows the newest readings, and looks back into segments by their times.

The law: a look costs what came since the last one, however long the log is. Positions are those of the log.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from nilometer.catalog import Stream
from nilometer.log import Offset, StreamLog
from nilometer.log.segment import segment_ids
from nilometer.operators.logic import POSITION
from nilometer.server.field.newest import merged

FIRST = 1_000_000
"""The first look reads at most about this many of the newest rows."""
TURN = 200_000
"""Rows that are merged at a time."""


class LogView:
    """Not for use by two threads at once."""

    def __init__(self, stream: Stream, log: StreamLog) -> None:
        identity, time = stream.column("id"), stream.column("time")
        assert identity is not None, "a stream has ids"
        assert time is not None, "a stream has times"
        self.stream = stream
        self.identity, self.time = identity.name, time.name
        self.columns = [column.name for column in stream.columns]
        self._log = log
        ids = segment_ids(log.files)
        early = [each for each in ids if each.position <= log.end.position - FIRST]
        begin = early[-1] if early else ids[0] if ids else None
        self._cursor = log.cursor(Offset() if begin is None else Offset(begin.number, begin.position))
        self._newest: pl.DataFrame | None = None
        self._span: tuple[int, list[tuple[int, int, int]]] = (-1, [])

    # ---- now ---------------------------------------------------------------------------------------------------------

    def newest(self) -> tuple[pl.DataFrame, int]:
        """The newest reading of each sensor with its position, and the position up to which the log was read."""
        while entries := self._cursor.read(TURN):
            frames = [
                rows.with_columns(
                    pl.int_range(entry.position, entry.position + rows.height, dtype=pl.Int64).alias(POSITION)
                )
                for entry in entries
                if (rows := entry.rows) is not None and rows.height
            ]
            if frames:
                kept = [] if self._newest is None else [self._newest]
                names = [POSITION, *(name for name in self.columns if name in frames[0].columns)]
                found = pl.concat([*kept, *(frame.select(names) for frame in frames)], how="diagonal")
                self._newest = merged(found, self.identity, self.time)
        empty = pl.DataFrame(schema={POSITION: pl.Int64(), **self._log.columns})
        return empty if self._newest is None else self._newest, self._cursor.offset.position

    # ---- then --------------------------------------------------------------------------------------------------------

    def between(self, low: int, high: int, columns: list[str]) -> Iterator[pl.DataFrame]:
        """The rows with times from `low` up to but not including `high`, with their positions, in parts."""
        known = self._log.columns
        wanted = [POSITION, *(name for name in columns if name in known)]
        return self._log.scan(0, wanted, (low, high))

    def spans(self) -> list[tuple[int, int, int]]:
        """For each segment the least time, the greatest, and the number of rows."""
        end = self._log.end.position
        if self._span[0] != end:
            known = [each.index for each in self._log.segments()]
            found = [
                (index.least_time, index.greatest_time, index.rows)
                for index in known
                if index.least_time is not None and index.greatest_time is not None and index.rows
            ]
            self._span = end, found
        return self._span[1]
