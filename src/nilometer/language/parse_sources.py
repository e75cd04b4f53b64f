"""Parses the sources in FROM: extents, queries in parentheses, joins and table functions.

A window and an alias may follow a source in either order, because the papers use both.

>>> from nilometer.language.cursor import Cursor
>>> parse_source(Cursor("River R [NOW]")) == parse_source(Cursor("River [NOW] AS R"))
True
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.algebra.table_function import Choice, TableFunction
from nilometer.algebra.table_functions import TABLE_FUNCTIONS, UNIT
from nilometer.language import ast
from nilometer.language.cursor import FLOAT, INT, QUOTED, STRING, WORD, Cursor
from nilometer.language.parse_bare_windows import parse_bare_window
from nilometer.language.parse_expressions import parse_expression, parse_name, starts_query
from nilometer.language.parse_group_windows import at_group_window, parse_group_window
from nilometer.language.parse_options import in_declared_order, parse_options
from nilometer.language.parse_phenomena import parse_definition
from nilometer.language.parse_windows import WINDOW_LABEL, parse_window
from nilometer.language.vocabulary import NOT_AN_ALIAS, STREAM_WORDS

SOURCE_LABELS = ("a stream", "a table", "a query in parentheses")
ALIAS_LABEL = "an alias"


def parse_source(cursor: Cursor) -> ast.Source:
    """One source, or several joined by JOIN or ASOF JOIN, which associate to the left."""
    # Joins contain sources and sources contain joins, so one of the two imports must be late.
    from nilometer.language.parse_joins import parse_join

    cursor.deepen()
    start = cursor.token.start
    left = single_source(cursor)
    while (joined := parse_join(cursor, left, start)) is not None:
        left = joined
    cursor.depth -= 1
    return left


def single_source(cursor: Cursor) -> ast.Source:
    token = cursor.token
    if token.key == "(":
        return _parenthesised(cursor)
    if at_group_window(cursor):
        return _group_window(cursor)
    if token.kind is WORD and token.key in TABLE_FUNCTIONS and cursor.peek().key == "(":
        return _function(cursor, TABLE_FUNCTIONS[token.key])
    if at_unit(cursor):
        return _unit(cursor)
    if cursor.at(*STREAM_WORDS) and cursor.peek().key == "(":
        return _streamed(cursor)
    if (cursor.at("UNNEST") and cursor.peek().key == "(") or (
        cursor.at("LATERAL") and cursor.peek().key == "UNNEST"
    ):
        return _unnest(cursor)
    if not cursor.at_name():
        cursor.fail(*SOURCE_LABELS)
    name = cursor.name()
    window, alias = _decorations(cursor)
    return ast.ExtentSource(name, window, alias, span=cursor.span_from(token.start))


def _parenthesised(cursor: Cursor) -> ast.Source:
    """`( query )` with its window and alias, or any source in parentheses."""
    # Queries contain sources and sources contain queries, so one of the two imports must be late.
    from nilometer.language.parse_queries import continue_query, parse_query

    start = cursor.expect("(").start
    if starts_query(cursor):
        query = parse_query(cursor)
    else:
        inner = parse_source(cursor)
        if not (isinstance(inner, ast.QuerySource) and inner.window is None and inner.alias is None):
            cursor.expect(")")
            return inner
        query = continue_query(cursor, inner.query, inner.span.start)
    cursor.expect(")")
    window, alias = _decorations(cursor)
    columns = () if alias is None else parse_column_names(cursor)
    if columns and window is None and cursor.at("["):
        window = parse_window(cursor)
    return ast.QuerySource(query, window, alias, columns, span=cursor.span_from(start))


def _streamed(cursor: Cursor) -> ast.Source:
    """`ISTREAM(SELECT ...)` without further parentheses."""
    from nilometer.language.parse_queries import parse_streamed

    start = cursor.token.start
    query = parse_streamed(cursor)
    window, alias = _decorations(cursor)
    return ast.QuerySource(query, window, alias, span=cursor.span_from(start))


def _unnest(cursor: Cursor) -> ast.Source:
    """`[LATERAL] UNNEST(list) alias(column)`."""
    start = cursor.token.start
    cursor.accept("LATERAL")
    cursor.expect("UNNEST")
    cursor.expect("(")
    expression = parse_expression(cursor)
    cursor.expect(")")
    window, alias = _decorations(cursor)
    if window is not None:
        cursor.refuse("UNNEST has no window", window.span, "put the window behind the stream of the list")
    columns = () if alias is None else parse_column_names(cursor)
    return ast.UnnestSource(expression, alias, columns, span=cursor.span_from(start))


def parse_column_names(cursor: Cursor) -> tuple[str, ...]:
    """`(a, b)`: names for the columns of a query; none if there is no parenthesis."""
    if not cursor.at("("):
        return ()
    cursor.advance()
    names = [cursor.name("a column's name")]
    while cursor.accept(","):
        names.append(cursor.name("a column's name"))
    cursor.expect(")")
    return tuple(names)


def _group_window(cursor: Cursor) -> ast.Source:
    start = cursor.token.start
    found = parse_group_window(cursor, parse_source)
    assert isinstance(found, ast.GroupWindowSource | ast.FunctionSource)
    window, alias = _decorations(cursor)
    if window is not None:
        cursor.refuse(
            "a window over a window", window.span, "TUMBLE, HOP and SESSION are windows: leave this one out"
        )
    return replace(found, alias=alias, span=cursor.span_from(start))


def _function(cursor: Cursor, function: TableFunction) -> ast.FunctionSource:
    start = cursor.advance().start
    cursor.expect("(")
    if function.defined is not None:
        source: ast.Source = _defined(cursor, function)
        columns: tuple[ast.Name, ...] = ()
        settings = parse_options(cursor, function.own)
    else:
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


def at_unit(cursor: Cursor) -> bool:
    """Whether `UNIT form_spectra(` or `UNIT 'module:Class'(` is next."""
    named = cursor.peek().kind in (WORD, QUOTED, STRING)
    return cursor.token.kind is WORD and cursor.at(UNIT.name) and named and cursor.peek(2).key == "("


def _unit(cursor: Cursor) -> ast.FunctionSource:
    """`UNIT form_spectra(events, energy WITH (16, 2.5))`."""
    start = cursor.advance().start
    using = unit_name(cursor)
    cursor.expect("(")
    source = parse_source(cursor)
    columns, settings = unit_arguments(cursor, using)
    window, alias = _decorations(cursor)
    return ast.FunctionSource(
        UNIT.name, source, columns, settings, window, alias, span=cursor.span_from(start)
    )


def unit_name(cursor: Cursor) -> ast.Setting:
    """The name of a unit, or `'module:Class'`, as a setting."""
    token = cursor.token
    name = cursor.string() if token.kind is STRING else cursor.name("a unit's name")
    return ast.Setting("USING", (ast.Name((name,), span=token.span),), span=token.span)


def unit_arguments(
    cursor: Cursor, using: ast.Setting, first: bool = False
) -> tuple[tuple[ast.Name, ...], tuple[ast.Setting, ...]]:
    """The columns and settings of a unit, up to the closing parenthesis. `first`: no comma stands before the first."""
    columns = [parse_name(cursor)] if first else []
    while cursor.accept(","):
        columns.append(parse_name(cursor))
    if not columns:
        cursor.fail(hint=f"name {UNIT.wants}: {UNIT.example}")
    given = replace(UNIT, options=tuple(each for each in UNIT.options if each.name == "WITH"))
    settings = parse_options(cursor, given)
    cursor.expect(")")
    return tuple(columns), (using, *settings)


def _defined(cursor: Cursor, function: TableFunction) -> ast.Source:
    """A definition from ON to its end, or the name of one."""
    if cursor.at("ON"):
        return parse_definition(cursor)
    token = cursor.token
    cursor.expected.append("ON")
    if not cursor.at_name():
        cursor.fail("a phenomenon", hint=f"such as {function.example}")
    return ast.ExtentSource(cursor.name(), span=token.span)


def _columns(cursor: Cursor, function: TableFunction) -> tuple[ast.Name, ...]:
    """Columns of the source, each after a comma. Anything but a name there is a positional option's value."""
    columns: list[ast.Name] = []
    while function.most_columns is None or len(columns) < function.most_columns:
        enough = len(columns) >= function.least_columns
        if enough and cursor.at(",") and cursor.peek().kind not in (WORD, QUOTED):
            break
        if cursor.accept(","):
            if not enough and _at_option(cursor, function):
                cursor.fail("a column", hint=f"name {function.wants}: {function.example}")
            columns.append(parse_name(cursor))
        elif not enough:
            cursor.fail(hint=f"name {function.wants}: {function.example}")
        else:
            break
    return tuple(columns)


def _at_option(cursor: Cursor, function: TableFunction) -> bool:
    """Whether an option and its number stand here: `RADIUS 5`."""
    for option in function.all_options:
        words = option.word.split()
        here = all(cursor.peek(place).key == word for place, word in enumerate(words))
        if here and option.pieces and cursor.peek(len(words)).kind in (INT, FLOAT):
            return True
    return False


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


def at_groupby(cursor: Cursor) -> bool:
    """Whether old SNEEql's GROUPBY begins a clause here; before anything but a column it is a name."""
    behind = cursor.peek()
    column = behind.kind is QUOTED or (behind.kind is WORD and behind.key not in NOT_AN_ALIAS)
    return cursor.token.kind is WORD and cursor.at("GROUPBY") and column


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
            window = parse_bare_window(cursor, named=alias is not None)
            if window is not None:
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
            if cursor.at_alias() and not at_groupby(cursor):
                alias = cursor.name()
                continue
            cursor.expected.append(ALIAS_LABEL)
        return window, alias
