"""Compares every subsequence with every one before it, as the definition of DISCORDS and MOTIFS says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nilometer.algebra.table_function import Frame
from nilometer.algebra.table_functions.discords import zone
from nilometer.algebra.table_functions.sequences import slots_of_window
from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.functions.sequences import Slots, sequences
from nilometer.plan.reference.rows import Evaluation, Row
from nilometer.types import ceil_to


@dataclass(frozen=True)
class Found:
    """A subsequence and the nearest one before it."""

    begin: int
    distance: float
    nearest: int


def discords(node: TableFunction, rows: Sequence[Row], first_tick: int | None, watermark: int) -> list[Any]:
    """DISCORDS, as a stream or as windows."""
    call = node.call
    if isinstance(call.window, Frame):
        return _windows(node, rows, first_tick, watermark, motifs=False)
    every, length, window = call["EVERY"], call["LENGTH"], call.window
    assert isinstance(every, int)
    assert isinstance(length, int)
    assert isinstance(window, int)
    result = []
    for id_, slots in sequences(node, [row for row in rows if row.time < watermark]).items():
        for found in profile(node, slots, window // every):
            end = (found.begin + length) * every
            if end < watermark:
                result.append(Row(end, end, id_, None, _named(node, id_, found)))
    return result


def motifs(
    node: TableFunction, rows: Sequence[Row], first_tick: int | None, watermark: int
) -> list[Evaluation]:
    """MOTIFS."""
    return _windows(node, rows, first_tick, watermark, motifs=True)


def _windows(
    node: TableFunction, rows: Sequence[Row], first_tick: int | None, watermark: int, *, motifs: bool
) -> list[Evaluation]:
    call = node.call
    frame, every, length = call.window, call["EVERY"], call["LENGTH"]
    assert isinstance(frame, Frame)
    assert isinstance(every, int)
    assert isinstance(length, int)
    assert frame.start is not None
    if first_tick is None:
        return []
    result = []
    for tick in range(ceil_to(first_tick, frame.slide), watermark, frame.slide):
        end, first = slots_of_window(frame, every, tick)
        assert first is not None
        bag = []
        for id_, slots in sequences(node, [row for row in rows if row.time <= tick - frame.end]).items():
            seen = {slot: value for slot, value in slots.items() if slot < end}
            if motifs:
                seen = {slot: value for slot, value in seen.items() if slot >= first}
            known = profile(node, seen, (frame.start - frame.end) // every)
            inside = [found for found in known if found.begin >= first]
            bag += [_named(node, id_, found) for found in _chosen(node, inside, motifs)]
        result.append(Evaluation(tick, tuple(bag)))
    return result


def _chosen(node: TableFunction, found: list[Found], motifs: bool) -> list[Found]:
    top, length = node.call["TOP"], node.call["LENGTH"]
    assert isinstance(top, int)
    assert isinstance(length, int)
    chosen: list[Found] = []
    taken: list[int] = []
    for each in sorted(found, key=lambda f: (f.distance if motifs else -f.distance, f.begin)):
        own = [each.begin, each.nearest] if motifs else [each.begin]
        if len(chosen) < top and all(abs(one - other) >= length for one in own for other in taken):
            chosen.append(each)
            taken += own
    return chosen


def _named(node: TableFunction, id_: Any, found: Found) -> dict[str, Any]:
    every, length = node.call["EVERY"], node.call["LENGTH"]
    assert isinstance(every, int)
    assert isinstance(length, int)
    times = (found.begin + length) * every, found.begin * every, found.nearest * every
    return dict(zip(node.schema.names, (times[0], id_, times[1], found.distance, times[2]), strict=True))


def profile(node: TableFunction, slots: Slots, window: int) -> list[Found]:
    """The left profile of one source, with windows of so many slots."""
    length = node.call["LENGTH"]
    assert isinstance(length, int)
    raw = node.call["RAW"] is True
    shapes = {}
    for begin in sorted(slots):
        values = [slots.get(slot) for slot in range(begin, begin + length)]
        if None not in values:
            shape = values if raw else normalised(values)  # type: ignore[arg-type]
            if shape is not None:
                shapes[begin] = shape
    found = []
    for begin, shape in shapes.items():
        least = begin + length - window
        others = [b for b in shapes if least <= b <= begin - zone(length)]
        if others:
            # Squares are compared: roots of different numbers may be equal.
            best, nearest = min((squared(shape, shapes[other]), other) for other in others)  # type: ignore[arg-type]
            found.append(Found(begin, math.sqrt(best), nearest))
    return found


def normalised(values: list[float]) -> list[float] | None:
    """The values with mean 0 and deviation 1; all zeros if they are constant; None if they are too large."""
    mean = _sum(values) / len(values)
    variance = _sum([(value - mean) * (value - mean) for value in values]) / len(values)
    if min(values) == max(values) or variance == 0:
        return [0.0] * len(values)
    if not math.isfinite(variance):
        return None
    scale = 1 / math.sqrt(variance)
    return [(value - mean) * scale for value in values]


def squared(one: list[float], other: list[float]) -> float:
    """The square of the Euclidean distance."""
    return _sum([(a - b) * (a - b) for a, b in zip(one, other, strict=True)])


def _sum(values: list[float]) -> float:
    """Added one by one: Python's own sum compensates, and ties must fall as in a plain loop."""
    total = 0.0
    for value in values:
        total += value
    return total
