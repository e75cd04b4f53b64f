"""The segments of a log, and which of them can still have a row that is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from nilometer.log import StreamLog
from nilometer.log.segment import index_or_damage, segment_ids
from nilometer.server.sensorthings import expressions as ex
from nilometer.server.sensorthings.latest import Latest


@dataclass(frozen=True)
class Order:
    """How rows are ordered: by position if there are no keys. Equal ones are ordered by position, in the direction of the
    first key: of several at one time, the last is the one that came last."""

    keys: tuple[tuple[ex.Expression, bool], ...] = ()

    @property
    def time(self) -> bool:
        """Whether the first key is phenomenonTime, and there are no others."""
        return len(self.keys) == 1 and self.keys[0][0] == ex.Path(("phenomenonTime",))

    @property
    def descending(self) -> bool:
        """Whether the first key is descending."""
        return bool(self.keys) and self.keys[0][1]


@dataclass(frozen=True)
class Segment:
    """A segment: its first position, the position after its last row, and its times; None where it is still open."""

    position: int
    end: int | None
    least: int | None
    greatest: int | None


_INDEXES: dict[tuple[str, int], Segment] = {}
"""The segments that have a successor do not change any more. Bounded: about 100 bytes for each segment of 64 MiB."""


def segments_of(log: StreamLog, by_time: bool, descending: bool) -> list[Segment]:
    """The segments of a log, in the order in which they are read."""
    ids = segment_ids(log.files)
    found = []
    for number, identity in enumerate(ids):
        if number + 1 == len(ids):
            found.append(Segment(identity.position, None, None, None))
            continue
        known = _INDEXES.get((log.files.place, identity.position))
        if known is None:
            index = index_or_damage(log.files, identity, lambda _: None)
            after = ids[number + 1].position
            if index is None:
                found.append(Segment(identity.position, after, None, None))
                continue
            known = Segment(identity.position, after, index.least_time, index.greatest_time)
            _INDEXES[log.files.place, identity.position] = known
        if known.least is not None or known.end is None:
            found.append(known)
    if not by_time:
        return found
    # The open segment, and one whose index is damaged, may have any time: it is read first.
    if descending:
        return sorted(found, key=lambda one: (one.greatest is not None, -(one.greatest or 0)))
    return sorted(found, key=lambda one: (one.least is not None, one.least or 0))


def enough(
    gathered: Sequence[pl.DataFrame],
    latest: Latest,
    order: Order,
    need: int,
    wanted: dict[Any, int] | None,
    following: Segment,
) -> bool:
    """Whether no row of this segment, or of one after it, can be among those that are wanted."""
    if not gathered or (order.keys and not order.time):
        return False
    edge = following.greatest if order.descending else following.least
    if order.time and edge is None:
        return False
    rows = pl.concat(gathered)
    if wanted is None:
        if rows.height < need:
            return False
        if not order.keys:
            return True
        times = rows.get_column(latest.time).sort(descending=order.descending)
        return bool(times[need - 1] > edge if order.descending else times[need - 1] < edge)
    have = rows.group_by(latest.id).agg(pl.col(latest.time).sort(descending=order.descending), pl.len())
    counts = dict(have.select(latest.id, "len").iter_rows())
    if any(counts.get(sensor, 0) < count for sensor, count in wanted.items()):
        return False
    if not order.keys:
        return True
    for sensor, times in have.select(latest.id, latest.time).iter_rows():
        at = times[wanted.get(sensor, 1) - 1]
        if not (at > edge if order.descending else at < edge):
            return False
    return True


def height_of(frames: Iterable[pl.DataFrame]) -> int:
    """How many rows frames have together."""
    return sum(frame.height for frame in frames)
