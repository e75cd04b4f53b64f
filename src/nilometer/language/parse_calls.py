"""Parses the calls that SQL writes with words instead of commas, and the literals that a word begins.

`CAST(x AS INT)` has a node of its own, and `DATE(t)` is one. The others are another spelling of a function or of a constant:
`EXTRACT(hour FROM t)` is `date_part('hour', t)`, `substring(s FROM 2 FOR 3)` is `substring(s, 2, 3)`,
`position('a' IN s)` is `strpos(s, 'a')`, `TRIM(LEADING '0' FROM s)` is `ltrim(s, '0')`, and
`INTERVAL '1' HOUR` is `1 HOUR`.

>>> from nilometer.language.parser import parse_expression
>>> parse_expression("extract(hour FROM t)") == parse_expression("date_part('hour', t)")
True
>>> parse_expression("INTERVAL '1 hour 30 minutes'")
DurationConstant(count=90, unit='MINUTES')
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import NoReturn

from nilometer.language import ast
from nilometer.language.cursor import FLOAT, INT, QUOTED, STRING, WORD, Cursor
from nilometer.language.lexer import Token
from nilometer.language.parse_types import parse_cast_type
from nilometer.language.vocabulary import RESERVED, UNIT_SPELLINGS, fold
from nilometer.types import DAY, SECOND, UNITS, parse_time

MOMENTS = ("TIME", "TIMESTAMP", "DATE")
"""The words before a string that make it a moment."""


def special_call(cursor: Cursor) -> ast.Expression | None:
    """The call that begins here, if it is one with words inside; None, with nothing taken, for any other."""
    form = _FORMS.get(cursor.token.key)
    return None if form is None else form(cursor)


def worded_constant(cursor: Cursor) -> ast.Expression | None:
    """`TIME '...'`, `DATE '...'` or `INTERVAL '...'`; None, with nothing taken, for anything else."""
    token, following = cursor.token, cursor.peek()
    if following.kind is STRING and token.key in MOMENTS:
        cursor.advance()
        moment = parse_moment(cursor)
        constant = ast.TimeConstant(moment, span=cursor.span_from(token.start))
        return ast.Cast(constant, "DATE", span=constant.span) if token.key == "DATE" else constant
    if token.key == "INTERVAL" and following.kind in (STRING, INT, FLOAT):
        return _interval(cursor)
    return None


def parse_moment(cursor: Cursor) -> int:
    """A string that names a time, as microseconds; `format_time` writes times beyond the calendar as '...
    us'."""
    token = cursor.token
    written = cursor.string("a time in single quotes")
    try:
        return int(written.removesuffix(" us")) if written.endswith(" us") else parse_time(written)
    except (ValueError, OverflowError):
        cursor.refuse(
            f"'{written}' is not a time", token.span, "write it as ISO-8601: '2026-11-15T08:30:00Z'"
        )


# ---- calls -----------------------------------------------------------------------------------------------------------


def _expression(cursor: Cursor) -> ast.Expression:
    from nilometer.language.parse_expressions import parse_expression  # expressions contain calls

    return parse_expression(cursor)


def _cast(cursor: Cursor) -> ast.Expression:
    token = cursor.advance()
    cursor.expect("(")
    operand = _expression(cursor)
    if not cursor.accept("AS"):
        cursor.fail(hint="write CAST(x AS INT)")
    name, size = parse_cast_type(cursor)
    cursor.expect(")")
    return ast.Cast(operand, name, size, token.key == "TRY_CAST", span=cursor.span_from(token.start))


def _date(cursor: Cursor) -> ast.Expression:
    """`DATE(t)` is `CAST(t AS DATE)`."""
    token = cursor.advance()
    cursor.expect("(")
    operand = _expression(cursor)
    cursor.expect(")")
    return ast.Cast(operand, "DATE", span=cursor.span_from(token.start))


def _extract(cursor: Cursor) -> ast.Expression:
    token = cursor.advance()
    cursor.expect("(")
    if cursor.token.kind not in (WORD, STRING):
        cursor.fail("a field", hint="write EXTRACT(hour FROM time)")
    field = cursor.advance()
    if not cursor.accept("FROM"):
        cursor.fail(hint="write EXTRACT(hour FROM time)")
    operand = _expression(cursor)
    cursor.expect(")")
    name = ast.Constant(field.text.lower(), span=field.span)
    return ast.FunctionCall("date_part", (name, operand), span=cursor.span_from(token.start))


def _substring(cursor: Cursor) -> ast.Expression:
    """`substring(s FROM a [FOR n])` and `substring(s FOR n)`; with commas it is an ordinary call."""
    token = cursor.advance()
    cursor.expect("(")
    arguments = [_expression(cursor)]
    if cursor.at("FROM", "FOR"):
        start = cursor.token.span
        arguments.append(_expression(cursor) if cursor.accept("FROM") else ast.Constant(1, span=start))
        if cursor.accept("FOR"):
            arguments.append(_expression(cursor))
    else:
        arguments += _more(cursor)
    cursor.expect(")")
    return ast.FunctionCall(token.text, tuple(arguments), span=cursor.span_from(token.start))


def _position(cursor: Cursor) -> ast.Expression:
    from nilometer.language.parse_expressions import parse_operand

    token = cursor.advance()
    cursor.expect("(")
    sought = parse_operand(cursor)
    if not cursor.accept("IN"):
        cursor.fail(hint="write position('a' IN kind), or strpos(kind, 'a')")
    text = parse_operand(cursor)
    cursor.expect(")")
    return ast.FunctionCall("strpos", (text, sought), span=cursor.span_from(token.start))


_SIDES = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}


def _trim(cursor: Cursor) -> ast.Expression:
    """`TRIM([BOTH | LEADING | TRAILING] [characters] FROM s)`; with commas it is an ordinary call."""
    token = cursor.advance()
    cursor.expect("(")
    name = token.text
    behind = cursor.peek()
    sided = cursor.at(*_SIDES) and (
        behind.kind in (STRING, QUOTED)
        or behind.key in ("FROM", "(")
        or (behind.kind is WORD and behind.key not in RESERVED)
    )
    if sided:
        name = _SIDES[cursor.advance().key]
    characters = None if cursor.at("FROM") else _expression(cursor)
    arguments: tuple[ast.Expression, ...]
    if sided or cursor.at("FROM"):
        if not cursor.accept("FROM"):
            cursor.fail(hint="write trim(BOTH 'x' FROM kind), or trim(kind, 'x')")
        text = _expression(cursor)
        arguments = (text,) if characters is None else (text, characters)
    else:
        assert characters is not None
        arguments = (characters, *_more(cursor))
    cursor.expect(")")
    return ast.FunctionCall(name, arguments, span=cursor.span_from(token.start))


def _more(cursor: Cursor) -> list[ast.Expression]:
    """The arguments behind the first one."""
    arguments: list[ast.Expression] = []
    while cursor.accept(","):
        arguments.append(_expression(cursor))
    return arguments


_FORMS: dict[str, Callable[[Cursor], ast.Expression]] = {
    "CAST": _cast,
    "TRY_CAST": _cast,
    "DATE": _date,
    "EXTRACT": _extract,
    "SUBSTRING": _substring,
    "SUBSTR": _substring,
    "POSITION": _position,
    "TRIM": _trim,
}


# ---- INTERVAL --------------------------------------------------------------------------------------------------------

_PART = re.compile(r"\s*([+-]?\s*(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))\s*([A-Za-z]+)\s*,?")
_CLOCK = re.compile(r"\s*([+-])?([0-9]+):([0-9]{1,2})(?::([0-9]{1,2}(?:\.[0-9]{1,6})?))?\s*\Z")
_NUMBER = re.compile(r"\s*[+-]?\s*(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*\Z")
_IN_MONTHS = {"MONTH": 1, "MON": 1, "QUARTER": 3, "YEAR": 12}
_CALENDAR = ("MONTH", "MONTHS", "MON", "MONS", "QUARTER", "QUARTERS", "YEAR", "YEARS", "DECADE", "CENTURY")


def _interval(cursor: Cursor) -> ast.Expression:
    """`INTERVAL '1' HOUR`, `INTERVAL 10 MINUTES`, `INTERVAL '1 hour 30 min'`, `INTERVAL '01:30:00'`."""
    start = cursor.advance().start
    written = cursor.advance()
    text = written.text
    unit = cursor.token.key
    months = _months(text if written.kind is STRING and not _NUMBER.match(text) else f"{text} {unit}")
    if months is not None:
        if written.kind is not STRING or _NUMBER.match(text):
            cursor.advance()
        return ast.DurationConstant(months, "MONTHS", span=cursor.span_from(start))
    if (written.kind is not STRING or _NUMBER.match(text)) and cursor.token.kind is WORD:
        microseconds = _length(cursor, text, unit, cursor.token)
        cursor.advance()
    else:
        microseconds = _whole_interval(cursor, written, text)
    return _duration(microseconds, cursor, start)


def interval_of_text(cursor: Cursor, argument: ast.Expression) -> ast.Expression:
    """The `'1 hour'` of `time_bucket('1 hour', t)` as `1 HOUR`; any other argument as it is."""
    if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
        return argument
    months = _months(argument.value)
    if months is not None:
        return ast.DurationConstant(months, "MONTHS", span=argument.span)
    token = Token(STRING, argument.value, argument.value, argument.span.start, argument.span.end)
    microseconds = _whole_interval(cursor, token, argument.value)
    return replace(_duration(microseconds, cursor, argument.span.start), span=argument.span)


def _months(text: str) -> int | None:
    """The months of `1 year 3 months`; None if another unit is in it, which then is refused, or is no calendar's."""
    position, total = 0, 0
    while position < len(text.rstrip()):
        part = _PART.match(text, position)
        scale = None if part is None else _IN_MONTHS.get(fold(part[2]).removesuffix("S"))
        if part is None or scale is None or "." in part[1]:
            return None
        total += int(part[1].replace(" ", "")) * scale
        position = part.end()
    return total if position else None


def _whole_interval(cursor: Cursor, written: Token, text: str) -> Fraction:
    clock = _CLOCK.match(text)
    if clock is not None:
        sign, hours, minutes, seconds = clock.groups()
        total = (int(hours) * 3600 + int(minutes) * 60 + Fraction(seconds or 0)) * SECOND
        return -total if sign == "-" else total
    position, total = 0, Fraction(0)
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            break
        total += _length(cursor, part[1], fold(part[2]), written)
        position = part.end()
    if position < len(text.rstrip()) or position == 0:
        _refuse(cursor, f"'{text}' is not a length of time", written)
    return total


def _length(cursor: Cursor, count: str, unit: str, place: Token) -> Fraction:
    name = {"WEEK": "WEEKS", "WEEKS": "WEEKS", "M": "MINUTES"}.get(unit) or UNIT_SPELLINGS.get(unit)
    if unit in _CALENDAR:
        _refuse(
            cursor,
            "months and years differ in length",
            place,
            "write a number of DAYS, or compare date_trunc('month', time)",
        )
    if name is None or name == "ROWS":
        _refuse(cursor, f"'{unit}' is not a unit of time", place)
    scale = 7 * DAY if name == "WEEKS" else UNITS[name]
    return Fraction(count.replace(" ", "")) * scale


def _refuse(cursor: Cursor, message: str, place: Token, hint: str | None = None) -> NoReturn:
    cursor.refuse(message, place.span, hint or "write it as INTERVAL '1 hour 30 minutes', or 90 MINUTES")


def _duration(microseconds: Fraction, cursor: Cursor, start: int) -> ast.Expression:
    """The constant in the largest unit that divides it."""
    whole = round(microseconds)
    for unit in ("DAYS", "HOURS", "MINUTES", "SECONDS", "MILLISECONDS", "MICROSECONDS"):
        if whole % UNITS[unit] == 0 and (whole or unit == "SECONDS"):
            return ast.DurationConstant(whole // UNITS[unit], unit, span=cursor.span_from(start))
    raise AssertionError("every length is a whole number of microseconds")
