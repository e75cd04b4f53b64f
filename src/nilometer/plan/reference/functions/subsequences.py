"""Finds the subsequences that many sources have by listing all of every source's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from nilometer.algebra.table_function import Frame
from nilometer.algebra.table_functions.sequences import slots_of_window
from nilometer.algebra.table_functions.subsequences import forgotten, pane_of, supported
from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.functions.sequences import Slots, sequences
from nilometer.plan.reference.rows import Evaluation, Row
from nilometer.types import ceil_to


def subsequences(
    node: TableFunction, rows: Sequence[Row], first_tick: int | None, watermark: int
) -> list[Evaluation]:
    """The evaluations below W."""
    call = node.call
    frame, every = call.window, call["EVERY"]
    assert isinstance(frame, Frame)
    assert isinstance(every, int)
    if first_tick is None:
        return []
    result = []
    rare, pane = forgotten(call), pane_of(call)
    gone: set[tuple[str, int, int]] = set()
    swept: int | None = None
    for tick in range(ceil_to(first_tick, frame.slide), watermark, frame.slide):
        end, first = slots_of_window(frame, every, tick)
        assert first is not None
        found: dict[tuple[str, int], list[tuple[Any, int]]] = {}
        heard = 0
        for id_, slots in sequences(node, [row for row in rows if row.time <= tick - frame.end]).items():
            inside = {slot: symbol for slot, symbol in slots.items() if first <= slot < end}
            heard += bool(inside)
            for text, length, last in _runs(node, inside):
                found.setdefault((text, length), []).append((id_, last))
        for (text, length), places in found.items() if rare else ():
            for over in {last // pane for _, last in places}:
                known = {id_ for id_, last in places if last // pane == over}
                if (swept is None or over >= swept) and over < end // pane and len(known) <= rare:
                    gone.add((text, length, over))
        if found:
            swept = end // pane
        bag = []
        for (text, length), all_places in found.items():
            places = [place for place in all_places if (text, length, place[1] // pane) not in gone]
            if not places:
                continue
            sources = len({id_ for id_, _ in places})
            if supported(call, sources, heard):
                ends = [(last + 1) * every for _, last in places]
                values = text, length, sources, len(places), min(ends), max(ends)
                bag.append(dict(zip(node.schema.names, values, strict=True)))
        result.append(Evaluation(tick, tuple(bag)))
    return result


def _runs(node: TableFunction, slots: Slots) -> Iterator[tuple[str, int, int]]:
    """Every occurrence: its text, length and last slot."""
    lengths, gaps = node.call["LENGTH"], node.call["GAPS"]
    assert isinstance(lengths, tuple)
    assert isinstance(gaps, int)
    low, high = lengths
    assert isinstance(low, int)
    assert isinstance(high, int)
    for length in range(low, high + 1):
        for begin in slots:
            reach = range(begin + 1, begin + (length - 1) * (gaps + 1) + 1)
            for others in combinations(reach, length - 1):
                places = (begin, *others)
                near = all(b - a <= gaps + 1 for a, b in zip(places, others, strict=False))
                if near and all(slot in slots for slot in range(begin, places[-1] + 1)):
                    symbols = [str(slots[place]) for place in places]
                    gap = " " if any(len(symbol) > 1 for symbol in symbols) else ""
                    yield gap.join(symbols), length, places[-1]
