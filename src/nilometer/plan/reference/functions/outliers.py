"""Finds readings far from the median of their source's last ones, sorting those anew for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from nilometer.algebra.table_functions.outliers import SCALE
from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.rows import Row, source_order


def outliers(node: TableFunction, rows: Sequence[Row], _first_tick: int | None, watermark: int) -> list[Row]:
    """The outliers below W."""
    reach, most, after = node.call.window, node.call["DEVIATIONS"], node.call["AFTER"]
    assert isinstance(reach, int)
    assert isinstance(most, float)
    assert isinstance(after, int)
    before: dict[int | str, list[tuple[int, float]]] = {}
    result = []
    for row in sorted(rows, key=source_order):
        value = row.values[node.call.columns[0]]
        if row.id is None or value is None or not math.isfinite(value) or row.tick >= watermark:
            continue
        known = before.setdefault(row.id, [])
        recent = [other for time, other in known if time > row.time - reach]
        known.append((row.time, float(value)))
        if len(recent) < after:
            continue
        middle = median(recent)
        mad = median(abs(other - middle) for other in recent)
        if abs(value - middle) > most * SCALE * mad:
            deviation = abs(value - middle) / (SCALE * mad) if mad else None
            named = (row.time, row.id, float(value), middle, deviation)
            values = dict(zip(node.schema.names, named, strict=True))
            result.append(Row(row.tick, row.time, row.id, row.position, values))
    return result
