"""Parses OVER (PARTITION BY ... ORDER BY ... ROWS | RANGE BETWEEN ... AND ...), behind the call of a function.

>>> from nilometer.language.parse_expressions import parse_expression
>>> over = parse_expression(Cursor("LAG(x) OVER (PARTITION BY id ORDER BY time)"))
>>> over.name, over.order
('LAG', (SortKey(expression=Name(parts=('time',)), descending=False, nulls_first=False),))
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.errors import Span
from nilometer.language import ast
from nilometer.language.cursor import END, FLOAT, INT, QUOTED, STRING, WORD, Cursor
from nilometer.language.lexer import Token
from nilometer.language.parse_expressions import parse_expressions, parse_number
from nilometer.language.parse_queries import parse_sort_key
from nilometer.language.vocabulary import UNIT_SPELLINGS, must_be_unit

CURRENT_ROW = "CURRENT ROW"


def parse_over(cursor: Cursor, call: ast.FunctionCall, *, ignore_nulls: bool = False) -> ast.Over:
    """`OVER ( ... )`, whose function call is already read."""
    cursor.expect("OVER")
    if cursor.at_name() and cursor.token.kind in (WORD, QUOTED):
        behind, window = _named(cursor)
        over = _over(window, call, ignore_nulls)
        return replace(over, span=Span(call.span.start, behind))
    if not cursor.at("("):
        cursor.fail("'('", hint="write OVER (PARTITION BY ... ORDER BY ...)")
    return _over(cursor, call, ignore_nulls)


def _named(cursor: Cursor, depth: int = 0) -> tuple[int, Cursor]:
    """Takes the name of a window; returns the end of the name, and a cursor at the parenthesis behind `WINDOW name
    AS`, further on in the same SELECT. `depth`: how many parentheses stand open."""
    token = cursor.advance()
    distance, defining = 0, False
    while (found := cursor.peek(distance)).kind is not END and depth >= 0:
        depth += {"(": 1, ")": -1}.get(found.key, 0)
        defining |= depth == 0 and found.key == "WINDOW" and names_a_window(cursor, distance)
        before = cursor.peek(distance - 1).key
        if defining and depth == 0 and before in ("WINDOW", ",") and found.key == token.key:
            window = cursor.at_place(cursor.index + distance + 2)
            return token.span.end, window
        distance += 1
    place = _defined_before(cursor, token)
    if place is not None:
        return token.span.end, cursor.at_place(place)
    cursor.refuse(
        f"no window '{token.text}'",
        token.span,
        f"write OVER (PARTITION BY ... ORDER BY ...), or define it behind HAVING: WINDOW {token.text} AS (...)",
    )


def _defined_before(cursor: Cursor, name: Token) -> int | None:
    """The place of the parenthesis behind `WINDOW name AS`, if it stands before QUALIFY, in which the cursor is."""
    found, depth = None, 0
    for place in range(cursor.index - 1, 0, -1):
        token, before = cursor.tokens[place], cursor.tokens[place - 1].key
        depth += {")": 1, "(": -1}.get(token.key, 0)
        behind = tuple(each.key for each in cursor.tokens[place + 1 : place + 3])
        if depth <= 0 and token.key == name.key and before in ("WINDOW", ",") and behind == ("AS", "("):
            found = place + 2
        if depth <= 0 and found is not None and before == "WINDOW":
            return found
    return None


def names_a_window(cursor: Cursor, distance: int = 0) -> bool:
    """Whether `WINDOW name AS (` begins there, and not STEAM's clause `WINDOW = 30 SECONDS`."""
    name, word, opening = (cursor.peek(distance + ahead) for ahead in (1, 2, 3))
    return name.kind in (WORD, QUOTED) and word.key == "AS" and opening.key == "("


def skip_named_windows(cursor: Cursor) -> None:
    """`WINDOW name AS ( ... ), ...`, which the calls before it have already taken. One that nobody uses is read."""
    if not (cursor.at("WINDOW") and names_a_window(cursor)):
        return
    cursor.advance()
    while True:
        name = cursor.name()
        cursor.expect("AS")
        _over(cursor, ast.FunctionCall(name, (), span=cursor.token.span), False)
        if not cursor.accept(","):
            return


def _over(cursor: Cursor, call: ast.FunctionCall, ignore_nulls: bool) -> ast.Over:
    """The window between the parentheses."""
    cursor.expect("(")
    partition: tuple[ast.Expression, ...] = ()
    order: list[ast.SortKey] = []
    if cursor.at_name() and not cursor.at("PARTITION", "ORDER", "ROWS", "RANGE", "GROUPS"):
        _, window = _named(cursor, depth=1)  # OVER (w ORDER BY time)
        base = _over(window, call, ignore_nulls)
        partition, order = base.partition, list(base.order)
    elif cursor.accept("PARTITION", "PARTITION BY"):
        cursor.expect("BY")
        partition = parse_expressions(cursor)
    if cursor.accept("ORDER", "ORDER BY"):
        cursor.expect("BY")
        order.append(parse_sort_key(cursor))
        while cursor.accept(","):
            order.append(parse_sort_key(cursor))
    frame = parse_frame(cursor)
    cursor.expect(")")
    span = cursor.span_from(call.span.start)
    return ast.Over(
        call.name,
        call.arguments,
        call.distinct,
        call.condition,
        partition,
        tuple(order),
        frame,
        ignore_nulls,
        span=span,
    )


def parse_frame(cursor: Cursor) -> ast.Frame | None:
    """`ROWS | RANGE BETWEEN start AND end`, or `ROWS | RANGE start`, which ends at the current row."""
    start = cursor.token.start
    if cursor.at("GROUPS"):
        cursor.refuse("a frame counts ROWS or is a RANGE of values", cursor.token.span, "write RANGE")
    unit = cursor.accept_any("ROWS", "RANGE")
    if unit is None:
        return None
    if cursor.accept("BETWEEN"):
        first = _bound(cursor)
        cursor.expect("AND")
        return ast.Frame(unit, first, _bound(cursor), span=cursor.span_from(start))
    first = _bound(cursor)
    return ast.Frame(unit, first, ast.FrameBound(CURRENT_ROW, span=first.span), span=cursor.span_from(start))


def _bound(cursor: Cursor) -> ast.FrameBound:
    start = cursor.token.start
    if cursor.at("CURRENT") and cursor.peek().key == "ROW":
        cursor.advance()
        cursor.advance()
        return ast.FrameBound(CURRENT_ROW, span=cursor.span_from(start))
    amount = None
    if not (cursor.at("UNBOUNDED") and cursor.peek().key in ("PRECEDING", "FOLLOWING")):
        amount = _amount(cursor)
    else:
        cursor.advance()
    side = cursor.expect_any("PRECEDING", "FOLLOWING")
    return ast.FrameBound(side, amount, span=cursor.span_from(start))


def _amount(cursor: Cursor) -> ast.Amount:
    """`3`, `10 MINUTES`, `INTERVAL '10' MINUTE`, or a parameter's name."""
    start = cursor.token.start
    if cursor.at("INTERVAL") and cursor.peek().kind is STRING:
        return _interval(cursor)
    if cursor.at("INTERVAL") and cursor.peek().kind in (INT, FLOAT):
        cursor.advance()
    count: int | float | str
    if cursor.token.kind in (INT, FLOAT):
        count = parse_number(cursor)
    elif cursor.at_name() and not must_be_unit(cursor.token.key):
        count = cursor.name()
    else:
        cursor.fail("a number", "UNBOUNDED", CURRENT_ROW, hint="such as 3 PRECEDING or 10 MINUTES PRECEDING")
    unit = UNIT_SPELLINGS.get(cursor.token.key)
    if unit is not None:
        cursor.advance()
    return ast.Amount(count, unit, span=cursor.span_from(start))


def _interval(cursor: Cursor) -> ast.Amount:
    """SQL's `INTERVAL '10' MINUTE`, also `INTERVAL '10 minutes'`."""
    start = cursor.advance().start
    place = cursor.token
    count, _, inside = cursor.string().strip().partition(" ")
    unit = UNIT_SPELLINGS.get(inside.strip().upper() or cursor.token.key)
    if not inside and unit is not None:
        cursor.advance()
    try:
        amount = float(count) if "." in count else int(count)
    except ValueError:
        cursor.refuse(f"'{place.text}' is not a number", place.span, "such as INTERVAL '10' MINUTE")
    if unit is None:
        cursor.fail("a unit", hint="such as INTERVAL '10' MINUTE")
    return ast.Amount(amount, unit, span=cursor.span_from(start))
