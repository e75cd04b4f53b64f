"""Joins streams with streams: ASOF JOIN, and STEAM's WINDOW join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nilometer.plan.logical import AsofJoin, WindowJoin
from nilometer.plan.reference.bags import holds
from nilometer.plan.reference.rows import Row, Values, stream_order
from nilometer.plan.scalar import evaluate


def asof_join(node: AsofJoin, left: Sequence[Row], right: Sequence[Row], watermark: int) -> list[Row]:
    """Joins each left tuple with the right tuple of its key that has the greatest time up to its own.

    Ties go to the last by id and position. A right tuple older than WITHIN is no match (one exactly that old
    is); without a match the right columns are NULL.

    A left tuple waits until W has passed its time, because only then are all right tuples up to it known. So
    its place in the answer is at its time, even if its stream is sensed and its tick was earlier. BEFORE goes by
    ticks instead: the right tuple's is less than the left one's, which stays as it is.
    """
    nothing: Values = dict.fromkeys(node.right.schema.names)
    if node.before:
        return [
            replace(row, values={**row.values, **(nothing if found is None else found.values)})
            for row in left
            if row.tick < watermark
            for earlier in (
                [each for each in right if each.tick < row.tick and _keys_equal(node, row, each)],
            )
            for found in (max(earlier, key=lambda each: (each.tick, stream_order(each)), default=None),)
        ]
    result = []
    for row in left:
        if row.time >= watermark:
            continue
        candidates = [other for other in right if other.time <= row.time and _keys_equal(node, row, other)]
        found = max(candidates, key=stream_order, default=None)
        if found is not None and node.within is not None and row.time - found.time > node.within:
            found = None
        values = {**row.values, **(found.values if found is not None else nothing)}
        result.append(Row(row.time, row.time, row.id, row.position, values))
    return result


def _keys_equal(node: AsofJoin, row: Row, other: Row) -> bool:
    """Whether all keys are equal; a NULL key equals nothing."""
    for left, right in node.keys:
        mine, theirs = evaluate(left, row.values, row.tick), evaluate(right, other.values, other.tick)
        if mine is None or theirs is None or mine != theirs:
            return False
    return True


def window_join(node: WindowJoin, streams: Sequence[Sequence[Row]], watermark: int) -> list[Row]:
    """The N-tuples, one member of each stream, that keep every bound between two members' times and satisfy
    the predicate. Time and tick are the latest member's. A tuple may be joined with itself under another
    alias.

    A tuple of a kept side that is in no such pair comes alone, at its time plus the window, once W has passed
    that: from then on no partner can come.
    """
    combinations: list[tuple[Row, ...]] = [()]
    for stream in streams:
        combinations = [
            (*some, row) for some in combinations for row in stream if _bounded(node, (*some, row))
        ]
    result = []
    met: set[tuple[int, int]] = set()
    for members in combinations:
        time = max(member.time for member in members)
        values = {name: value for member in members for name, value in member.values.items()}
        if holds(node.predicate, values, time):
            result.append(Row(time, time, None, None, values))
            met |= {(port, id(member)) for port, member in enumerate(members)}
    nothing: Values = dict.fromkeys(node.schema.names)
    for port, stream in enumerate(streams):
        window = node.kept(port)
        if window is None:
            continue
        for row in stream:
            time = row.time + window
            if (port, id(row)) not in met and time < watermark:
                result.append(Row(time, time, None, None, {**nothing, **row.values}))
    return result


def _bounded(node: WindowJoin, members: Sequence[Row]) -> bool:
    """Whether the first members keep all bounds among themselves."""
    return all(
        abs(members[bound.left].time - members[bound.right].time) <= bound.width
        for bound in node.bounds
        if max(bound.left, bound.right) < len(members)
    )
