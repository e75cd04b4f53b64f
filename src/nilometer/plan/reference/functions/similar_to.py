"""Compares every subsequence with the example."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from nilometer.algebra.table_function import Frame, shape_names, shapes_of
from nilometer.algebra.table_functions.sequences import slots_of_window
from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.functions.discords import normalised, squared
from nilometer.plan.reference.functions.sequences import Slots, sequences
from nilometer.plan.reference.rows import Evaluation, Row
from nilometer.types import ceil_to


def similar_to(node: TableFunction, rows: Sequence[Row], first_tick: int | None, watermark: int) -> list[Any]:
    """The rows of a stream, or of windows."""
    call = node.call
    frame, every, within = call.window, call["EVERY"], call["WITHIN"]
    assert isinstance(every, int)
    if not isinstance(frame, Frame):
        assert isinstance(within, float)
        return [
            Row(end, end, id_, None, _named(node, id_, name, begin, end, distance))
            for id_, slots in sequences(node, [row for row in rows if row.time < watermark]).items()
            for name, example in _examples(node)
            for begin, distance in _compared(node, example, slots)
            if distance <= within and (end := (begin + len(example)) * every) < watermark
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
            inside = {slot: value for slot, value in slots.items() if first <= slot < end}
            for name, example in _examples(node):
                taken: list[int] = []
                compared = _compared(node, example, inside)
                for begin, distance in sorted(compared, key=lambda each: (each[1], each[0])):
                    if len(taken) < nearest and all(abs(begin - other) >= len(example) for other in taken):
                        taken.append(begin)
                        over = (begin + len(example)) * every
                        bag.append(_named(node, id_, name, begin, over, distance))
        result.append(Evaluation(tick, tuple(bag)))
    return result


def _examples(node: TableFunction) -> list[tuple[str | None, list[float]]]:
    given = node.call["EXAMPLE"]
    names = shape_names(given)
    return [(names[place] if names else None, list(shape)) for place, shape in enumerate(shapes_of(given))]


def _compared(node: TableFunction, example: list[float], slots: Slots) -> Iterator[tuple[int, float]]:
    raw = node.call["RAW"] is True
    wanted = example if raw else normalised(example)
    assert wanted is not None
    for begin in sorted(slots):
        values = [slots.get(slot) for slot in range(begin, begin + len(example))]
        if None not in values:
            shape = values if raw else normalised(values)  # type: ignore[arg-type]
            if shape is not None:
                yield begin, math.sqrt(squared(wanted, shape))  # type: ignore[arg-type]


def _named(
    node: TableFunction, id_: Any, name: str | None, begin: int, end: int, distance: float
) -> dict[str, Any]:
    every = node.call["EVERY"]
    assert isinstance(every, int)
    values = end, id_, *(() if name is None else (name,)), begin * every, distance
    return dict(zip(node.schema.names, values, strict=True))
