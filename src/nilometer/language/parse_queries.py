"""Parses queries: SELECT with its clauses, and UNION.

>>> from nilometer.language.cursor import Cursor
>>> parse_query(Cursor("SELECT depth FROM river WHERE depth > 10")).where
Binary(operator='>', left=Name(parts=('depth',)), right=Constant(value=10))
"""

from __future__ import annotations

from nilometer.language import ast
from nilometer.language.cursor import QUOTED, WORD, Cursor
from nilometer.language.parse_expressions import parse_expression, parse_expressions
from nilometer.language.parse_sources import parse_source
from nilometer.language.parse_windows import parse_duration, parse_rows
from nilometer.language.vocabulary import SHED_WORDS, STREAM_WORDS


def parse_query(cursor: Cursor) -> ast.QueryNode:
    """A SELECT, or several joined by UNION."""
    cursor.deepen()
    start = cursor.token.start
    query = continue_union(cursor, _single_query(cursor), start)
    cursor.depth -= 1
    return query


def continue_union(cursor: Cursor, left: ast.QueryNode, start: int) -> ast.QueryNode:
    """All `UNION query` behind the first query. UNION is a bag union, so ALL changes nothing."""
    while cursor.accept("UNION"):
        if cursor.at("ALL"):
            cursor.advance()
        right = _single_query(cursor)
        left = ast.Union(left, right, span=cursor.span_from(start))
    return left


def _single_query(cursor: Cursor) -> ast.QueryNode:
    if not cursor.accept("("):
        return _select(cursor)
    query = parse_query(cursor)
    cursor.expect(")")
    return query


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
    items = [_item(cursor)]
    while cursor.accept(","):
        items.append(_item(cursor))
    cursor.expect("FROM")
    sources = [parse_source(cursor)]
    while cursor.accept(","):
        sources.append(parse_source(cursor))
    bounds = _bounds(cursor)
    memory, shed = _memory(cursor) if bounds else ((), None)
    where = parse_expression(cursor) if cursor.accept("WHERE") else None
    group_by: tuple[ast.Expression, ...] = ()
    if cursor.accept("GROUP", "GROUP BY"):
        cursor.expect("BY")
        group_by = parse_expressions(cursor)
    having = parse_expression(cursor) if cursor.accept("HAVING") else None
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
        span=cursor.span_from(start),
    )


def _item(cursor: Cursor) -> ast.SelectItem:
    """`*`, `R.*` or `expression [[AS] name]`."""
    token = cursor.token
    if token.key == "*":
        cursor.advance()
        return ast.SelectItem(ast.Star(span=token.span), span=token.span)
    if token.kind in (WORD, QUOTED) and cursor.peek().key == "." and cursor.peek(2).key == "*":
        qualifier = cursor.name()
        cursor.advance()
        cursor.advance()
        span = cursor.span_from(token.start)
        return ast.SelectItem(ast.Star(qualifier, span=span), span=span)
    cursor.expected.append("'*'")
    expression = parse_expression(cursor)
    alias: str | None = None
    if cursor.accept("AS") or cursor.at_alias():
        alias = cursor.name()
    return ast.SelectItem(expression, alias, span=cursor.span_from(token.start))


def _bounds(cursor: Cursor) -> tuple[ast.WindowBound, ...]:
    """STEAM's clause: `WINDOW = w`, or `WINDOW(a, b) = w1 AND WINDOW(b, c) = w2`."""
    start = cursor.token.start
    if not cursor.accept("WINDOW"):
        return ()
    if cursor.accept("="):
        width = parse_duration(cursor)
        if cursor.at("AND"):
            cursor.fail("WHERE", hint="WINDOW = w is for all pairs; or give each its own: WINDOW(a, b) = w")
        return (ast.WindowBound(None, None, width, span=cursor.span_from(start)),)
    bounds = [_pair_bound(cursor, start)]
    while cursor.accept("AND"):
        start = cursor.expect("WINDOW").start
        bounds.append(_pair_bound(cursor, start))
    return tuple(bounds)


def _pair_bound(cursor: Cursor, start: int) -> ast.WindowBound:
    cursor.expect("(")
    left = cursor.name("an alias")
    cursor.expect(",")
    right = cursor.name("an alias")
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


def _service(cursor: Cursor) -> tuple[ast.Amount | None, ast.Amount | None]:
    """`SAMPLE EVERY d` and `DELIVER WITHIN d`, in either order."""
    sample: ast.Amount | None = None
    deliver: ast.Amount | None = None
    while True:
        if sample is None and cursor.accept("SAMPLE", "SAMPLE EVERY"):
            cursor.expect("EVERY")
            sample = parse_duration(cursor)
        elif deliver is None and cursor.accept("DELIVER", "DELIVER WITHIN"):
            cursor.expect("WITHIN")
            deliver = parse_duration(cursor)
        else:
            return sample, deliver
