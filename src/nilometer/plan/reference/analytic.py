"""Evaluates analytic functions: f(...) OVER (PARTITION BY ... ORDER BY ... frame), row by row.

A partition's rows are ordered by ORDER BY, and ties by the node's columns. A stream's order is (time, id,
position); its tuples at W or later wait, because an earlier one may still arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from nilometer.algebra import SortKey
from nilometer.algebra.analytic import AGGREGATES, AnalyticFunction, AnalyticItem, Frame, FrameUnit
from nilometer.expressions import Expression
from nilometer.plan.logical import Analytic
from nilometer.plan.reference.bags import Bag
from nilometer.plan.reference.rows import Row, Values, freeze, order_key, stream_order
from nilometer.plan.scalar import aggregate, evaluate


@dataclass(frozen=True)
class _Place:
    """A row of a partition: its values, its tick, and its values of ORDER BY."""

    values: Values
    now: int | None
    order: tuple[Any, ...]

    def of(self, expression: Expression | None) -> Any:
        return None if expression is None else evaluate(expression, self.values, self.now)


def analytic_bag(node: Analytic, bag: Bag, now: int | None) -> list[Values]:
    """The rows of a window or a table, with the columns of all items."""
    partitions: dict[Any, list[_Place]] = {}
    for values in bag:
        order = tuple(evaluate(item.expression, values, now) for item in node.order)
        key = freeze([evaluate(each, values, now) for each in node.partition])
        partitions.setdefault(key, []).append(_Place(values, now, order))
    result: list[Values] = []
    for rows in partitions.values():
        rows.sort(key=lambda row: [order_key(row.values[name]) for name in node.ties])
        for number in reversed(range(len(node.order))):
            _sort_by(rows, node.order[number], number)
        result += [_with_items(node, rows, place) for place in range(len(rows))]
    return result


def _sort_by(rows: list[_Place], item: SortKey, number: int) -> None:
    """A stable sort by one item of ORDER BY."""
    rows.sort(key=lambda row: order_key(row.order[number]), reverse=item.descending)
    rows.sort(key=lambda row: (row.order[number] is not None) == item.nulls_first)


def analytic_stream(node: Analytic, rows: Sequence[Row], watermark: int) -> list[Row]:
    """The tuples below W, with the columns of all items."""
    partitions: dict[Any, list[Row]] = {}
    for row in sorted(rows, key=stream_order):
        if row.tick < watermark:
            key = freeze([evaluate(each, row.values, row.tick) for each in node.partition])
            partitions.setdefault(key, []).append(row)
    result = []
    for partition in partitions.values():
        places = [_Place(row.values, row.tick, (row.time,)) for row in partition]
        result += [
            replace(row, values=_with_items(node, places, place)) for place, row in enumerate(partition)
        ]
    return result


def _with_items(node: Analytic, rows: Sequence[_Place], place: int) -> Values:
    descending = bool(node.order) and node.order[0].descending
    added = {item.name: _item(item, rows, place, descending) for item in node.items}
    return {**rows[place].values, **added}


def _item(item: AnalyticItem, rows: Sequence[_Place], place: int, descending: bool) -> Any:
    here = rows[place]
    match item.function:
        case AnalyticFunction.ROW_NUMBER:
            return place + 1
        case AnalyticFunction.RANK:
            return 1 + next(n for n, row in enumerate(rows) if row.order == here.order)
        case AnalyticFunction.DENSE_RANK:
            return len({freeze(list(row.order)) for row in rows[: place + 1]})
        case AnalyticFunction.NTILE:
            return _tile(place, len(rows), item.offset)
        case AnalyticFunction.LAG | AnalyticFunction.LEAD as function:
            if item.ignore_nulls and item.offset:
                others = rows[:place][::-1] if function is AnalyticFunction.LAG else rows[place + 1 :]
                known = [value for row in others if (value := row.of(item.argument)) is not None]
                return known[item.offset - 1] if item.offset <= len(known) else here.of(item.default)
            other = place - item.offset if function is AnalyticFunction.LAG else place + item.offset
            return rows[other].of(item.argument) if 0 <= other < len(rows) else here.of(item.default)
    assert item.frame is not None
    frame = _frame(item.frame, rows, place, descending)
    if item.function in AGGREGATES:
        if item.argument is None:
            return len(frame)
        values = [row.of(item.argument) for row in frame]
        return aggregate(item.function.lower(), False, values, f"{item.function}({item.argument}) OVER")
    if item.ignore_nulls:
        frame = [row for row in frame if row.of(item.argument) is not None]
    number = {AnalyticFunction.FIRST_VALUE: 1, AnalyticFunction.LAST_VALUE: len(frame)}.get(
        item.function, item.offset
    )
    return frame[number - 1].of(item.argument) if 1 <= number <= len(frame) else None


def _tile(place: int, count: int, tiles: int) -> int:
    """The number of the tile; the first tiles have one row more, if the rows do not divide."""
    sizes = [count // tiles + (number < count % tiles) for number in range(tiles)]
    ends = [sum(sizes[: number + 1]) for number in range(tiles)]
    return 1 + next(number for number, end in enumerate(ends) if place < end)


def _frame(frame: Frame, rows: Sequence[_Place], place: int, descending: bool) -> Sequence[_Place]:
    """The rows of the frame of the row at this place; they follow one another."""
    if frame.unit is FrameUnit.ROWS:
        start = 0 if frame.start is None else place + int(frame.start)
        end = len(rows) if frame.end is None else place + int(frame.end) + 1
        return rows[max(start, 0) : max(end, 0)]
    here = rows[place].order
    starts, ends = [0], [len(rows)]
    if frame.start is not None:
        distance = frame.start
        starts = [
            n for n, row in enumerate(rows) if _not_before(row.order, here, distance, descending, n >= place)
        ]
    if frame.end is not None:
        distance = -frame.end
        ends = [
            n + 1
            for n, row in enumerate(rows)
            if _not_before(here, row.order, distance, descending, n <= place)
        ]
    return rows[starts[0] : ends[-1]] if starts and ends else []


def _not_before(
    one: tuple[Any, ...], other: tuple[Any, ...], distance: int | float, descending: bool, behind: bool
) -> bool:
    """Whether `one` stands at `other` + distance in the order, or behind it. `behind`: at or behind `other`."""
    if not distance:
        return one == other or behind
    (value,), (reference,) = one, other
    if value is None or reference is None:
        # NULL is at no distance from a value: its frame is the NULLs, and it is in no other row's frame.
        return value is reference
    return bool(value <= reference - distance if descending else value >= reference + distance)
