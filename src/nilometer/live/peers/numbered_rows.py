"""Rows of a log with their positions in it (`@log`), without the doubles by the stream's KEY; and as many of them as fit
into one message of peers."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from nilometer.log import StreamLog
from nilometer.log.reader import Cursor

ROWS = 16_384
"""The most rows of one message, and the rows that are read from a log at once."""
BYTES = 4 << 20
"""The most bytes of one message's rows, unless a row is larger."""
Entry = tuple[pl.DataFrame | None, int, int | None]
"""Numbered rows, the position after the last of them, and the tick of a heartbeat."""


def numbered(cursor: Cursor) -> Iterator[Entry]:
    """The next entries of a log."""
    for entry in cursor.read(ROWS):
        if entry.rows is None:
            yield None, entry.position, entry.tick
        else:
            upto = entry.position + entry.rows.height
            positions = pl.int_range(entry.position, upto, dtype=pl.Int64).alias("@log")
            rows = entry.rows.with_columns(positions)
            yield entry.doubles.without(rows, entry.position), upto, None


def numbered_before(log: StreamLog, first: int, end: int) -> Iterator[Entry]:
    """The rows from a position on up to another, which the log has already."""
    for frame in log.scan(first, ["@position", *log.columns]):
        for part in frame.iter_slices(ROWS):
            at = int(part.get_column("@position")[0])
            if at >= end:
                return
            rows = part.head(end - at).rename({"@position": "@log"})
            yield log.doubles.without(rows, at), at + rows.height, None


def fitting(rows: pl.DataFrame) -> int:
    """How many of the first rows fit into a message; at least one."""
    many = min(rows.height, ROWS)
    return max(1, int(many * min(1.0, BYTES / max(1, rows.head(many).estimated_size()))))
