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
from nilometer.language.parse_expressions import parse_name, parse_number
from nilometer.language.vocabulary import CALENDAR_SPELLINGS, TIME_UNITS, UNIT_SPELLINGS, must_be_unit

UNIT_LABEL = "a unit"
WINDOW_LABEL = "a window in '[ ]'"


def parse_window(cursor: Cursor) -> ast.Window:
    """A window with its brackets."""
    start = cursor.expect("[", WINDOW_LABEL).start
    window = parse_extent_of_window(cursor)
    if isinstance(window, ast.RangeWindow):
        window = _range_options(cursor, window)
    cursor.expect("]")
    return replace(window, span=cursor.span_from(start))


def parse_extent_of_window(cursor: Cursor) -> ast.Window:
    """What stands in the brackets, without PER, OFFSET and TIMEZONE. The words of old SNEEql are accepted and not
    proposed."""
    if cursor.at("NEW"):
        return _new(cursor)
    if cursor.at("ROWS", "ROW"):
        return _rows(cursor)
    if cursor.at("PARTITION") and cursor.peek().key == "BY":
        return _partition(cursor)
    if cursor.at("RESCAN"):
        cursor.advance()
        return ast.RescanWindow(parse_duration(cursor))
    if cursor.at("-"):
        return _from_to(cursor, _end(cursor))
    if cursor.accept("NOW"):
        if not cursor.at("-", "+"):
            return ast.NowWindow(_slide(cursor))
        length = _offset(cursor)
        if cursor.at("TO", ","):
            return _from_to(cursor, length)
        return ast.RangeWindow(length, _slide(cursor))
    if cursor.accept("AT"):
        offset = _end(cursor)
        return ast.AtWindow(offset, _slide(cursor))
    if cursor.accept("FROM"):
        return _from_to(cursor, _end(cursor))
    if cursor.accept("RANGE"):
        return _range(cursor)
    if cursor.accept("UNBOUNDED"):
        return ast.UnboundedWindow(_slide(cursor))
    cursor.fail(hint="a window is such as [NOW], [RANGE 10 MINUTES] or [FROM NOW - 2 HOURS TO NOW]")


def _range(cursor: Cursor) -> ast.Window:
    """The length of a RANGE; `UNTIL 5 SECONDS` leaves out what is younger."""
    if cursor.at("UNBOUNDED"):
        cursor.advance()
        return ast.UnboundedWindow(_slide(cursor))
    negative = cursor.at("-")
    if negative:
        cursor.advance()
    length = _amount(cursor, negative=negative, calendar=cursor.peek(2).key == "SLIDE")
    if _until(cursor):
        end = _end(cursor)
        return ast.FromToWindow(length, end, _slide(cursor))
    return ast.RangeWindow(length, _amount(cursor, calendar=True) if cursor.accept("SLIDE") else None)


def _from_to(cursor: Cursor, start: ast.Amount | None) -> ast.FromToWindow:
    """The second end: `TO NOW`, `UNTIL 2 SECONDS` or SNEE's `, NOW`; without one it is now."""
    if cursor.accept("TO") or _until(cursor) or (cursor.at(",") and cursor.advance()):
        end = _end(cursor)
    elif start is None:
        cursor.fail(hint="a window has two ends: [FROM NOW - 2 HOURS TO NOW]")
    else:
        end = None
    return ast.FromToWindow(start, end, _slide(cursor))


def _until(cursor: Cursor) -> bool:
    """Take `UNTIL` or `UP TO`."""
    if cursor.at("UP") and cursor.peek().key == "TO":
        cursor.advance()
    elif not cursor.at("UNTIL"):
        return False
    cursor.advance()
    return True


def _new(cursor: Cursor) -> ast.NowWindow:
    """`[NEW]`, what came since the evaluation before: without a SLIDE these are the tuples of this tick."""
    start = cursor.advance().start
    if cursor.at("SLIDE"):
        cursor.refuse(
            "NEW has no SLIDE",
            cursor.span_from(start),
            "for what came in the last 5 minutes, every 5 minutes, write [RANGE 5 MINUTES SLIDE 5 MINUTES]",
        )
    return ast.NowWindow()


def _rows(cursor: Cursor) -> ast.Window:
    """`[ROWS 10]` and `[ROWS 5 UNTIL 3]`, whose numbers need no unit."""
    cursor.advance()
    length = _row_count(cursor)
    if _until(cursor):
        end = _row_count(cursor)
        return ast.FromToWindow(length, end, _slide(cursor))
    return ast.RangeWindow(length, _slide(cursor))


def _partition(cursor: Cursor) -> ast.RangeWindow:
    """CQL's `[PARTITION BY id ROWS 10]`."""
    cursor.advance()
    cursor.advance()
    keys = _keys(cursor)
    if not cursor.at("ROWS", "ROW"):
        cursor.fail("ROWS", hint="such as [PARTITION BY id ROWS 10], or [RANGE 10 ROWS PER id]")
    cursor.advance()
    length = _row_count(cursor)
    return ast.RangeWindow(length, _slide(cursor), keys)


def _row_count(cursor: Cursor) -> ast.Amount:
    token = cursor.token
    if token.kind is not INT:
        cursor.fail("a number of rows", hint="such as [ROWS 10]")
    rows = ast.Amount(parse_number(cursor), "ROWS", span=token.span)
    if must_be_unit(cursor.token.key) and cursor.peek().key == "]":
        unit = cursor.token.key
        cursor.refuse(
            f"ROWS takes a number, not {unit}", cursor.token.span, f"write [RANGE {rows.count} {unit}]"
        )
    return rows


def _keys(cursor: Cursor) -> tuple[ast.Name, ...]:
    keys = [parse_name(cursor)]
    while cursor.accept(","):
        keys.append(parse_name(cursor))
    return tuple(keys)


def _range_options(cursor: Cursor, window: ast.RangeWindow) -> ast.RangeWindow:
    """`PER id`, `OFFSET 15 MINUTES` and `TIMEZONE 'Europe/Zurich'`, each at most once."""
    while cursor.at("PER", "OFFSET", "TIMEZONE"):
        word = cursor.advance().key
        if word == "PER" and not window.per:
            window = replace(window, per=_keys(cursor))
        elif word == "OFFSET" and window.offset is None:
            window = replace(window, offset=_amount(cursor))
        elif word == "TIMEZONE" and window.zone is None:
            window = replace(window, zone=cursor.string("the name of a time zone, such as 'Europe/Zurich'"))
        else:
            cursor.fail("']'", hint=f"{word} stands once in a window")
    return window


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
    """`NOW`, `NOW - 15 MINUTES`, or the short `-15 MINUTES` and `15 MINUTES`; None is NOW."""
    if cursor.accept("NOW"):
        if not cursor.at("-", "+"):
            cursor.expected.append("'-'")
            return None
    elif cursor.token.kind in (INT, FLOAT):
        return _amount(cursor)
    elif not cursor.at("-", "+"):
        cursor.fail("'-'", hint="an end of a window counts from now: NOW - 15 MINUTES")
    return _offset(cursor)


def _offset(cursor: Cursor) -> ast.Amount:
    """`- 15 MINUTES`, or the negative `+ 15 MINUTES`."""
    future = cursor.advance().key == "+"
    if future and cursor.token.kind not in (INT, FLOAT):
        cursor.fail("a number", hint="a window lies in the past: NOW - 5 SECONDS")
    return _amount(cursor, negative=future)


def _amount(
    cursor: Cursor, *, negative: bool = False, label: str = "a number", calendar: bool = False
) -> ast.Amount:
    """A number or a parameter's name, and a unit if there is one; with `calendar` also WEEKS, MONTHS ..."""
    start = cursor.token.start
    count: int | float | str
    if cursor.token.kind in (INT, FLOAT):
        count = parse_number(cursor, negative=negative)
    elif cursor.at_name() and not must_be_unit(cursor.token.key) and not negative:
        count = cursor.name()
    else:
        cursor.fail(label, "a parameter", hint="it cannot be negative" if cursor.at("-") else None)
    unit = UNIT_SPELLINGS.get(cursor.token.key)
    if calendar and unit is None:
        unit = CALENDAR_SPELLINGS.get(cursor.token.key)
    if unit is not None:
        cursor.advance()
    else:
        cursor.expected.append(UNIT_LABEL)
    return ast.Amount(count, unit, span=cursor.span_from(start))
