"""Prints and reads windows in plan text, in the language's own spelling where it has one.

>>> print_time_window(0, 0, None, False), print_time_window(900_000_000, 0, 60_000_000, True)
('NOW', 'RANGE 15 MINUTES SLIDE 1 MINUTE')
"""

from __future__ import annotations

from typing import Any

from nilometer.language.cursor import Cursor
from nilometer.language.parse_expressions import parse_expression
from nilometer.plan.explain.expressions import read_duration
from nilometer.types import format_duration


def print_time_window(start: int | None, end: int, slide: int | None, open_start: bool) -> str:
    """`NOW`, `AT NOW - d`, `RANGE d`, `UNBOUNDED`, `FROM ... TO ...`; AFTER is an open start that RANGE
    cannot say."""
    text = _print_range(start, end, open_start, format_duration)
    return text if slide is None else f"{text} SLIDE {format_duration(slide)}"


def print_row_window(start: int | None, end: int, slide: int) -> str:
    """The same in rows; RANGE n ROWS holds n rows."""
    if start is not None and end == 0:
        text = f"RANGE {_rows(start + 1)}"
    else:
        text = _print_range(start, end, False, _rows)
    return f"{text} SLIDE {_rows(slide)}"


def _rows(count: int) -> str:
    return f"{count} ROWS"


def _print_range(start: int | None, end: int, open_start: bool, length: Any) -> str:
    if not open_start:
        if start == end:
            return "NOW" if end == 0 else f"AT NOW - {length(end)}"
        if start is None and end == 0:
            return "UNBOUNDED"
    elif start is not None and end == 0:
        return f"RANGE {length(start)}"

    def offset(value: int) -> str:
        return "NOW" if value == 0 else f"NOW - {length(value)}"

    first = "BEGINNING" if start is None else offset(start)
    return f"{'AFTER' if open_start else 'FROM'} {first} TO {offset(end)}"


def time_window_parameters(cursor: Cursor) -> dict[str, Any]:
    """The parameters of a time window."""
    start, end, ranged, open_start = _read_range(cursor)
    slide = _read_length(cursor) if cursor.accept("SLIDE") else None
    return {"start": start, "end": end, "slide": slide, "open_start": open_start or ranged}


def row_window_parameters(cursor: Cursor) -> dict[str, Any]:
    """The parameters of a row window."""
    start, end, ranged, _ = _read_range(cursor)
    if ranged and start is not None:
        start -= 1
    cursor.expect("SLIDE")
    return {"start": start, "end": end, "slide": _read_length(cursor)}


def _read_range(cursor: Cursor) -> tuple[int | None, int, bool, bool]:
    """Reads start, end, whether the text said RANGE, and whether the start is open."""
    match cursor.expect_any("NOW", "AT", "RANGE", "UNBOUNDED", "FROM", "AFTER"):
        case "NOW":
            return 0, 0, False, False
        case "AT":
            offset = _read_offset(cursor)
            return offset, offset, False, False
        case "RANGE":
            return _read_length(cursor), 0, True, False
        case "UNBOUNDED":
            return None, 0, False, False
        case word:
            start = None if cursor.accept("BEGINNING") else _read_offset(cursor)
            cursor.expect("TO")
            return start, _read_offset(cursor), False, word == "AFTER"


def _read_offset(cursor: Cursor) -> int:
    cursor.expect("NOW")
    return _read_length(cursor) if cursor.accept("-") else 0


def _read_length(cursor: Cursor) -> int:
    return read_duration(parse_expression(cursor))
