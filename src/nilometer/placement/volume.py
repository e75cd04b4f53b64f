"""A fragment and its inputs -> the most rows that one evaluation of it can give (every predicate true).

Capacity is planned for the worst case, as in SNEE: an acquisition gives one row per site, a selection as many
rows as it gets, a join the product, a window the readings that it covers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from nilometer.algebra import JoinKind
from nilometer.expressions import ColumnReference
from nilometer.plan import physical


@dataclass(frozen=True, slots=True)
class Volume:
    """`rows` in one evaluation of every `stride`, in `windows` windows (a row window may close several times
    in one evaluation)."""

    rows: int
    windows: int = 1
    stride: int = 1


def volume_of(node: physical.Node, interval: int, fed: Iterator[Volume]) -> Volume:
    """The volume of an operator. `fed` gives that of each EXCHANGE below it, left to right. `interval` is the
    time between evaluations."""
    match node:
        case physical.Exchange():
            return next(fed)
        case physical.SpAcquire():
            return Volume(1)
        case physical.TimeWindow(input, start, end, slide):
            below = volume_of(input, interval, fed)
            covered = readings_covered(node, interval)
            stride = 1 if slide is None else max(1, slide // interval)
            del start, end
            return Volume(below.rows * covered, 1, stride)
        case physical.RowWindow(input, start, end, slide):
            below = volume_of(input, interval, fed)
            held = below.rows if start is None else start - end + 1
            windows = max(1, -(-below.rows // slide))
            # With few rows in an evaluation, the next window closes some evaluations later.
            stride = below.stride * max(1, slide // max(below.rows, 1))
            return Volume(held * windows, windows, stride)
        case physical.NlJoin() | physical.HashJoin():
            left, right = (volume_of(child, interval, fed) for child in node.inputs)
            rows = left.rows * right.rows if node.kind.pairs else left.rows
            if node.kind is JoinKind.FULL:
                rows = max(rows, left.rows + right.rows)
            return Volume(rows, max(left.windows, right.windows), gcd(left.stride, right.stride))
        case physical.Union():
            left, right = (volume_of(child, interval, fed) for child in node.inputs)
            return Volume(left.rows + right.rows, left.windows, gcd(left.stride, right.stride))
        case physical.Aggregate() | physical.AggregateInit() | physical.AggregateMerge():
            below = volume_of(node.input, interval, fed)
            groups = below.windows if not node.keys or groups_by_source(node) else below.rows
            return Volume(groups, below.windows, below.stride)
        case _:
            parts = [volume_of(child, interval, fed) for child in node.inputs]
            if not parts:
                return Volume(1)
            product = 1
            for part in parts:  # an operator of several inputs that no mote runs: the worst case
                product *= part.rows
            return Volume(product, max(p.windows for p in parts), gcd(*(p.stride for p in parts)))


def groups_by_source(node: physical.Node) -> bool:
    """Whether all rows that a site aggregates fall into one group: its own readings, grouped by the id of
    their source."""
    if not isinstance(node, physical.Aggregate | physical.AggregateInit | physical.AggregateMerge):
        return False
    below = node.input
    while isinstance(below, physical.TimeWindow | physical.Select):
        below = below.input
    if not isinstance(below, physical.SpAcquire) or not node.keys:
        return False
    own = f"{below.alias}.id".lower()
    keys = (key.expression for key in node.keys)
    return all(isinstance(key, ColumnReference) and key.name.lower() == own for key in keys)


def readings_covered(window: physical.TimeWindow, interval: int) -> int:
    """The most readings of one source that a window holds."""
    if window.start is None:
        return 1  # UNBOUNDED: no mote runs it; see `abilities`
    length = window.start - window.end
    if window.elided or length == 0:
        return 1
    return length // interval + (0 if window.open_start and length % interval == 0 else 1)


def readings_kept(window: physical.TimeWindow, interval: int) -> int:
    """The number of readings of one source that a window must remember, including the newest."""
    if window.elided or window.start is None:
        return 0
    return window.start // interval + (0 if window.open_start and window.start % interval == 0 else 1)
