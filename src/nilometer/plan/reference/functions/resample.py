"""Resamples a stream, sensor by sensor: a row at every multiple of an interval.

NULL and PREVIOUS know a row when W has passed its time. LINEAR knows it with the tuple behind it, and the row
has that tuple's tick; its column `time` is the multiple.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from nilometer.algebra.table_functions.resample import LINEAR, NULLS
from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.rows import Row, order_key, source_order
from nilometer.types import INT_MAXIMUM, ceil_to

Known = tuple[int, tuple[Any, ...]]
"""The time of a tuple and the values of the columns."""

Sample = tuple[int, int, tuple[Any, ...]]
"""The tick, the multiple, and the values of the columns."""


def resample(node: TableFunction, rows: Sequence[Row], _first_tick: int | None, watermark: int) -> list[Row]:
    """The rows of all sensors. A tuple without an id belongs to no sensor."""
    every, within = node.call["EVERY"], node.call["WITHIN"]
    assert isinstance(every, int)
    longest = within if isinstance(within, int) else INT_MAXIMUM
    result = []
    for sensor in sorted({row.id for row in rows if row.id is not None}, key=order_key):
        # Of several tuples at one time, the last one counts.
        own = {row.time: row for row in sorted(rows, key=source_order) if row.id == sensor}
        known = [(time, tuple(row.values[name] for name in node.call.columns)) for time, row in own.items()]
        if node.call["FILL"] == LINEAR:
            samples = _on_lines(known, every, longest)
        else:
            samples = _held(node, known, every, longest, watermark)
        for tick, moment, values in samples:
            if tick < watermark:
                named = dict(zip(node.schema.names, (moment, sensor, *values), strict=True))
                result.append(Row(tick, tick, sensor, None, named))
    return result


def _held(
    node: TableFunction, known: Sequence[Known], every: int, longest: int, watermark: int
) -> Iterator[Sample]:
    for moment in range(ceil_to(known[0][0], every), watermark, every):
        time, values = next(pair for pair in reversed(known) if pair[0] <= moment)
        if node.call["FILL"] == NULLS and time <= moment - every:
            values = (None,) * len(values)
        if moment - time <= longest:
            yield moment, moment, values


def _on_lines(known: Sequence[Known], every: int, longest: int) -> Iterator[Sample]:
    before: Known | None = None
    for time, values in known:
        if before is None or time - before[0] > longest:
            if time % every == 0:
                yield time, time, tuple(map(_float, values))
        else:
            start, earlier = before
            for moment in range(ceil_to(start + 1, every), time + 1, every):
                share = (moment - start) / (time - start)
                pairs = zip(earlier, values, strict=True)
                yield time, moment, tuple(_between(one, other, share) for one, other in pairs)
        before = time, values


def _between(one: Any, other: Any, share: float) -> float | None:
    if share == 1.0:
        return _float(other)  # a tuple at the multiple itself
    if one is None or other is None:
        return None
    value = float(one) + (float(other) - float(one)) * share
    return value if math.isfinite(value) else None


def _float(value: Any) -> float | None:
    return None if value is None else float(value)
