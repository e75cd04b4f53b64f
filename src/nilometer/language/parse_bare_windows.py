"""Parses windows without brackets, as old SNEEql has them: `iron RANGE 10 SECONDS i, flow NOW`.

Only texts that nothing else can mean are such windows. `river NEW` keeps NEW as its alias, so there NEW is a window
only before or behind an alias: `river NEW r`, `river r NEW`.

>>> from nilometer.language.cursor import Cursor
>>> parse_bare_window(Cursor("RANGE 10 SECONDS i"), named=False)
RangeWindow(length=Amount(count=10, unit='SECONDS'), slide=None, per=(), offset=None, zone=None)
>>> parse_bare_window(Cursor("new WHERE depth > 3"), named=False) is None
True
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.language import ast
from nilometer.language.cursor import END, FLOAT, INT, QUOTED, WORD, Cursor
from nilometer.language.lexer import Token
from nilometer.language.parse_windows import parse_extent_of_window
from nilometer.language.vocabulary import NOT_AN_ALIAS, must_be_unit


def parse_bare_window(cursor: Cursor, *, named: bool) -> ast.Window | None:
    """The window that begins here; None if there is none. `named` says whether the source has its alias already."""
    if not _begins(cursor, named):
        return None
    start = cursor.token.start
    window = parse_extent_of_window(cursor)
    return replace(window, span=cursor.span_from(start))


def _begins(cursor: Cursor, named: bool) -> bool:
    token, behind = cursor.token, cursor.peek()
    if token.kind is not WORD:
        return False
    match token.key:
        case "NOW":
            return True
        case "UNBOUNDED":
            return behind.key == "SLIDE" or _ends(behind) or _is_alias(behind)
        case "RANGE":
            return behind.kind in (INT, FLOAT) or behind.key == "UNBOUNDED" or _is_parameter(behind)
        case "AT" | "FROM":
            return behind.kind in (INT, FLOAT) or behind.key in ("NOW", "-")
        case "ROWS" | "ROW":
            return behind.kind is INT
        case "NEW":
            return named or behind.key == "AS" or (_is_alias(behind) and _ends(cursor.peek(2)))
    return False


def _is_alias(token: Token) -> bool:
    return token.kind is QUOTED or (token.kind is WORD and token.key not in NOT_AN_ALIAS)


def _is_parameter(token: Token) -> bool:
    return _is_alias(token) and not must_be_unit(token.key)


def _ends(token: Token) -> bool:
    """Whether a source may end before this token."""
    return (
        token.kind is END
        or token.key in (",", ")", ";")
        or (token.kind is WORD and token.key in NOT_AN_ALIAS)
    )
