"""Cuts a stream's tuples into sessions: `(the tuple's columns, window_start, window_end, window_time)`.

A session of a source (or of a key) ends when its next tuple is later than its last one by more than the pause
d; it is known when W has passed the last tuple's time + d. That moment is the tick of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nilometer.plan.logical import TableFunction
from nilometer.plan.reference.rows import Row, freeze
from nilometer.types import MILLISECOND


def session(node: TableFunction, rows: Sequence[Row], _first_tick: int | None, watermark: int) -> list[Row]:
    """The tuples of all sessions that are over. NULL keys are one key, and tuples without an id one source."""
    pause = node.call["FOR"]
    assert isinstance(pause, int)
    keyed: dict[Any, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.time):
        columns = {name: row.values[name] for name in node.call.columns}
        keyed.setdefault(freeze(columns) if columns else row.id, []).append(row)
    result = []
    for tuples in keyed.values():
        sessions: list[list[Row]] = []
        for row in tuples:
            if not sessions or row.time > sessions[-1][-1].time + pause:
                sessions.append([])
            sessions[-1].append(row)
        for members in sessions:
            start, end = members[0].time, members[-1].time + pause
            if end < watermark:
                result += [
                    Row(end, end, row.id, None, _values(node, row, (start, end, end - MILLISECOND)))
                    for row in members
                ]
    return result


def _values(node: TableFunction, row: Row, window: tuple[int, int, int]) -> dict[str, Any]:
    own = tuple(row.values[name] for name in node.input.schema.names)
    return dict(zip(node.schema.names, own + window, strict=True))
