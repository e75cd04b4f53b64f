"""Evaluates, source by source, SAMPLE EVERY and LAG, DELTA and RATE; and unites streams and their sources.

SAMPLE and LAG depend on the order of a source's tuples. Tuples at W or later wait, because an earlier one may
still arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nilometer.algebra import Collection, Lagged, Shift
from nilometer.expressions import Call, Literal, type_of
from nilometer.plan.logical import (
    Acquire,
    Join,
    Lag,
    Node,
    Sample,
    TableFunction,
    ToStream,
    Union,
    WindowJoin,
)
from nilometer.plan.reference.bags import united
from nilometer.plan.reference.rows import Row, source_order
from nilometer.plan.reference.ticks import mixed
from nilometer.plan.scalar import evaluate
from nilometer.types import FLOAT, SECOND, Type, floor_to


def by_source(rows: Sequence[Row], watermark: int) -> list[list[Row]]:
    """The tuples below W of each source, by (time, position). Tuples without an id form one source."""
    sources: dict[Any, list[Row]] = {}
    for row in sorted(rows, key=source_order):
        if row.tick < watermark:
            sources.setdefault(row.id, []).append(row)
    return list(sources.values())


def sample(node: Sample, rows: Sequence[Row], watermark: int) -> list[Row]:
    """The first tuple of each source in each interval of time since the epoch."""
    kept = []
    for source in by_source(rows, watermark):
        first: dict[int, Row] = {}
        for row in source:
            first.setdefault(floor_to(row.time, node.every), row)
        kept += list(first.values())
    return kept


def lag(node: Lag, rows: Sequence[Row], watermark: int) -> list[Row]:
    """Every tuple with the columns computed from its source's earlier tuples."""
    result = []
    for source in by_source(rows, watermark):
        for index, row in enumerate(source):
            added = {item.name: _lagged(item, source, index) for item in node.items}
            result.append(replace(row, values={**row.values, **added}))
    return result


def _lagged(item: Lagged, source: Sequence[Row], index: int) -> Any:
    """LAG: the value that many tuples back; DELTA: its change; RATE: its change per second, NULL if no time
    has passed."""
    if index < item.offset:
        return None
    row, earlier = source[index], source[index - item.offset]
    before = evaluate(item.expression, earlier.values, earlier.tick)
    if item.function is Shift.LAG:
        return before
    value = evaluate(item.expression, row.values, row.tick)
    # Subtracts as the language does, which defines the result for NULLs and for an INT that does not fit.
    type_ = type_of(item.expression).plain if item.function is Shift.DELTA else FLOAT
    change = evaluate(Call("-", (Literal(value, type_), Literal(before, type_)), type_), {}, None)
    if item.function is Shift.DELTA:
        return change
    seconds = (row.time - earlier.time) / SECOND
    return evaluate(Call("/", (Literal(change, FLOAT), Literal(seconds, FLOAT)), FLOAT), {}, None)


def united_streams(node: Union, left: Sequence[Row], right: Sequence[Row]) -> list[Row]:
    """The tuples of both streams, at their times if the two streams have different ticks.

    Positions in two logs cannot be compared, so none is kept. Ids are dropped if one side's are INT and the
    other's STRING: 5 and '5' may or may not be the same source.
    """
    bags = [row.values for row in left], [row.values for row in right]
    values = united(node, *bags)
    kinds = {kind for side in node.inputs if (kind := source_type(side)) is not None}
    return [
        Row(row.time if mixed(node) else row.tick, row.time, row.id if len(kinds) <= 1 else None, None, value)
        for row, value in zip((*left, *right), values, strict=True)
    ]


def source_type(node: Node) -> Type | None:
    """The type of a stream's ids; None if its tuples have no source, as those made by joins and windows."""
    match node:
        case Acquire(stream=stream):
            return stream.id_type.plain
        case TableFunction(call=call):
            return call.source_type(node.input.schema)
        case Union(left=left, right=right):
            kinds = [kind for side in (left, right) if (kind := source_type(side)) is not None]
            return kinds[0] if len(set(kinds)) == 1 else None
        case WindowJoin() | ToStream():
            return None
        case Join(left=left, right=right):
            return source_type(left if left.collection is Collection.STREAM else right)
        case _:
            return source_type(node.inputs[0])
