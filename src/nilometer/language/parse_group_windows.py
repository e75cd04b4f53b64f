"""Parses group windows in FROM: TUMBLE, HOP, CUMULATE and SESSION, in SQL's spelling or in a short one.

    TABLE(TUMBLE(TABLE air, DESCRIPTOR(time), INTERVAL '10' MINUTE))        TUMBLE(air, 10 MINUTES)
    HOP(TABLE air, DESCRIPTOR(time), INTERVAL '5' MINUTE, INTERVAL '1' HOUR) HOP(air, 5 MINUTES, 1 HOUR)
    SESSION(TABLE air PARTITION BY site, DESCRIPTOR(time), INTERVAL '1' HOUR) SESSION(air, site, 1 HOUR)

>>> from nilometer.language.cursor import Cursor
>>> from nilometer.language.parse_sources import parse_source
>>> parse_source(Cursor("TUMBLE(air, 1 DAY, TIMEZONE 'Europe/Zurich')")).zone
'Europe/Zurich'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nilometer.language import ast
from nilometer.language.cursor import FLOAT, INT, QUOTED, STRING, WORD, Cursor
from nilometer.language.parse_expressions import parse_name, parse_number
from nilometer.language.vocabulary import CALENDAR_SPELLINGS, UNIT_SPELLINGS, must_be_unit

GROUP_WINDOWS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
EXAMPLES = {
    "TUMBLE": "TUMBLE(air, 10 MINUTES)",
    "HOP": "HOP(air, 5 MINUTES, 1 HOUR): the slide, then the size",
    "CUMULATE": "CUMULATE(air, 1 HOUR, 1 DAY): the step, then the size",
    "SESSION": "SESSION(air, 10 MINUTES)",
}

ParseSource = Callable[[Cursor], ast.Source]


def at_group_window(cursor: Cursor) -> bool:
    """Whether a group window follows, alone or in TABLE( ... )."""
    first = 2 if cursor.at("TABLE") and cursor.peek().key == "(" else 0
    token = cursor.peek(first)
    if token.kind is not WORD or token.key not in GROUP_WINDOWS or cursor.peek(first + 1).key != "(":
        return False
    # In its short spelling SESSION is a table function like any other.
    return token.key != "SESSION" or bool(first) or _in_sql(cursor)


def _in_sql(cursor: Cursor) -> bool:
    """Whether a word of SQL's spelling stands in the parentheses that follow."""
    depth = 0
    for distance in range(1, len(cursor.tokens) - cursor.index):
        key = cursor.peek(distance).key
        depth += (key == "(") - (key == ")")
        if depth == 0:
            return False
        if depth == 1 and key in ("TABLE", "PARTITION", "DESCRIPTOR", "INTERVAL"):
            return True
    return False


def parse_group_window(cursor: Cursor, parse_source: ParseSource) -> ast.Source:
    """A group window, without its alias."""
    start = cursor.token.start
    wrapped = cursor.at("TABLE")
    if wrapped:
        cursor.advance()
        cursor.expect("(")
    kind = cursor.advance().key
    cursor.expect("(")
    if cursor.at("TABLE") and cursor.peek().kind in (WORD, QUOTED):
        cursor.advance()
    source = parse_source(cursor)
    keys = _partition(cursor) if kind == "SESSION" else ()
    cursor.expect(",")
    time = _descriptor(cursor)
    found: ast.FunctionSource | ast.GroupWindowSource = (
        _session(cursor, source, keys) if kind == "SESSION" else _hop_or_tumble(cursor, kind, source)
    )
    found = replace(found, time=time)
    cursor.expect(")")
    if wrapped:
        cursor.expect(")")
    if cursor.at("["):
        cursor.fail("an alias", hint=f"{kind} is a window itself: leave the other one out")
    return replace(found, span=cursor.span_from(start))


def _hop_or_tumble(cursor: Cursor, kind: str, source: ast.Source) -> ast.GroupWindowSource:
    size = parse_interval(cursor, EXAMPLES[kind])
    slide = None
    if kind != "TUMBLE":
        slide = size
        cursor.expect(",")
        size = parse_interval(cursor, EXAMPLES[kind])
    offset: ast.Amount | None = None
    zone: str | None = None
    while not cursor.at(")"):
        comma = cursor.accept(",")
        if zone is None and cursor.accept("TIMEZONE"):
            zone = cursor.string("the name of a time zone, such as 'Europe/Zurich'")
        elif offset is None and (cursor.accept("OFFSET") or comma):
            offset = parse_interval(cursor, "OFFSET 15 MINUTES")
        else:
            cursor.fail("')'")
    return ast.GroupWindowSource(kind, source, size, slide, offset, zone)


def _session(cursor: Cursor, source: ast.Source, keys: tuple[ast.Name, ...]) -> ast.FunctionSource:
    columns = list(keys)
    while cursor.at_name() and cursor.peek().key in (",", "."):
        columns.append(parse_name(cursor))
        cursor.expect(",")
    gap = parse_interval(cursor, EXAMPLES["SESSION"])
    setting = ast.Setting("FOR", (gap,), positional=True, span=gap.span)
    return ast.FunctionSource("SESSION", source, tuple(columns), (setting,))


def _partition(cursor: Cursor) -> tuple[ast.Name, ...]:
    """`PARTITION BY site` or `PARTITION BY (site, floor)`."""
    if not cursor.accept("PARTITION"):
        return ()
    cursor.expect("BY")
    if not cursor.accept("("):
        return (parse_name(cursor),)
    names = [parse_name(cursor)]
    while cursor.accept(","):
        names.append(parse_name(cursor))
    cursor.expect(")")
    return tuple(names)


def _descriptor(cursor: Cursor) -> ast.Name | None:
    """`DESCRIPTOR(time),`; the name, if it is another one."""
    if not (cursor.at("DESCRIPTOR") and cursor.peek().key == "("):
        return None
    cursor.advance()
    cursor.advance()
    name = parse_name(cursor)
    cursor.expect(")")
    cursor.expect(",")
    return None if name.parts[-1].lower() == "time" else name


def parse_interval(cursor: Cursor, example: str) -> ast.Amount:
    """`10 MINUTES`, `1 MONTH`, `INTERVAL '10' MINUTE`, `INTERVAL '10 minutes'`, or a parameter's name."""
    start = cursor.token.start
    count: int | float | str
    if cursor.at("INTERVAL") and cursor.peek().kind is STRING:
        cursor.advance()
        inner = Cursor(cursor.token.text)
        if inner.token.kind not in (INT, FLOAT):
            cursor.fail("a number in quotes", hint="such as INTERVAL '10' MINUTE")
        count = parse_number(inner)
        unit = _unit(inner)
        cursor.advance()
        unit = _unit(cursor) or unit
    elif cursor.token.kind in (INT, FLOAT):
        count = parse_number(cursor)
        unit = _unit(cursor)
    elif cursor.at_name() and not must_be_unit(cursor.token.key):
        count, unit = cursor.name(), None
    else:
        cursor.fail("a length of time", hint=f"such as {example}")
    if unit is None and not isinstance(count, str):
        cursor.fail("a unit", hint=f"such as {example}")
    return ast.Amount(count, unit, span=cursor.span_from(start))


def _unit(cursor: Cursor) -> str | None:
    """The unit that stands next; None if there is none."""
    unit = UNIT_SPELLINGS.get(cursor.token.key) or CALENDAR_SPELLINGS.get(cursor.token.key)
    if unit is not None and unit != "ROWS":
        cursor.advance()
        return unit
    return None
