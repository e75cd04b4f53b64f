"""Finds the last tuple of each sensor in the window, at each evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nilometer.algebra.table_function import Frame
from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.rows import Evaluation, Row, source_order
from nilometer.plan.reference.windows import within
from nilometer.types import ceil_to


def latest(
    node: TableFunction, rows: Sequence[Row], first_tick: int | None, watermark: int
) -> list[Evaluation]:
    """The evaluations below W. A tuple without an id belongs to no sensor."""
    frame = node.call.window
    assert isinstance(frame, Frame)
    if first_tick is None:
        return []
    ordered = [row for row in sorted(rows, key=source_order) if row.id is not None]
    found = []
    for tick in range(ceil_to(first_tick, frame.slide), watermark, frame.slide):
        last: dict[Any, Row] = {row.id: row for row in ordered if within(frame, row.tick, tick)}
        found.append(Evaluation(tick, tuple(_values(node, row) for row in last.values())))
    return found


def _values(node: TableFunction, row: Row) -> dict[str, Any]:
    others = (row.values[name] for name in node.call.columns)
    return dict(zip(node.schema.names, (row.time, row.id, *others), strict=True))
