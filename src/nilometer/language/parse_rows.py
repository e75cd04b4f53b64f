"""Parses what SQL says of rows and of all rows of a query, in words that the language has.

    (a, b) = (1, 2)            a = 1 AND b = 2
    (a, b) IN ((1, 2), ...)    a = 1 AND b = 2 OR ...
    (a, b) IN (SELECT ...)     EXISTS (SELECT * FROM (SELECT ...) found (a, b) WHERE ...)
    x = ANY (SELECT ...)       x IN (SELECT ...)
    x > ANY (SELECT ...)       EXISTS (SELECT * FROM (SELECT ...) found (y) WHERE x > y)
    x > ALL (SELECT ...)       NOT EXISTS (SELECT * FROM (SELECT ...) found (y) WHERE (x > y) IS NOT TRUE)

>>> from nilometer.language.parser import parse_expression
>>> parse_expression("(a, b) = (1, 2)") == parse_expression("a = 1 AND b = 2")
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from nilometer.errors import Span
from nilometer.language import ast
from nilometer.language.cursor import Cursor

FOUND = "found row"
"""The alias of the query; no name that a user writes without quotes."""

Parse = Callable[[Cursor], ast.Expression]
QueryParser = Callable[[Cursor], ast.QueryNode | None]
"""The parser of a query in parentheses; None, with nothing taken, for anything else."""


def parse_row(
    cursor: Cursor, start: int, first: ast.Expression, parse: Parse, query: QueryParser
) -> ast.Expression:
    """`a, b) IN (...)` or `a, b) = (...)`, whose parenthesis and first value are already read."""
    row = _rest_of_row(cursor, first, parse)
    negated = cursor.at("NOT") and cursor.peek().key == "IN"
    if negated:
        cursor.advance()
    if cursor.at("=", "!="):
        different = cursor.advance().key == "!="
        same = _equal(cursor, row, _row(cursor, parse), start)
        return ast.Unary("NOT", same, span=same.span) if different else same
    if not cursor.accept("IN"):
        cursor.refuse(
            "a row of values is compared by = and IN",
            cursor.span_from(start),
            "write the comparison of each column, with AND between",
        )
    found = query(cursor)
    if found is not None and negated:
        cursor.refuse(
            "a row of values NOT IN a query",
            cursor.span_from(start),
            "write NOT EXISTS (SELECT * FROM ... WHERE x = a AND y = b)",
        )
    if found is not None:
        return exists_in(found, row)
    cursor.expect("(")
    links = [_equal(cursor, row, _row(cursor, parse), start)]
    while cursor.accept(","):
        links.append(_equal(cursor, row, _row(cursor, parse), start))
    cursor.expect(")")
    span = cursor.span_from(start)
    either = reduce(lambda one, other: ast.Binary("OR", one, other, span=span), links)
    return ast.Unary("NOT", either, span=span) if negated else either


def _row(cursor: Cursor, parse: Parse) -> list[ast.Expression]:
    cursor.expect("(")
    return _rest_of_row(cursor, parse(cursor), parse)


def _rest_of_row(cursor: Cursor, first: ast.Expression, parse: Parse) -> list[ast.Expression]:
    row = [first]
    while cursor.accept(","):
        row.append(parse(cursor))
    cursor.expect(")")
    return row


def _equal(
    cursor: Cursor, row: Sequence[ast.Expression], other: Sequence[ast.Expression], start: int
) -> ast.Expression:
    span = cursor.span_from(start)
    if len(row) != len(other):
        cursor.refuse(
            f"a row of {len(row)} values beside one of {len(other)}", span, "both have equally many"
        )
    return _all_equal(row, other, span)


def _all_equal(row: Sequence[ast.Expression], other: Sequence[ast.Expression], span: Span) -> ast.Expression:
    links: list[ast.Expression] = [
        ast.Binary("=", one, two, span=span) for one, two in zip(row, other, strict=True)
    ]
    return reduce(lambda one, two: ast.Binary("AND", one, two, span=span), links)


def exists_in(query: ast.QueryNode, row: Sequence[ast.Expression]) -> ast.Exists:
    """Whether the query has the row. Its columns get other names, so that those of the row are the outer query's."""
    columns = [f"column {number}" for number in range(1, len(row) + 1)]
    return _exists(
        query, columns, _all_equal(row, [_of_found(name, query.span) for name in columns], query.span)
    )


def parse_quantified(
    cursor: Cursor, operand: ast.Expression, operator: str, start: int, query: QueryParser
) -> ast.Expression | None:
    """`ANY (SELECT ...)`, `SOME (SELECT ...)` or `ALL (SELECT ...)` behind a comparison; None, with nothing taken, for
    anything else."""
    if not (cursor.at("ANY", "SOME", "ALL") and cursor.peek().key == "("):
        return None
    if cursor.peek(2).key not in ("SELECT", "WITH", "(", "RSTREAM", "ISTREAM", "DSTREAM"):
        return None
    every = cursor.advance().key == "ALL"
    found = query(cursor)
    if found is None:
        cursor.fail("a query in parentheses")
    span = cursor.span_from(start)
    if operator == ("!=" if every else "="):
        return ast.InQuery(operand, found, every, span=span)
    value = _of_found("value", span)
    compared: ast.Expression = ast.Binary(operator, operand, value, span=span)
    if not every:
        return _exists(found, ["value"], compared)
    failing = ast.Binary("IS DISTINCT FROM", compared, ast.Constant(True, span=span), span=span)
    return ast.Unary("NOT", _exists(found, ["value"], failing), span=span)


def is_quantified(node: ast.Expression) -> bool:
    """Whether a condition was a comparison with ANY or ALL, which may be neither true nor false."""
    inner = node.operand if isinstance(node, ast.Unary) else node
    return (
        isinstance(inner, ast.Exists)
        and isinstance(inner.query, ast.Select)
        and any(getattr(source, "alias", None) == FOUND for source in inner.query.sources)
    )


def _of_found(column: str, span: Span) -> ast.Name:
    return ast.Name((FOUND, column), span=span)


def _exists(query: ast.QueryNode, columns: Sequence[str], condition: ast.Expression) -> ast.Exists:
    span = condition.span
    source = ast.QuerySource(query, None, FOUND, tuple(columns), span=query.span)
    star = ast.SelectItem(ast.Star(span=span), span=span)
    return ast.Exists(ast.Select((star,), (source,), where=condition, span=query.span), span=span)
