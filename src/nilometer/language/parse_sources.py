"""Tokens -> what stands in FROM: extents, queries in parentheses, ASOF JOIN, SIMILAR and SILENT.

A window and an alias may stand behind a source in either order, as the papers have both.

>>> from nilometer.language.cursor import Cursor
>>> parse_source(Cursor("River R [NOW]")) == parse_source(Cursor("River [NOW] AS R"))
True
"""

from __future__ import annotations

from nilometer.language import ast
from nilometer.language.cursor import FLOAT, INT, WORD, Cursor
from nilometer.language.parse_expressions import parse_expression, parse_name, parse_number, starts_query
from nilometer.language.parse_windows import WINDOW_LABEL, parse_duration, parse_window

SOURCE_LABELS = ("a stream", "a table", "a query in parentheses")
ALIAS_LABEL = "an alias"
_FORMS = ("PAIRS", "FLATTEN", "COUNTS")


def parse_source(cursor: Cursor) -> ast.Source:
    """One source, or several joined by ASOF JOIN, which associates to the left."""
    cursor.deepen()
    start = cursor.token.start
    left = _single_source(cursor)
    while cursor.accept("ASOF", "ASOF JOIN"):
        cursor.expect("JOIN")
        right = _single_source(cursor)
        cursor.expect("ON")
        condition = parse_expression(cursor)
        within = parse_duration(cursor) if cursor.accept("WITHIN") else None
        left = ast.AsofSource(left, right, condition, within, span=cursor.span_from(start))
    cursor.depth -= 1
    return left


def _single_source(cursor: Cursor) -> ast.Source:
    token = cursor.token
    if token.key == "(":
        return _parenthesised(cursor)
    if token.kind is WORD and token.key in ("SIMILAR", "SILENT") and cursor.peek().key == "(":
        cursor.advance()
        cursor.advance()
        return _similar(cursor, token.start) if token.key == "SIMILAR" else _silent(cursor, token.start)
    if not cursor.at_name():
        cursor.fail(*SOURCE_LABELS)
    name = cursor.name()
    window, alias, _ = _decorations(cursor)
    return ast.ExtentSource(name, window, alias, span=cursor.span_from(token.start))


def _parenthesised(cursor: Cursor) -> ast.Source:
    """`( query )` with its window and alias, or any source in parentheses."""
    # Queries hold sources and sources hold queries: one of the two imports must wait.
    from nilometer.language.parse_queries import continue_union, parse_query

    start = cursor.expect("(").start
    if starts_query(cursor):
        query = parse_query(cursor)
    else:
        inner = parse_source(cursor)
        if not (isinstance(inner, ast.QuerySource) and inner.window is None and inner.alias is None):
            cursor.expect(")")
            return inner
        query = continue_union(cursor, inner.query, inner.span.start)
    cursor.expect(")")
    window, alias, _ = _decorations(cursor)
    return ast.QuerySource(query, window, alias, span=cursor.span_from(start))


def _similar(cursor: Cursor, start: int) -> ast.SimilarSource:
    """`SIMILAR(` is read."""
    source = parse_source(cursor)
    if not cursor.accept(","):
        cursor.fail(hint="name the column to compare: SIMILAR(river, depth)")
    column = parse_name(cursor)
    epsilon: int | float | str | None = None
    if cursor.accept("WITHIN"):
        if cursor.token.kind in (INT, FLOAT):
            epsilon = parse_number(cursor)
        else:
            epsilon = cursor.name("a number")
    form = cursor.accept_any(*_FORMS)
    sample: int | str | None = None
    if form is None and cursor.accept("SAMPLE"):
        form, sample = "SAMPLE", _sample(cursor)
    cursor.expect(")")
    window, alias, form = _decorations(cursor, form, forms=form is None)
    return ast.SimilarSource(
        source, column, epsilon, form or "LIST", window, alias, sample, span=cursor.span_from(start)
    )


def _sample(cursor: Cursor) -> int | str:
    """How many: a whole number, or a parameter's name."""
    if cursor.token.kind is INT:
        return int(parse_number(cursor))
    if cursor.token.kind is FLOAT or not cursor.at_name():
        cursor.fail("a whole number", "a parameter", hint="say how many: SIMILAR(river, depth SAMPLE 3)")
    return cursor.name("a whole number")


def _silent(cursor: Cursor, start: int) -> ast.SilentSource:
    """`SILENT(` is read."""
    source = parse_source(cursor)
    duration = parse_duration(cursor) if cursor.accept("FOR") else None
    cursor.expect(")")
    window, alias, _ = _decorations(cursor)
    return ast.SilentSource(source, duration, window, alias, span=cursor.span_from(start))


def _decorations(
    cursor: Cursor, form: str | None = None, *, forms: bool = False
) -> tuple[ast.Window | None, str | None, str | None]:
    """A window, an alias and (for SIMILAR) PAIRS, FLATTEN or COUNTS, each at most once, in any order."""
    window: ast.Window | None = None
    alias: str | None = None
    while True:
        if window is None:
            if cursor.at("["):
                window = parse_window(cursor)
                continue
            cursor.expected.append(WINDOW_LABEL)
        if forms and form is None:
            form = cursor.accept_any(*_FORMS)
            if form is not None:
                continue
        if alias is None:
            if cursor.at("AS"):
                cursor.advance()
                alias = cursor.name(ALIAS_LABEL)
                continue
            if cursor.at_alias():
                alias = cursor.name()
                continue
            cursor.expected.append(ALIAS_LABEL)
        return window, alias, form
