"""Where in its streams' logs a query begins: now, at the beginning, or at a time (language.md, STARTING)."""

from __future__ import annotations

from typing import Literal

from nilometer.edge.log import Offset, StreamLog
from nilometer.errors import ConfigurationError
from nilometer.types import parse_time

Start = Literal["now", "beginning"] | int
NOW: Literal["now"] = "now"
BEGINNING: Literal["beginning"] = "beginning"


def offset_at(log: StreamLog, start: Start) -> Offset:
    """The place in a log: its end, its beginning, or the first entry that holds a reading at or after the time."""
    if start == NOW:
        return log.end
    if start == BEGINNING:
        return log.start
    time_column = next((name for name in log.columns if name.lower() == "time"), None)
    for segment in log.segments():
        index = segment.index
        if index.greatest_time is None or index.greatest_time < start or time_column is None:
            continue
        at = Offset(index.number, index.position)
        for entry in log.read(at):
            if entry.rows is not None and entry.rows.height:
                latest = entry.rows.get_column(time_column).max()
                if isinstance(latest, int) and latest >= start:
                    return at
            at = entry.after
    return log.end


def start_of(text: str) -> Start:
    """`now`, `beginning` or a time, as people write it."""
    word = text.strip().lower()
    if word == NOW:
        return NOW
    if word == BEGINNING:
        return BEGINNING
    try:
        return parse_time(text)
    except ValueError:
        raise ConfigurationError(
            f"a query starts now, at the beginning or at a time, not at '{text}'",
            hint="write now, beginning, or '2026-01-31T12:00:00Z'",
        ) from None
