"""SNJoin's variable-arity join (Definition 1): each tuple with similar, earlier tuples of other sources.

The order is (time, id, position), and "earlier" is strict. Two tuples are similar if their values differ by
at most epsilon and their times by at most the window. Tuples without a source or a value are similar to
nothing. A tuple without a match gives no row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import floor
from typing import Any

from nilometer.algebra import SimilarForm
from nilometer.algebra.table_function import FunctionCall
from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.rows import Row, order_key, stream_order
from nilometer.types import OwnWindow


def similar(node: TableFunction, rows: Sequence[Row], _first_tick: int | None, watermark: int) -> list[Row]:
    """The matches of every tuple below W; the rows keep the tuple's tick, time, id and position."""
    ordered = sorted((row for row in rows if row.tick < watermark), key=stream_order)
    result = []
    for index, row in enumerate(ordered):
        matches = [earlier for earlier in ordered[:index] if _alike(node.call, row, earlier)]
        for tail in _tails(node.call, row, matches):
            head = (row.time, row.id, row.values[node.call.columns[0]])
            result.append(replace(row, values=dict(zip(node.schema.names, head + tail, strict=True))))
    return result


def _alike(call: FunctionCall, row: Row, earlier: Row) -> bool:
    value, other = row.values[call.columns[0]], earlier.values[call.columns[0]]
    if row.id is None or earlier.id is None or row.id == earlier.id or value is None or other is None:
        return False
    window = call.window
    if isinstance(window, OwnWindow):
        # How long a tuple waits for partners depends on its own sensor (section 4.2.1).
        length = window.length(earlier.values[window.column])
    else:
        assert isinstance(window, int)
        length = window
    if length is None or row.time - earlier.time > length:
        return False
    # Without WITHIN, values must be equal, and text will do; with WITHIN, values are numbers.
    return bool(value == other if call["WITHIN"] == 0 else abs(value - other) <= call["WITHIN"])


def _tails(call: FunctionCall, row: Row, matches: Sequence[Row]) -> list[tuple[Any, ...]]:
    """The columns after (time, id, value), for each row that the matches give."""
    if not matches:
        return []
    form = call["FORM"]
    if form == SimilarForm.PAIRS:
        return [(other.time, other.id, other.values[call.columns[0]]) for other in matches]
    members = _members(matches)
    arity = 1 + len(members)
    if form == SimilarForm.SAMPLE:
        count = call["SAMPLE"]
        assert isinstance(count, int)
        taken = _members(_sample(count, row.time, matches))
        return [(arity, len(matches), [{"id": source, "times": times} for source, times in taken.items()])]
    if form == SimilarForm.COUNTS:
        return [(arity, len(matches))]
    if form == SimilarForm.LIST:
        return [(arity, [{"id": source, "times": times} for source, times in members.items()])]
    return [
        (arity, [{"id": source, "time": time} for source, time in zip(members, times, strict=True)])
        for times in product(*members.values())
    ]


def _members(matches: Sequence[Row]) -> dict[Any, list[int]]:
    """The times of each source."""
    members: dict[Any, list[int]] = {}
    for other in sorted(matches, key=lambda row: (order_key(row.id), row.time)):
        members.setdefault(other.id, []).append(other.time)
    return members


def _sample(count: int, time: int, matches: Sequence[Row]) -> Sequence[Row]:
    """An evenly spread sample of `count` matches; the offset of the first follows from the tuple's time."""
    if len(matches) <= count:
        return matches
    offset = Fraction(time * 0x9E3779B97F4A7C15 % 2**64 // 2**48, 2**16)
    return [matches[floor((number + offset) * len(matches) / count)] for number in range(count)]
