"""Parses joins in FROM: `a LEFT JOIN b ON condition`, `a JOIN b USING (id)`, `a CROSS JOIN b`, `a ASOF JOIN b`.

LEFT, RIGHT and the other words before JOIN are no reserved words: a column may still be named `left`.

>>> from nilometer.language.cursor import Cursor
>>> from nilometer.language.parse_sources import parse_source
>>> parse_source(Cursor("a LEFT OUTER JOIN b USING (id)")).kind
'LEFT'
"""

from __future__ import annotations

from nilometer.language import ast
from nilometer.language.cursor import Cursor
from nilometer.language.parse_expressions import parse_expression
from nilometer.language.parse_sources import single_source
from nilometer.language.parse_windows import parse_duration

OUTER_KINDS = ("LEFT", "RIGHT", "FULL")
KINDS = ("INNER", *OUTER_KINDS)
HALF_KINDS = ("SEMI", "ANTI")
"""The joins that give rows of the left side only."""


def parse_join(cursor: Cursor, left: ast.Source, start: int) -> ast.Source | None:
    """The join that follows a source; None if none follows."""
    if cursor.at("NATURAL"):
        cursor.refuse(
            "NATURAL JOIN guesses the columns that must be equal",
            cursor.token.span,
            "name them: a JOIN b USING (id), or a JOIN b ON a.id = b.id",
        )
    if cursor.at("INNER", "LEFT") and _follows(cursor, "ASOF"):
        inner = cursor.advance().key == "INNER"
        if cursor.at("OUTER"):
            cursor.advance()
        cursor.advance()
        return _asof(cursor, left, start, inner)
    if cursor.accept("ASOF", "ASOF JOIN"):
        inner = cursor.at("INNER")
        if cursor.at("INNER", "LEFT"):
            cursor.advance()
            if cursor.at("OUTER"):
                cursor.advance()
        elif cursor.at("RIGHT", "FULL"):
            cursor.refuse(
                f"there is no ASOF {cursor.token.key} JOIN",
                cursor.token.span,
                "an ASOF JOIN gives each tuple of its left side once: exchange the sides",
            )
        return _asof(cursor, left, start, inner)
    if cursor.at("CROSS") and cursor.peek().key == "JOIN":
        cursor.advance()
        cursor.advance()
        right = single_source(cursor)
        return ast.JoinSource(left, right, "INNER", span=cursor.span_from(start))
    if cursor.at("JOIN"):
        cursor.advance()
        return _join(cursor, left, start, "INNER")
    half = 1 if cursor.at("LEFT") else 0
    if cursor.peek(half).key in HALF_KINDS and cursor.peek(half + 1).key == "JOIN":
        if half:
            cursor.advance()
        kind = cursor.advance().key
        cursor.advance()
        return _join(cursor, left, start, kind)
    if cursor.at(*KINDS) and _follows(cursor, "JOIN"):
        kind = cursor.advance().key
        if kind in OUTER_KINDS and cursor.at("OUTER"):
            cursor.advance()
        cursor.expect("JOIN")
        return _join(cursor, left, start, kind)
    return None


def _follows(cursor: Cursor, word: str) -> bool:
    """Whether the word comes next, with or without OUTER before it."""
    ahead = cursor.peek()
    return ahead.key == word or (ahead.key == "OUTER" and cursor.peek(2).key == word)


def _join(cursor: Cursor, left: ast.Source, start: int, kind: str) -> ast.Source:
    right = single_source(cursor)
    if cursor.accept("USING"):
        using = _using(cursor)
        return ast.JoinSource(left, right, kind, None, using, span=cursor.span_from(start))
    if not cursor.at("ON"):
        hint = f"say which rows belong together: {'' if kind == 'INNER' else kind + ' '}JOIN b ON a.id = b.id"
        cursor.fail("ON", hint=hint + ("; CROSS JOIN joins all with all" if kind == "INNER" else ""))
    cursor.advance()
    condition = parse_expression(cursor)
    return ast.JoinSource(left, right, kind, condition, span=cursor.span_from(start))


def _using(cursor: Cursor) -> tuple[ast.Name, ...]:
    """`(id, site)`: bare names of columns that both sides have."""
    cursor.expect("(")
    names = [_column(cursor)]
    while cursor.accept(","):
        names.append(_column(cursor))
    cursor.expect(")")
    return tuple(names)


def _column(cursor: Cursor) -> ast.Name:
    token = cursor.token
    return ast.Name((cursor.name("a column of both sides"),), span=token.span)


def _asof(cursor: Cursor, left: ast.Source, start: int, inner: bool) -> ast.Source:
    cursor.expect("JOIN")
    right = single_source(cursor)
    cursor.expect("ON")
    condition = parse_expression(cursor)
    within = parse_duration(cursor) if cursor.accept("WITHIN") else None
    return ast.AsofSource(left, right, condition, within, inner, span=cursor.span_from(start))
