"""Streams to streams, source by source: SAMPLE EVERY, and LAG, DELTA and RATE.

Both depend on the order of a source's tuples, so tuples at W or later wait: an earlier one may still arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nilometer.expressions import Call, Literal, type_of
from nilometer.plan.logical import Lag, Lagged, Sample, Shift
from nilometer.plan.reference.rows import Row, source_order
from nilometer.plan.scalar import evaluate
from nilometer.types import FLOAT, SECOND, floor_to


def by_source(rows: Sequence[Row], watermark: int) -> list[list[Row]]:
    """The tuples below W of each source, in the order (time, position). Tuples without an id are one source."""
    sources: dict[Any, list[Row]] = {}
    for row in sorted(rows, key=source_order):
        if row.tick < watermark:
            sources.setdefault(row.id, []).append(row)
    return list(sources.values())


def sample(node: Sample, rows: Sequence[Row], watermark: int) -> list[Row]:
    """Per source the first tuple of each interval of time since the epoch."""
    kept = []
    for source in by_source(rows, watermark):
        first: dict[int, Row] = {}
        for row in source:
            first.setdefault(floor_to(row.time, node.every), row)
        kept += list(first.values())
    return kept


def lag(node: Lag, rows: Sequence[Row], watermark: int) -> list[Row]:
    """Every tuple with what it owes to its source's earlier ones."""
    result = []
    for source in by_source(rows, watermark):
        for index, row in enumerate(source):
            added = {item.name: _lagged(item, source, index) for item in node.items}
            result.append(replace(row, values={**row.values, **added}))
    return result


def _lagged(item: Lagged, source: Sequence[Row], index: int) -> Any:
    """LAG: the value that many tuples back; DELTA: how much it has changed; RATE: per second, 0 apart NULL."""
    if index < item.offset:
        return None
    row, earlier = source[index], source[index - item.offset]
    before = evaluate(item.expression, earlier.values, earlier.tick)
    if item.function is Shift.LAG:
        return before
    value = evaluate(item.expression, row.values, row.tick)
    # Subtracting as the language does: NULLs, and an INT that does not fit, have their meaning there.
    type_ = type_of(item.expression).plain if item.function is Shift.DELTA else FLOAT
    change = evaluate(Call("-", (Literal(value, type_), Literal(before, type_)), type_), {}, None)
    if item.function is Shift.DELTA:
        return change
    seconds = (row.time - earlier.time) / SECOND
    return evaluate(Call("/", (Literal(change, FLOAT), Literal(seconds, FLOAT)), FLOAT), {}, None)
