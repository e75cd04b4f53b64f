"""Compares every subsequence with the example."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from nilometer.algebra.table_function import Frame
from nilometer.algebra.table_functions.sequences import slots_of_window
from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.functions.discords import normalised, squared
from nilometer.plan.reference.functions.sequences import Slots, sequences
from nilometer.plan.reference.rows import Evaluation, Row
from nilometer.types import ceil_to


def similar_to(node: TableFunction, rows: Sequence[Row], first_tick: int | None, watermark: int) -> list[Any]:
    """The rows of a stream, or of windows."""
    call = node.call
    frame, every, length, within = call.window, call["EVERY"], len(_example(node)), call["WITHIN"]
    assert isinstance(every, int)
    if not isinstance(frame, Frame):
        assert isinstance(within, float)
        return [
            Row(end, end, id_, None, _named(node, id_, begin, distance))
            for id_, slots in sequences(node, [row for row in rows if row.time < watermark]).items()
            for begin, distance in _compared(node, slots)
            if distance <= within and (end := (begin + length) * every) < watermark
        ]
    if first_tick is None:
        return []
    nearest = call["NEAREST"]
    assert isinstance(nearest, int)
    result = []
    for tick in range(ceil_to(first_tick, frame.slide), watermark, frame.slide):
        end, first = slots_of_window(frame, every, tick)
        assert first is not None
        bag = []
        for id_, slots in sequences(node, [row for row in rows if row.time <= tick - frame.end]).items():
            taken: list[int] = []
            inside = {slot: value for slot, value in slots.items() if first <= slot < end}
            for begin, distance in sorted(_compared(node, inside), key=lambda each: (each[1], each[0])):
                if len(taken) < nearest and all(abs(begin - other) >= length for other in taken):
                    taken.append(begin)
                    bag.append(_named(node, id_, begin, distance))
        result.append(Evaluation(tick, tuple(bag)))
    return result


def _example(node: TableFunction) -> list[float]:
    example = node.call["EXAMPLE"]
    assert isinstance(example, tuple)
    return list(example)  # type: ignore[arg-type]


def _compared(node: TableFunction, slots: Slots) -> Iterator[tuple[int, float]]:
    example, raw = _example(node), node.call["RAW"] is True
    wanted = example if raw else normalised(example)
    assert wanted is not None
    for begin in sorted(slots):
        values = [slots.get(slot) for slot in range(begin, begin + len(example))]
        if None not in values:
            shape = values if raw else normalised(values)  # type: ignore[arg-type]
            if shape is not None:
                yield begin, math.sqrt(squared(wanted, shape))  # type: ignore[arg-type]


def _named(node: TableFunction, id_: Any, begin: int, distance: float) -> dict[str, Any]:
    every = node.call["EVERY"]
    assert isinstance(every, int)
    end = (begin + len(_example(node))) * every
    return dict(zip(node.schema.names, (end, id_, begin * every, distance), strict=True))
