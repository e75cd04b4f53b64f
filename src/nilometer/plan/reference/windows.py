"""Evaluates windows over streams: when a window is evaluated, and which tuples it holds then.

When: with SLIDE, a time window is evaluated at the multiples of the slide since the epoch, from the first at
or after the extent's first tuple. Without SLIDE, it is evaluated at every acquisition tick of a sensed
stream, or at every tick at which the stream has a tuple. Which tuples, at T: `T - start <= tick <= T - end`;
RANGE excludes the start. Windows over a grid are evaluated at its edges. TUMBLE and HOP leave no tuple out:
their edges begin after the first tick less the streams' DELAY. By the calendar, windows begin so many edges
before T. Row windows count the rows of all sources in the order (time, id, position). A tick T is evaluated
only if W > T.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nilometer.algebra.table_function import Frame
from nilometer.plan.logical import Acquire, RowWindow, TimeWindow, acquisition_interval, walk_plan
from nilometer.plan.reference.rows import Evaluation, Row, freeze, stream_order
from nilometer.types import ceil_to


def time_window(
    node: TimeWindow, rows: Sequence[Row], first_tick: int | None, watermark: int
) -> list[Evaluation]:
    """The evaluations of a time window over a stream whose first tuple came at `first_tick`."""
    ordered = sorted(rows, key=stream_order)
    return [
        Evaluation(tick, tuple(row.values for row in ordered if within(node, row.tick, tick)))
        for tick in evaluation_ticks(node, rows, first_tick, watermark)
    ]


def evaluation_ticks(
    node: TimeWindow, rows: Sequence[Row], first_tick: int | None, watermark: int
) -> list[int]:
    """The ticks below W at which the window is evaluated."""
    if node.grid is not None and node.grid.once:
        return node.grid.edges(0, watermark)
    if node.grid is not None:
        delays = (leaf.stream.delay for leaf in walk_plan(node) if isinstance(leaf, Acquire))
        grid = node.grid.over(delays)
        return [] if first_tick is None else grid.edges(grid.begins(first_tick, node.end), watermark)
    step = node.slide if node.slide is not None else acquisition_interval(node.input)
    if step is None:
        return sorted({row.tick for row in rows if row.tick < watermark})
    if first_tick is None:
        return []
    return list(range(ceil_to(first_tick, step), watermark, step))


def within(node: TimeWindow | Frame, tick: int, now: int) -> bool:
    """Whether the window holds a tick at `now`."""
    if tick > now - node.end:
        return False
    if node.start is None:
        return True
    if isinstance(node, TimeWindow) and node.grid is not None and node.grid.by_calendar:
        return tick > node.grid.back(now, node.start // node.grid.nominal) - node.end
    return tick > now - node.start if node.open_start else tick >= now - node.start


def row_window(node: RowWindow, rows: Sequence[Row], watermark: int) -> list[Evaluation]:
    """The evaluations of a row window: at every `slide`-th row, with the tick of that row.

    Rows at W or later wait: one that precedes them in the order may still arrive.
    """
    ordered = sorted((row for row in rows if row.tick < watermark), key=stream_order)
    if node.keys:
        return _row_windows_per_key(node, ordered)
    return _row_windows(node, ordered)


def _row_windows_per_key(node: RowWindow, ordered: Sequence[Row]) -> list[Evaluation]:
    """Each key's own evaluations, in the order of the rows at which they take place (NULL is a key)."""
    keyed: dict[Any, list[int]] = {}
    for place, row in enumerate(ordered):
        keyed.setdefault(freeze([row.values[name] for name in node.keys]), []).append(place)
    found: list[tuple[int, Evaluation]] = []
    for places in keyed.values():
        evaluations = _row_windows(node, [ordered[place] for place in places])
        found += zip(places[node.slide - 1 :: node.slide], evaluations, strict=True)
    return [evaluation for _, evaluation in sorted(found, key=lambda each: each[0])]


def _row_windows(node: RowWindow, ordered: Sequence[Row]) -> list[Evaluation]:
    evaluations = []
    for number in range(node.slide, len(ordered) + 1, node.slide):
        first = 0 if node.start is None else max(0, number - 1 - node.start)
        behind_last = max(0, number - node.end)
        bag = tuple(row.values for row in ordered[first:behind_last])
        evaluations.append(Evaluation(ordered[number - 1].tick, bag))
    return evaluations
