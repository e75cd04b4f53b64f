"""Finds periodic patterns by trying all sets of letters of every segment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from nilometer.algebra.table_function import Frame
from nilometer.algebra.table_functions.patterns import ACROSS
from nilometer.algebra.table_functions.sequences import slots_of_window
from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.functions.sequences import Slots, sequences
from nilometer.plan.reference.rows import Evaluation, Row
from nilometer.types import ceil_to

Segment = frozenset[tuple[int, Any]]
"""The letters of a segment: (position, symbol)."""


def patterns(
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
    for tick in range(ceil_to(first_tick, frame.slide), watermark, frame.slide):
        end, first = slots_of_window(frame, every, tick)
        known = sequences(node, [row for row in rows if row.time <= tick - frame.end])
        segments = {id_: _segments(node, slots, first, end) for id_, slots in known.items()}
        groups = (
            [((), [segment for of in segments.values() for segment in of])]
            if call[ACROSS]
            else [((id_,), of) for id_, of in segments.items()]
        )
        bag = [
            dict(zip(node.schema.names, (*head, *found), strict=True))
            for head, of in groups
            for found in _patterns(node, of)
        ]
        result.append(Evaluation(tick, tuple(bag)))
    return result


def _segments(node: TableFunction, slots: Slots, first: int | None, end: int) -> list[Segment]:
    period = node.call["PERIOD"]
    assert isinstance(period, int)
    held: dict[int, set[tuple[int, Any]]] = {}
    for slot, symbol in slots.items():
        number = slot // period
        if (first is None or number * period >= first) and (number + 1) * period <= end:
            held.setdefault(number, set()).add((slot % period, symbol))
    return [frozenset(letters) for letters in held.values()]


def _patterns(node: TableFunction, segments: list[Segment]) -> Iterator[tuple[Any, ...]]:
    period, least, most = (node.call[word] for word in ("PERIOD", "CONFIDENCE", "MOST LETTERS"))
    assert isinstance(period, int)
    assert isinstance(least, float)
    longest = most if isinstance(most, int) else period
    counts: Counter[Segment] = Counter()
    for segment in segments:
        for letters in range(1, min(len(segment), longest) + 1):
            counts.update(frozenset(chosen) for chosen in combinations(sorted(segment), letters))
    kept = {pattern: count for pattern, count in counts.items() if count / len(segments) >= least}
    for pattern, count in kept.items():
        if node.call["MAXIMAL"] and any(pattern < other and count == more for other, more in kept.items()):
            continue
        symbols = {position: str(symbol) for position, symbol in pattern}
        gap = " " if any(len(symbol) > 1 for symbol in symbols.values()) else ""
        text = gap.join(symbols.get(position, "*") for position in range(period))
        yield period, text, len(pattern), count, len(segments), count / len(segments)
