"""Parses windows in brackets, lengths of time and numbers of rows.

All offsets count back from now: `NOW - 15 MINUTES` is 15, and `NOW + 5 SECONDS` is -5, which the binder
refuses.

>>> from nilometer.language.cursor import Cursor
>>> parse_window(Cursor("[FROM NOW - 10 TO NOW SLIDE 5 sec]"))
FromToWindow(start=Amount(count=10, unit=None), end=None, slide=Amount(count=5, unit='SECONDS'))
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.language import ast
from nilometer.language.cursor import FLOAT, INT, Cursor
from nilometer.language.parse_expressions import parse_number
from nilometer.language.vocabulary import TIME_UNITS, UNIT_SPELLINGS, must_be_unit

UNIT_LABEL = "a unit"
WINDOW_LABEL = "a window in '[ ]'"


def parse_window(cursor: Cursor) -> ast.Window:
    """A window with its brackets."""
    start = cursor.expect("[", WINDOW_LABEL).start
    offset: ast.Amount | None
    window: ast.Window
    if cursor.accept("NOW"):
        if cursor.at("-", "+"):
            length = _offset(cursor)
            window = ast.RangeWindow(length, _slide(cursor))
        else:
            window = ast.NowWindow(_slide(cursor))
    elif cursor.accept("AT"):
        offset = _end(cursor)
        window = ast.AtWindow(offset, _slide(cursor))
    elif cursor.accept("FROM"):
        offset = _end(cursor)
        if not cursor.accept("TO"):
            cursor.fail(hint="a window has two ends: [FROM NOW - 2 HOURS TO NOW]")
        end = _end(cursor)
        window = ast.FromToWindow(offset, end, _slide(cursor))
    elif cursor.accept("RANGE"):
        if cursor.at("UNBOUNDED"):
            cursor.advance()
            window = ast.UnboundedWindow(_slide(cursor))
        else:
            negative = cursor.at("-")
            if negative:
                cursor.advance()
            length = _amount(cursor, negative=negative)
            window = ast.RangeWindow(length, _slide(cursor))
    elif cursor.accept("UNBOUNDED"):
        window = ast.UnboundedWindow(_slide(cursor))
    else:
        cursor.fail(hint="a window is such as [NOW], [RANGE 10 MINUTES] or [FROM NOW - 2 HOURS TO NOW]")
    cursor.expect("]")
    return replace(window, span=cursor.span_from(start))


def parse_duration(cursor: Cursor) -> ast.Amount:
    """A length of time with its unit, or a parameter's name."""
    amount = _amount(cursor, label="a length of time")
    if amount.unit is None and not isinstance(amount.count, str):
        cursor.fail(UNIT_LABEL, hint="a length of time needs a unit: " + ", ".join(TIME_UNITS))
    if amount.unit == "ROWS":
        cursor.refuse(
            "a length of time is needed here, not a number of rows", amount.span, "write such as 5 SECONDS"
        )
    return amount


def parse_rows(cursor: Cursor) -> ast.Amount:
    """A number of rows, or a parameter's name."""
    amount = _amount(cursor, label="a number of rows")
    if amount.unit is None and not isinstance(amount.count, str):
        cursor.fail("ROWS", hint="memory is counted in rows: MEMORY = 10000 ROWS")
    if amount.unit not in (None, "ROWS"):
        cursor.refuse(
            "a number of rows is needed here, not a length of time", amount.span, "write such as 10000 ROWS"
        )
    return amount


def _slide(cursor: Cursor) -> ast.Amount | None:
    return _amount(cursor) if cursor.accept("SLIDE") else None


def _end(cursor: Cursor) -> ast.Amount | None:
    """`NOW`, `NOW - 15 MINUTES` or the short `-15 MINUTES`; None is NOW."""
    if cursor.accept("NOW"):
        if not cursor.at("-", "+"):
            cursor.expected.append("'-'")
            return None
    elif not cursor.at("-", "+"):
        cursor.fail("'-'", hint="an end of a window counts from now: NOW - 15 MINUTES")
    return _offset(cursor)


def _offset(cursor: Cursor) -> ast.Amount:
    """`- 15 MINUTES`, or the negative `+ 15 MINUTES`."""
    future = cursor.advance().key == "+"
    if future and cursor.token.kind not in (INT, FLOAT):
        cursor.fail("a number", hint="a window lies in the past: NOW - 5 SECONDS")
    return _amount(cursor, negative=future)


def _amount(cursor: Cursor, *, negative: bool = False, label: str = "a number") -> ast.Amount:
    """A number or a parameter's name, and a unit if there is one."""
    start = cursor.token.start
    count: int | float | str
    if cursor.token.kind in (INT, FLOAT):
        count = parse_number(cursor, negative=negative)
    elif cursor.at_name() and not must_be_unit(cursor.token.key) and not negative:
        count = cursor.name()
    else:
        cursor.fail(label, "a parameter", hint="it cannot be negative" if cursor.at("-") else None)
    unit = UNIT_SPELLINGS.get(cursor.token.key)
    if unit is not None:
        cursor.advance()
    else:
        cursor.expected.append(UNIT_LABEL)
    return ast.Amount(count, unit, span=cursor.span_from(start))
