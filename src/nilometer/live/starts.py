"""Where in its streams' logs a query begins: now, at the beginning, or at a time (language.md, STARTING)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from nilometer.errors import ConfigurationError
from nilometer.log import Offset, StreamLog
from nilometer.types import parse_time

Start = Literal["now", "beginning"] | int | Mapping[str, Offset]
"""A mapping gives the offset in each stream's log, by the stream's lower-case name."""
NOW: Literal["now"] = "now"
BEGINNING: Literal["beginning"] = "beginning"


def is_now(start: Start, logs: Mapping[str, StreamLog]) -> bool:
    """Whether a start is at the end of these logs."""
    return start == NOW or offsets_at(logs, start) == offsets_at(logs, NOW)


def offsets_at(logs: Mapping[str, StreamLog], start: Start) -> dict[str, Offset]:
    """The offset in each log at which a query begins. An offset beyond what a log still holds is moved to its
    beginning or end; a stream without one begins at its end."""
    if not isinstance(start, Mapping):
        return {key: offset_at(log, start) for key, log in logs.items()}
    return {key: max(min(start.get(key, log.end), log.end), log.start) for key, log in logs.items()}


def goes_on_at(
    committed: Mapping[str, Offset], logs: Mapping[str, StreamLog], start: Start
) -> dict[str, Offset]:
    """Where a query that goes on stands in each log: at its last commit; in a stream that it did not read before, where
    its record says, else at the stream's end. A log may no longer hold that place."""
    recorded = start if isinstance(start, Mapping) else {}
    return {
        key: committed[key] if key in committed else min(recorded.get(key, log.end), log.end)
        for key, log in logs.items()
    }


def offset_at(log: StreamLog, start: Literal["now", "beginning"] | int) -> Offset:
    """The offset in a log at which a query begins: its end, its beginning, or the first row, in log order,
    whose time is at or after the given time.

    All rows after that belong to the answer, even those with an earlier time. The batches into which the log
    is cut do not matter.
    """
    if start == NOW:
        return log.end
    if start == BEGINNING:
        return log.start
    time_column = next((name for name in log.columns if name.lower() == "time"), None)
    for segment in log.segments():
        index = segment.index
        if index.greatest_time is None or index.greatest_time < start or time_column is None:
            continue
        for entry in log.read(Offset(index.number, index.position)):
            if entry.rows is not None:
                reached = (entry.rows.get_column(time_column) >= start).arg_true()
                if len(reached):
                    return Offset(entry.after.number - 1, entry.position + int(reached[0]))
    return log.end


def start_of(text: str) -> Start:
    """Parse `now`, `beginning` or a time."""
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
