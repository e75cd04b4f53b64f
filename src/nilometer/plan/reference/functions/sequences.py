"""Sequences of slots, one source at a time: slot -> symbol or value. A slot that is not there is a gap."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nilometer.algebra.table_function import Frame
from nilometer.algebra.table_functions.sequences import SYMBOLS, encoder, slots_of_window
from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.rows import Evaluation, Row, order_key, source_order
from nilometer.types import ceil_to

Slots = dict[int, Any]


def sequences(node: TableFunction, rows: Sequence[Row]) -> dict[Any, Slots]:
    """The sequence of every source, by id."""
    call = node.call
    every, fill, column = call["EVERY"], call["FILL"] or 0, call.columns[0]
    assert isinstance(every, int)
    assert isinstance(fill, int)
    encode = encoder(call) if call[SYMBOLS] is not None else float
    found: dict[Any, Slots] = {}
    for row in sorted(rows, key=source_order):
        value = row.values[column]
        if row.id is None or value is None or (isinstance(value, float) and not math.isfinite(value)):
            continue
        found.setdefault(row.id, {})[(row.time - 1) // every] = encode(value)
    for slots in found.values():
        for slot in sorted(slots):
            for gap in range(slot + 1, slot + fill + 1):
                if gap in slots:
                    break
                slots[gap] = slots[slot]
    return {id_: found[id_] for id_ in sorted(found, key=order_key)}


def evaluations(
    node: TableFunction,
    rows: Sequence[Row],
    first_tick: int | None,
    watermark: int,
    at: Callable[[Any, list[Any], int], Iterator[tuple[Any, ...]]],
) -> list[Evaluation]:
    """At each tick, the rows that `at` finds in each source's slots in the window, with the number of the first. They are
    a list of symbols, None where there is a gap, from the source's first reading in the window to its end."""
    call = node.call
    frame, every = call.window, call["EVERY"]
    assert isinstance(frame, Frame)
    assert isinstance(every, int)
    if first_tick is None:
        return []
    result = []
    for tick in range(ceil_to(first_tick, frame.slide), watermark, frame.slide):
        known = sequences(node, [row for row in rows if row.time <= tick - frame.end])
        end, low = slots_of_window(frame, every, tick)
        bag = []
        for id_, slots in known.items():
            held = [slot for slot in slots if slot < end and (low is None or slot >= low)]
            if held:
                series = [slots.get(slot) for slot in range(min(held), end)]
                bag += [
                    dict(zip(node.schema.names, found, strict=True)) for found in at(id_, series, min(held))
                ]
        result.append(Evaluation(tick, tuple(bag)))
    return result
