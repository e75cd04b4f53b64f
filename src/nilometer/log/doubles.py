"""Finds the rows of a log that are doubles by the stream's KEY: rows from before the KEY was declared, or
written under another KEY.

An entrance that knows the KEY lets no double into the log. When it opens a log that was written without the
KEY, it searches once for doubles. It records their positions in the file `doubles`, with the KEY and the
position from which on there are none. Every reader leaves these rows out. So a reader needs no keys in
memory, and may read any part of the log by itself.

The laws: a row is a double if an earlier row has the same key (NULL = NULL), in the log as it was when the
KEY was recorded. So the rows left out depend on the log and the KEY alone. The record is replaced atomically
and durably, before the first append under the KEY. Killed at any moment, the log is as before or recorded,
and another search finds the same doubles.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.errors import DataError
from nilometer.log.checksum import checksum_of
from nilometer.log.files import Files
from nilometer.log.segment import OnDamage, refuse
from nilometer.operators.logic import POSITION, TICK

if TYPE_CHECKING:
    from nilometer.log.stream_log import StreamLog

FILE = "doubles"

PART = 1_000_000
"""About how many keys are compared at a time: some tens of megabytes."""

Span = tuple[int, int | None]
"""From the first time on, up to but not including the second; None is open."""

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Doubles:
    """The positions of the doubles by a KEY (`key_of`), in order. There are none from `end` on."""

    key: tuple[str, ...] = ()
    end: int = 0
    positions: Positions = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def between(self, first: int, end: int) -> Positions:
        """The doubles among the rows from `first` up to but not including `end`."""
        low, high = np.searchsorted(self.positions, (first, end))
        return self.positions[low:high]

    def left(self, first: int, rows: int) -> npt.NDArray[np.bool_] | None:
        """Which of the `rows` rows from the position `first` on are not doubles; None: all."""
        if not self.positions.size:
            return None
        found = self.between(first, first + rows)
        if not found.size:
            return None
        kept = np.ones(rows, dtype=np.bool_)
        kept[found - first] = False
        return kept

    def without(self, rows: pl.DataFrame, first: int) -> pl.DataFrame:
        """The rows without doubles. The first of them has the position `first`."""
        kept = self.left(first, rows.height)
        return rows if kept is None else rows.filter(pl.Series(kept))


NONE = Doubles()
"""The doubles of a stream without a KEY."""


def key_of(stream: Stream) -> tuple[str, ...]:
    """The KEY in its recorded form: its columns in a fixed order, and the length of a tick if the tick is
    part of it.
    """
    if not stream.key:
        return ()
    from nilometer.dataflow.keys import key_columns

    columns = key_columns(stream, stream.key)
    return (*sorted(columns), *([f"every {stream.every}"] if TICK in columns else []))


# ---- the record ----------------------------------------------------------------------------------------------------------


def recorded(files: Files) -> Doubles | None:
    """The doubles recorded last; None if nothing was recorded, or the record is damaged: the log can then be
    searched again.
    """
    try:
        data = memoryview(files.map(FILE))
    except FileNotFoundError:
        return None
    try:
        end = len(data) - 8 - int.from_bytes(data[-8:], "little")
        body, said = data[:end], json.loads(bytes(data[end:-8]))
        if said["checksum"] == _checksum(said["key"], said["end"], body):
            return Doubles(tuple(said["key"]), said["end"], np.frombuffer(body, dtype="<i8"))
    except (ValueError, KeyError, TypeError):
        pass
    return None


def record(files: Files, doubles: Doubles) -> None:
    """Record the doubles for all readers: the positions, aligned for a memory map, then their description,
    then the description's length.
    """
    body = doubles.positions.astype("<i8").tobytes()
    said = {"key": doubles.key, "end": doubles.end, "checksum": _checksum(doubles.key, doubles.end, body)}
    tail = json.dumps(said).encode()
    files.replace(FILE, body + tail + len(tail).to_bytes(8, "little"))


def _checksum(key: Sequence[str], end: int, body: Any) -> str:
    return f"{checksum_of(json.dumps([list(key), end]).encode() + bytes(body)):016x}"


# ---- looking for them ----------------------------------------------------------------------------------------------------


def find(log: StreamLog, stream: Stream, part: int = PART) -> Doubles:
    """Search the log as it is now, with about `part` keys in memory at a time.

    Keys that contain the time are compared by ranges of time, others by their fingerprints. Damage is left to
    the readers of the rows to report.
    """
    from nilometer.dataflow.keys import doubles_among, is_timed, key_columns, prints_of

    columns = key_columns(stream, stream.key)
    start, end = log.start.position, log.end.position
    found: list[Positions] = []
    for span, rows in _spans(log, stream.every or 1, part) if is_timed(columns) else [(None, end - start)]:
        parts = max(1, rows // (2 * part))
        for number in range(parts):
            frames = []
            for keys in keys_in(log, stream, columns, span, on_damage=lambda _: None):
                keys = keys.filter(pl.col(POSITION) < end)
                if parts > 1:
                    keys = keys.filter(
                        pl.Series(prints_of(keys.select(columns)) % np.uint64(parts) == number)
                    )
                frames.append(keys)
            if frames:
                keys = pl.concat(frames)
                positions = keys.get_column(POSITION).to_numpy()
                found.append(positions[doubles_among(keys.select(columns))])
    return Doubles(key_of(stream), end, np.sort(np.concatenate(found)) if found else NONE.positions)


def keys_in(
    log: StreamLog,
    stream: Stream,
    columns: Sequence[str],
    span: Span | None = None,
    on_damage: OnDamage = refuse,
) -> Iterator[pl.DataFrame]:
    """The keys of a log's readings, their ticks and positions; only those in `span` if one is given."""
    from nilometer.dataflow.keys import column_of, key_frame, read_for

    wanted = [name for name in log.columns if name.lower() in read_for(columns)]
    time = column_of(stream, "time")
    kept = list(dict.fromkeys((POSITION, TICK, *columns)))
    for rows in log.scan(columns=[POSITION, *wanted], time_range=span, on_damage=on_damage):
        yield key_frame(stream, rows.filter(pl.col(time).is_not_null())).select(kept)


def _spans(log: StreamLog, every: int, part: int) -> Iterator[tuple[Span | None, int]]:
    """Ranges of time in whole ticks, with about `part` rows each, and the rows of all segments that overlap
    them.
    """
    try:
        indices = [each.index for each in log.segments()]
    except DataError:
        # An index is damaged: read the records without it.
        yield None, log.end.position - log.start.position
        return
    segments = [
        (index.least_time, index.greatest_time, index.rows)
        for index in indices
        if index.least_time is not None and index.greatest_time is not None
    ]
    if not segments:
        return
    cuts: list[int] = []
    held = 0
    for _, greatest, rows in sorted(segments, key=lambda each: each[1]):
        held += rows
        cut = (greatest // every + 1) * every
        if held >= part and cut not in cuts[-1:]:
            cuts.append(cut)
            held = 0
    lows = [min(least for least, _, _ in segments) // every * every, *cuts]
    for low, high in zip(lows, [*cuts, None], strict=True):
        reach = [
            rows for least, greatest, rows in segments if greatest >= low and (high is None or least < high)
        ]
        if reach:
            yield (low, high), sum(reach)
