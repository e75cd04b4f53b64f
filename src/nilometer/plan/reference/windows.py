"""Evaluates windows over streams: when a window is evaluated, and which tuples it holds then.

When: with SLIDE, a time window is evaluated at the multiples of the slide since the epoch, from the first at
or after the extent's first tuple. Without SLIDE, it is evaluated at every acquisition tick of a sensed
stream, or at every tick at which the stream has a tuple. Which tuples, at T: `T - start <= tick <= T - end`;
RANGE excludes the start. Row windows count the rows of all sources in the order (time, id, position). A tick
T is evaluated only if W > T.
"""

from __future__ import annotations

from collections.abc import Sequence

from nilometer.plan.logical import RowWindow, TimeWindow, acquisition_interval
from nilometer.plan.reference.rows import Evaluation, Row, stream_order
from nilometer.types import ceil_to


def time_window(
    node: TimeWindow, rows: Sequence[Row], first_tick: int | None, watermark: int
) -> list[Evaluation]:
    """The evaluations of a time window over a stream whose first tuple came at `first_tick`."""
    ordered = sorted(rows, key=stream_order)
    return [
        Evaluation(tick, tuple(row.values for row in ordered if _within(node, row.tick, tick)))
        for tick in evaluation_ticks(node, rows, first_tick, watermark)
    ]


def evaluation_ticks(
    node: TimeWindow, rows: Sequence[Row], first_tick: int | None, watermark: int
) -> list[int]:
    """The ticks below W at which the window is evaluated."""
    step = node.slide if node.slide is not None else acquisition_interval(node.input)
    if step is None:
        return sorted({row.tick for row in rows if row.tick < watermark})
    if first_tick is None:
        return []
    return list(range(ceil_to(first_tick, step), watermark, step))


def _within(node: TimeWindow, tick: int, now: int) -> bool:
    if tick > now - node.end:
        return False
    if node.start is None:
        return True
    return tick > now - node.start if node.open_start else tick >= now - node.start


def row_window(node: RowWindow, rows: Sequence[Row], watermark: int) -> list[Evaluation]:
    """The evaluations of a row window: at every `slide`-th row, with the tick of that row.

    Rows at W or later wait: one that precedes them in the order may still arrive.
    """
    ordered = sorted((row for row in rows if row.tick < watermark), key=stream_order)
    evaluations = []
    for number in range(node.slide, len(ordered) + 1, node.slide):
        first = 0 if node.start is None else max(0, number - 1 - node.start)
        behind_last = max(0, number - node.end)
        bag = tuple(row.values for row in ordered[first:behind_last])
        evaluations.append(Evaluation(ordered[number - 1].tick, bag))
    return evaluations
