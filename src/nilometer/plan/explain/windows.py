"""Prints and reads windows in plan text, in the language's own spelling where it has one.

>>> print_time_window(0, 0, None, False), print_time_window(900_000_000, 0, 60_000_000, True)
('NOW', 'RANGE 15 MINUTES SLIDE 1 MINUTE')
"""

from __future__ import annotations

from typing import Any

from nilometer.algebra.grid import ONCE, Grid, GridUnit
from nilometer.language.cursor import Cursor
from nilometer.language.parse_expressions import parse_expression, parse_number
from nilometer.language.print_expressions import string
from nilometer.plan.explain.expressions import read_duration
from nilometer.types import format_duration

CALENDAR_UNITS = {"DAYS": GridUnit.DAY, "WEEKS": GridUnit.WEEK, "MONTHS": GridUnit.MONTH}


def print_time_window(
    start: int | None, end: int, slide: int | None, open_start: bool, grid: Grid | None = None
) -> str:
    """`NOW`, `AT NOW - d`, `RANGE d`, `UNBOUNDED`, `FROM ... TO ...`; AFTER is an open start that RANGE
    cannot say. Over a grid also `TUMBLE d`, `HOP d SLIDE d` and `UNBOUNDED ONCE`."""
    if grid is not None:
        return _print_over_grid(start, end, grid)
    text = _print_range(start, end, open_start, format_duration)
    return text if slide is None else f"{text} SLIDE {format_duration(slide)}"


def _print_over_grid(start: int | None, end: int, grid: Grid) -> str:
    """The length and the slide in the grid's own units. With `end` the windows are half-open."""
    if grid.once or start is None:
        return "UNBOUNDED ONCE"
    step = _print_steps(grid, grid.count)
    size = _print_steps(grid, start // grid.nominal * grid.count if grid.by_calendar else start)
    if end and size == step:
        text = f"TUMBLE {size}"
    else:
        text = f"{'HOP' if end else 'RANGE'} {size} SLIDE {step}"
    # The offset of half-open windows is that of their start.
    offset = (grid.offset - start) % grid.count if end and not grid.by_calendar else grid.offset
    text += f" OFFSET {format_duration(offset)}" if offset or not (end or grid.by_calendar) else ""
    return text + (f" TIMEZONE {string(grid.zone)}" if grid.by_calendar else "")


def _print_steps(grid: Grid, count: int) -> str:
    return f"{count} {grid.unit}S" if grid.by_calendar else format_duration(count)


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
    if cursor.at("TUMBLE", "HOP") or _follows(cursor, "ONCE", "OFFSET", "TIMEZONE"):
        return _read_over_grid(cursor)
    start, end, ranged, open_start = _read_range(cursor)
    slide = _read_length(cursor) if cursor.accept("SLIDE") else None
    return {"start": start, "end": end, "slide": slide, "open_start": open_start or ranged}


def _follows(cursor: Cursor, *words: str) -> bool:
    """Whether one of the words follows in this clause."""
    for distance in range(1, 12):
        key = cursor.peek(distance).key
        if key in words or key in (";", "]"):
            return key in words
    return False


def _read_over_grid(cursor: Cursor) -> dict[str, Any]:
    word = cursor.advance().key
    if word == "UNBOUNDED":
        cursor.expect("ONCE")
        return {"start": None, "end": 0, "slide": ONCE.nominal, "open_start": False, "grid": ONCE}
    size, unit = _read_steps(cursor)
    step = size
    if word != "TUMBLE":
        cursor.expect("SLIDE")
        step, _ = _read_steps(cursor)
    offset = _read_length(cursor) if cursor.accept("OFFSET") else 0
    zone = cursor.string() if cursor.accept("TIMEZONE") else "UTC"
    half_open = word != "RANGE"
    if half_open and unit is GridUnit.TIME:
        offset = (offset + size) % step
    grid = Grid(unit, step, offset, zone)
    start = size // step * grid.nominal if grid.by_calendar else size
    return {
        "start": start,
        "end": int(half_open),
        "slide": grid.nominal,
        "open_start": not half_open,
        "grid": grid,
    }


def _read_steps(cursor: Cursor) -> tuple[int, GridUnit]:
    """`10 MINUTES`, in microseconds, or `3 DAYS` of the calendar: units with a TIMEZONE count."""
    if (unit := CALENDAR_UNITS.get(cursor.peek().key)) is not None and _follows(cursor, "TIMEZONE"):
        count = int(parse_number(cursor))
        cursor.advance()
        return count, unit
    return _read_length(cursor), GridUnit.TIME


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
