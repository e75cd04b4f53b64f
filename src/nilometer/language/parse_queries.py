"""Parses queries: SELECT with its clauses, VALUES, WITH, UNION, EXCEPT and INTERSECT, ORDER BY and LIMIT.

>>> from nilometer.language.cursor import Cursor
>>> parse_query(Cursor("SELECT depth FROM river WHERE depth > 10")).where
Binary(operator='>', left=Name(parts=('depth',)), right=Constant(value=10))
"""

from __future__ import annotations

from dataclasses import replace

from nilometer.language import ast
from nilometer.language.cursor import END, INT, QUOTED, WORD, Cursor
from nilometer.language.lexer import Token
from nilometer.language.parse_expressions import (
    CONTINUES_QUERY,
    parse_expression,
    parse_expressions,
    parse_number,
)
from nilometer.language.parse_grouping import parse_group_by
from nilometer.language.parse_sources import at_groupby, parse_column_names, parse_source
from nilometer.language.parse_windows import parse_duration, parse_rows
from nilometer.language.vocabulary import RESERVED, SHED_WORDS, STREAM_WORDS
from nilometer.language.walk import names_in


def parse_query(cursor: Cursor) -> ast.QueryNode:
    """A SELECT, or several joined by UNION, EXCEPT or INTERSECT; then ORDER BY and LIMIT."""
    cursor.deepen()
    start = cursor.token.start
    query = continue_query(cursor, _single_query(cursor), start)
    cursor.depth -= 1
    return query


def continue_query(cursor: Cursor, left: ast.QueryNode, start: int) -> ast.QueryNode:
    """All that may follow the first query: other queries, then ORDER BY and LIMIT for all of them.

    UNION is a bag union, so ALL changes nothing. INTERSECT binds more tightly than UNION and EXCEPT.
    """
    left = _intersected(cursor, left, start)
    while True:
        if cursor.accept("UNION"):
            distinct = cursor.at("DISTINCT")
            if distinct or cursor.at("ALL"):
                cursor.advance()
            right = _operand(cursor)
            left = ast.Union(left, right, distinct, span=cursor.span_from(start))
        elif cursor.at("EXCEPT"):
            cursor.advance()
            every = _all(cursor)
            right = _operand(cursor)
            left = ast.SetOperation("EXCEPT", left, right, every, span=cursor.span_from(start))
        else:
            return _ordered(cursor, left, start)


def _operand(cursor: Cursor) -> ast.QueryNode:
    start = cursor.token.start
    return _intersected(cursor, _single_query(cursor), start)


def _intersected(cursor: Cursor, left: ast.QueryNode, start: int) -> ast.QueryNode:
    while cursor.at("INTERSECT"):
        cursor.advance()
        every = _all(cursor)
        right = _single_query(cursor)
        left = ast.SetOperation("INTERSECT", left, right, every, span=cursor.span_from(start))
    return left


def _all(cursor: Cursor) -> bool:
    """ALL keeps doubles; DISTINCT, the default, may be written."""
    found = cursor.at("ALL")
    if found or cursor.at("DISTINCT"):
        cursor.advance()
    return found


def _ordered(cursor: Cursor, query: ast.QueryNode, start: int) -> ast.QueryNode:
    """`ORDER BY keys`, then `LIMIT n`, `OFFSET m` and `FETCH FIRST n ROWS ONLY` in any order."""
    keys: list[ast.SortKey] = []
    if cursor.accept("ORDER", "ORDER BY"):
        cursor.expect("BY")
        keys.append(parse_sort_key(cursor))
        while cursor.accept(","):
            keys.append(parse_sort_key(cursor))
    limit: ast.Constant | ast.Name | None = None
    offset: ast.Constant | ast.Name | None = None
    while True:
        if limit is None and cursor.accept("LIMIT"):
            limit = _row_count(cursor)
        elif offset is None and cursor.at("OFFSET"):
            cursor.advance()
            offset = _row_count(cursor)
            if cursor.at("ROW", "ROWS"):
                cursor.advance()
        elif limit is None and cursor.at("FETCH"):
            cursor.advance()
            limit = _fetched(cursor)
        else:
            break
    if not keys and limit is None and offset is None:
        return query
    if isinstance(query, ast.Select) and cursor.at("SAMPLE", "DELIVER"):
        sample, deliver = _service(cursor, query.sample, query.deliver)
        query = replace(query, sample=sample, deliver=deliver)
    return ast.Ordered(query, tuple(keys), limit, offset, span=cursor.span_from(start))


def parse_sort_key(cursor: Cursor) -> ast.SortKey:
    """`expression [ASC | DESC] [NULLS FIRST | LAST]`."""
    start = cursor.token.start
    expression = parse_expression(cursor)
    descending = cursor.accept_any("ASC", "DESC") == "DESC"
    nulls = None
    if cursor.accept("NULLS", "NULLS FIRST"):
        nulls = cursor.expect_any("FIRST", "LAST")
    return ast.SortKey(expression, descending, nulls == "FIRST", span=cursor.span_from(start))


def _row_count(cursor: Cursor) -> ast.Constant | ast.Name:
    """A whole number, or the name of a parameter."""
    token = cursor.token
    if token.kind is INT:
        return ast.Constant(parse_number(cursor), span=token.span)
    if not cursor.at_name():
        cursor.fail("a number of rows", hint="write a whole number, such as LIMIT 10")
    return ast.Name((cursor.name(),), span=token.span)


def _fetched(cursor: Cursor) -> ast.Constant | ast.Name:
    """`FIRST | NEXT [n] ROW | ROWS ONLY`; without n it is one row."""
    cursor.expect_any("FIRST", "NEXT")
    start = cursor.token.start
    count: ast.Constant | ast.Name = ast.Constant(1, span=cursor.span_from(start))
    if not cursor.at("ROW", "ROWS"):
        count = _row_count(cursor)
    cursor.expect_any("ROW", "ROWS")
    cursor.expect("ONLY")
    return count


def _single_query(cursor: Cursor) -> ast.QueryNode:
    if cursor.at("WITH"):
        return _with(cursor)
    if cursor.at("VALUES"):
        return _values(cursor)
    if cursor.at(*STREAM_WORDS) and cursor.peek().key == "(":
        return parse_streamed(cursor)
    if not cursor.accept("("):
        return _select(cursor)
    query = parse_query(cursor)
    cursor.expect(")")
    return query


def parse_streamed(cursor: Cursor) -> ast.QueryNode:
    """`ISTREAM(SELECT ...)`, which is `ISTREAM SELECT ...`."""
    word = cursor.advance()
    cursor.expect("(")
    query = parse_query(cursor)
    cursor.expect(")")
    return _as_stream(cursor, query, word)


def _as_stream(cursor: Cursor, query: ast.QueryNode, word: Token) -> ast.QueryNode:
    if isinstance(query, ast.Ordered):
        return replace(query, query=_as_stream(cursor, query.query, word))
    if not isinstance(query, ast.Select):
        cursor.refuse(
            f"{word.key} is for one SELECT", word.span, f"write it before each: {word.key} SELECT ..."
        )
    if query.stream is not None:
        cursor.refuse(f"{word.key} and {query.stream} in one SELECT", word.span, "keep one of them")
    return replace(query, stream=word.key, span=cursor.span_from(word.start))


def _with(cursor: Cursor) -> ast.With:
    start = cursor.expect("WITH").start
    if cursor.at("RECURSIVE") and cursor.peek().key not in ("AS", "("):
        cursor.refuse(
            "there is no WITH RECURSIVE",
            cursor.token.span,
            "a stream has no end, so a query that reads its own rows may have none",
        )
    tables = [_common_table(cursor)]
    while cursor.accept(","):
        tables.append(_common_table(cursor))
    query = parse_query(cursor)
    return ast.With(tuple(tables), query, span=cursor.span_from(start))


def _common_table(cursor: Cursor) -> ast.CommonTable:
    start = cursor.token.start
    name = cursor.name("the name of a query")
    columns = parse_column_names(cursor)
    cursor.expect("AS")
    cursor.expect("(")
    query = parse_query(cursor)
    cursor.expect(")")
    return ast.CommonTable(name, columns, query, span=cursor.span_from(start))


def _values(cursor: Cursor) -> ast.Values:
    start = cursor.expect("VALUES").start
    rows = [_row(cursor)]
    while cursor.accept(","):
        rows.append(_row(cursor))
    return ast.Values(tuple(rows), span=cursor.span_from(start))


def _row(cursor: Cursor) -> tuple[ast.Expression, ...]:
    cursor.expect("(")
    row = parse_expressions(cursor)
    cursor.expect(")")
    return row


def _select(cursor: Cursor) -> ast.Select:
    start = cursor.token.start
    stream = cursor.accept_any(*STREAM_WORDS)
    cursor.expect("SELECT")
    if cursor.at(*STREAM_WORDS):
        if stream is not None:
            cursor.refuse(
                f"{stream} and {cursor.token.key} in one SELECT", cursor.token.span, "keep one of them"
            )
        stream = cursor.advance().key
    if _keeps_doubles(cursor):
        cursor.advance()
    distinct = cursor.at("DISTINCT")
    first_of: tuple[ast.Expression, ...] = ()
    if distinct:
        cursor.advance()
    if distinct and cursor.at("ON") and cursor.peek().key == "(":
        distinct, first_of = False, _distinct_on(cursor)
    enclosed = _list_is_enclosed(cursor)
    if enclosed:
        cursor.advance()
    items = [_item(cursor)]
    while cursor.accept(","):
        items.append(_item(cursor))
    if enclosed:
        cursor.expect(")")
    sources = _sources(cursor, items)
    bounds = _bounds(cursor)
    memory, shed = _memory(cursor) if bounds else ((), None)
    where = parse_expression(cursor) if cursor.accept("WHERE") else None
    guided = _guided(cursor)
    group_by: tuple[ast.Expression, ...] = ()
    if at_groupby(cursor):
        cursor.advance()
        group_by = parse_group_by(cursor)
    elif cursor.accept("GROUP", "GROUP BY"):
        cursor.expect("BY")
        group_by = parse_group_by(cursor)
    having = parse_expression(cursor) if cursor.accept("HAVING") else None
    fill = _fill(cursor)
    _named_windows(cursor)
    qualify = parse_expression(cursor) if cursor.accept("QUALIFY") else None
    if first_of:
        qualify = _first_of_each(cursor, first_of, tuple(items), qualify)
    sample, deliver = _service(cursor)
    return ast.Select(
        tuple(items),
        tuple(sources),
        stream,
        bounds,
        where,
        group_by,
        having,
        sample,
        deliver,
        memory,
        shed,
        distinct,
        fill,
        qualify,
        guided,
        span=cursor.span_from(start),
    )


def _keeps_doubles(cursor: Cursor) -> bool:
    """Whether `ALL` stands before the select list, where it changes nothing, and is no column."""
    following = cursor.peek()
    if not cursor.at("ALL"):
        return False
    if following.key == "*":
        return cursor.peek(2).key in ("FROM", ",")
    return following.kind in (WORD, QUOTED) and following.key not in RESERVED


def _guided(cursor: Cursor) -> ast.Guided | None:
    """`GUIDED BY smoke [REACH 2]`."""
    start = cursor.token.start
    if not cursor.at("GUIDED"):
        return None
    cursor.advance()
    cursor.expect("BY")
    name = cursor.name("a phenomenon")
    reach = None
    if cursor.accept("REACH"):
        place = cursor.token
        if place.kind is not INT:
            cursor.fail("a whole number", hint="such as GUIDED BY smoke REACH 2")
        reach = ast.Amount(parse_number(cursor), span=place.span)
    return ast.Guided(name, reach, span=cursor.span_from(start))


def _list_is_enclosed(cursor: Cursor) -> bool:
    """Whether parentheses enclose the whole select list, as in CQL's `SELECT ISTREAM(a, b AS c) FROM ...`.

    Only a comma, AS or a star tells it from an expression in parentheses. A query in parentheses is an
    expression, too.
    """
    if not cursor.at("(") or cursor.peek().key in ("SELECT", "WITH", "VALUES", *STREAM_WORDS):
        return False
    depth, distance, is_list = 1, 0, False
    while depth:
        distance += 1
        token = cursor.peek(distance)
        if token.kind is END or (depth == 1 and token.key in ("SELECT", *CONTINUES_QUERY)):
            return False
        depth += {"(": 1, ")": -1}.get(token.key, 0)
        is_list |= depth == 1 and token.key in (",", "AS")
    is_list |= cursor.peek(distance - 1).key == "*"
    return is_list and cursor.peek(distance + 1).key == "FROM"


def _distinct_on(cursor: Cursor) -> tuple[ast.Expression, ...]:
    """PostgreSQL's `DISTINCT ON (a, b)`: the first row of each (a, b) in the order of ORDER BY."""
    cursor.advance()
    cursor.expect("(")
    keys = parse_expressions(cursor)
    cursor.expect(")")
    return keys


def _first_of_each(
    cursor: Cursor,
    keys: tuple[ast.Expression, ...],
    items: tuple[ast.SelectItem, ...],
    qualify: ast.Expression | None,
) -> ast.Expression:
    """`DISTINCT ON (a) ... ORDER BY a, b` is `QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY a, b) = 1`. The
    cursor stands before ORDER BY, which is read here, and again for the whole."""
    ahead = cursor.at_place(cursor.index)
    if not ahead.accept("ORDER"):
        cursor.refuse(
            "DISTINCT ON needs an ORDER BY, which says which row of each is the first",
            keys[0].span,
            "such as ORDER BY id, time DESC: the newest row of each id",
        )
    ahead.expect("BY")
    order = [parse_sort_key(ahead)]
    while ahead.accept(","):
        order.append(parse_sort_key(ahead))
    names = {item.alias.lower(): item.expression for item in items if item.alias is not None}

    def meant(expression: ast.Expression) -> ast.Expression:
        match expression:
            case ast.Constant(value=int(number)) if 0 < number <= len(items):
                return items[number - 1].expression
            case ast.Name(parts=(name,)) if name.lower() in names:
                return names[name.lower()]
            case _:
                return expression

    span = keys[0].span
    row = ast.Over(
        "ROW_NUMBER",
        (),
        partition=tuple(map(meant, keys)),
        order=tuple(replace(key, expression=meant(key.expression)) for key in order),
        span=span,
    )
    first = ast.Binary("=", row, ast.Constant(1, span=span), span=span)
    return first if qualify is None else ast.Binary("AND", qualify, first, span=span)


def _at_named_windows(cursor: Cursor) -> bool:
    from nilometer.language.parse_over import names_a_window

    return cursor.at("WINDOW") and names_a_window(cursor)


def _named_windows(cursor: Cursor) -> None:
    from nilometer.language.parse_over import skip_named_windows

    skip_named_windows(cursor)


def _fill(cursor: Cursor) -> str | None:
    """`FILL(NULL | PREVIOUS | LINEAR)` behind GROUP BY and HAVING."""
    if not (cursor.at("FILL") and cursor.peek().key == "("):
        return None
    cursor.advance()
    cursor.advance()
    fill = cursor.expect_any("NULL", "PREVIOUS", "LINEAR")
    cursor.expect(")")
    return fill


def _sources(cursor: Cursor, items: list[ast.SelectItem]) -> list[ast.Source]:
    """FROM and its sources. A query that names no column, such as SELECT 1 + 1, needs none."""
    if not cursor.accept("FROM"):
        ends = cursor.token.kind is END or cursor.at(";", ")", *CONTINUES_QUERY)
        if not ends or any(isinstance(item.expression, ast.Star) or names_in(item) for item in items):
            cursor.fail("FROM")
        return []
    sources = [parse_source(cursor)]
    while cursor.accept(","):
        sources.append(parse_source(cursor))
    return sources


def _excluded(cursor: Cursor) -> tuple[str, ...]:
    """`EXCLUDE (a, b)`; other databases say EXCEPT."""
    if not (cursor.at("EXCLUDE", "EXCEPT") and cursor.peek().key == "("):
        return ()
    cursor.advance()
    cursor.advance()
    names = [cursor.name()]
    while cursor.accept(","):
        names.append(cursor.name())
    cursor.expect(")")
    return tuple(names)


def _item(cursor: Cursor) -> ast.SelectItem:
    """`*`, `R.*`, both with EXCLUDE, or `expression [[AS] name]`."""
    token = cursor.token
    if token.key == "*":
        cursor.advance()
        excluded = _excluded(cursor)
        span = cursor.span_from(token.start)
        return ast.SelectItem(ast.Star(excluded=excluded, span=span), span=span)
    if token.kind in (WORD, QUOTED) and cursor.peek().key == "." and cursor.peek(2).key == "*":
        qualifier = cursor.name()
        cursor.advance()
        cursor.advance()
        excluded = _excluded(cursor)
        span = cursor.span_from(token.start)
        return ast.SelectItem(ast.Star(qualifier, excluded, span=span), span=span)
    cursor.expected.append("'*'")
    expression = parse_expression(cursor)
    alias: str | None = None
    if cursor.accept("AS") or cursor.at_alias():
        alias = cursor.name()
    return ast.SelectItem(expression, alias, span=cursor.span_from(token.start))


def _bounds(cursor: Cursor) -> tuple[ast.WindowBound, ...]:
    """STEAM's clause: `WINDOW = w`, or `WINDOW(a, b) = w1 AND WINDOW(b, c) = w2`, or `WINDOW(a) = w1 AND WINDOW(b) = w2`."""
    start = cursor.token.start
    if _at_named_windows(cursor) or not cursor.accept("WINDOW"):
        return ()
    if cursor.accept("="):
        width = parse_duration(cursor)
        if cursor.at("AND"):
            cursor.fail("WHERE", hint="WINDOW = w is for all pairs; or give each its own: WINDOW(a, b) = w")
        return (ast.WindowBound(None, None, width, span=cursor.span_from(start)),)
    bounds = [_named_bound(cursor, start)]
    while cursor.accept("AND"):
        start = cursor.expect("WINDOW").start
        bounds.append(_named_bound(cursor, start))
    return tuple(bounds)


def _named_bound(cursor: Cursor, start: int) -> ast.WindowBound:
    cursor.expect("(")
    left = cursor.name("an alias")
    right = cursor.name("an alias") if cursor.accept(",") else None
    cursor.expect(")")
    cursor.expect("=")
    width = parse_duration(cursor)
    return ast.WindowBound(left, right, width, span=cursor.span_from(start))


def _memory(cursor: Cursor) -> tuple[tuple[ast.MemoryBound, ...], str | None]:
    """`MEMORY = n ROWS`, or `MEMORY(a) = n ROWS AND MEMORY(b) = m ROWS`; then `SHED` and which tuples to
    drop."""
    start = cursor.token.start
    if not cursor.accept("MEMORY"):
        return (), None
    if cursor.accept("="):
        bounds = [ast.MemoryBound(None, parse_rows(cursor), span=cursor.span_from(start))]
        if cursor.at("AND"):
            cursor.fail(
                "SHED",
                "WHERE",
                hint="MEMORY = n ROWS is for every stream; or give each its own: MEMORY(a) = n ROWS",
            )
    else:
        bounds = [_stream_memory(cursor, start)]
        while cursor.accept("AND"):
            start = cursor.expect("MEMORY").start
            bounds.append(_stream_memory(cursor, start))
    shed = cursor.expect_any(*SHED_WORDS) if cursor.accept("SHED") else None
    return tuple(bounds), shed


def _stream_memory(cursor: Cursor, start: int) -> ast.MemoryBound:
    cursor.expect("(")
    stream = cursor.name("an alias")
    cursor.expect(")")
    cursor.expect("=")
    rows = parse_rows(cursor)
    return ast.MemoryBound(stream, rows, span=cursor.span_from(start))


def _service(
    cursor: Cursor, sample: ast.Amount | None = None, deliver: ast.Amount | None = None
) -> tuple[ast.Amount | None, ast.Amount | None]:
    """`SAMPLE EVERY d` and `DELIVER WITHIN d`, in either order."""
    while True:
        if sample is None and cursor.accept("SAMPLE", "SAMPLE EVERY"):
            cursor.expect("EVERY")
            sample = parse_duration(cursor)
        elif deliver is None and cursor.accept("DELIVER", "DELIVER WITHIN"):
            cursor.expect("WITHIN")
            deliver = parse_duration(cursor)
        else:
            return sample, deliver
