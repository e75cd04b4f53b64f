"""Parses the sources in FROM: extents, queries in parentheses, ASOF JOIN and table functions.

A window and an alias may follow a source in either order, because the papers use both.

>>> from nilometer.language.cursor import Cursor
>>> parse_source(Cursor("River R [NOW]")) == parse_source(Cursor("River [NOW] AS R"))
True
"""

from __future__ import annotations

from nilometer.algebra.table_function import Choice, TableFunction
from nilometer.algebra.table_functions import TABLE_FUNCTIONS
from nilometer.language import ast
from nilometer.language.cursor import QUOTED, WORD, Cursor
from nilometer.language.parse_expressions import parse_expression, parse_name, starts_query
from nilometer.language.parse_options import in_declared_order, parse_options
from nilometer.language.parse_windows import WINDOW_LABEL, parse_duration, parse_window

SOURCE_LABELS = ("a stream", "a table", "a query in parentheses")
ALIAS_LABEL = "an alias"


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
    if token.kind is WORD and token.key in TABLE_FUNCTIONS and cursor.peek().key == "(":
        return _function(cursor, TABLE_FUNCTIONS[token.key])
    if not cursor.at_name():
        cursor.fail(*SOURCE_LABELS)
    name = cursor.name()
    window, alias = _decorations(cursor)
    return ast.ExtentSource(name, window, alias, span=cursor.span_from(token.start))


def _parenthesised(cursor: Cursor) -> ast.Source:
    """`( query )` with its window and alias, or any source in parentheses."""
    # Queries contain sources and sources contain queries, so one of the two imports must be late.
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
    window, alias = _decorations(cursor)
    return ast.QuerySource(query, window, alias, span=cursor.span_from(start))


def _function(cursor: Cursor, function: TableFunction) -> ast.FunctionSource:
    start = cursor.advance().start
    cursor.expect("(")
    source = parse_source(cursor)
    columns = _columns(cursor, function)
    settings = parse_options(cursor, function)
    cursor.expect(")")
    outside = _flags_outside(function, settings)
    window, alias = _decorations(cursor, outside, settings)
    return ast.FunctionSource(
        function.name,
        source,
        columns,
        in_declared_order(function, settings),
        window,
        alias,
        span=cursor.span_from(start),
    )


def _columns(cursor: Cursor, function: TableFunction) -> tuple[ast.Name, ...]:
    """Columns of the source, each after a comma. Anything but a name there is a positional option's value."""
    columns: list[ast.Name] = []
    while function.most_columns is None or len(columns) < function.most_columns:
        enough = len(columns) >= function.least_columns
        if enough and cursor.at(",") and cursor.peek().kind not in (WORD, QUOTED):
            break
        if cursor.accept(","):
            columns.append(parse_name(cursor))
        elif not enough:
            cursor.fail(hint=f"name {function.wants}: {function.example}")
        else:
            break
    return tuple(columns)


def _flags_outside(function: TableFunction, settings: list[ast.Setting]) -> tuple[str, ...]:
    """The flags that may still follow the parenthesis: those of a choice that was not made inside it."""
    given = {setting.word for setting in settings}
    return tuple(
        option.word
        for choice in function.options
        if isinstance(choice, Choice) and choice.outside
        if given.isdisjoint(option.word for option in choice.options)
        for option in choice.options
        if not option.pieces
    )


def _decorations(
    cursor: Cursor, flags: tuple[str, ...] = (), settings: list[ast.Setting] | None = None
) -> tuple[ast.Window | None, str | None]:
    """A window, an alias and one of the flags, which becomes a setting: each at most once, in any order."""
    window: ast.Window | None = None
    alias: str | None = None
    while True:
        if window is None:
            if cursor.at("["):
                window = parse_window(cursor)
                continue
            cursor.expected.append(WINDOW_LABEL)
        if settings is not None and flags:
            place = cursor.token
            flag = cursor.accept_any(*flags)
            if flag is not None:
                settings.append(ast.Setting(flag, span=place.span))
                flags = ()
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
        return window, alias
