"""Parses expressions by precedence climbing.

The order is OR < AND < NOT < comparison, IN, BETWEEN, IS, LIKE < + - < * / % < -x < ^. Three decisions: a
chain `a = b = c` becomes `a = b AND b = c`. A minus directly before a number makes a negative constant
(`-2`), but `-2 ^ 2` is -(2 ^ 2) as in SQL. A number directly before a unit is a duration (`15 MINUTES`).

>>> from nilometer.language.cursor import Cursor
>>> parse_expression(Cursor("now - 15 MINUTES"))
Binary(operator='-', left=NowConstant(), right=DurationConstant(count=15, unit='MINUTES'))
"""

from __future__ import annotations

from nilometer.errors import Span
from nilometer.language import ast
from nilometer.language.cursor import FLOAT, INT, QUOTED, STRING, WORD, Cursor
from nilometer.language.vocabulary import RESERVED, STREAM_WORDS, UNIT_SPELLINGS
from nilometer.types import INT_MAXIMUM, parse_time

OR, AND, NOT, COMPARISON, SUM, PRODUCT, MINUS, POWER = range(1, 9)

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")

LEVELS = {
    "OR": OR,
    "AND": AND,
    **dict.fromkeys((*COMPARISONS, "IN", "∉", "BETWEEN", "LIKE", "IS", "NOT"), COMPARISON),
    "+": SUM,
    "-": SUM,
    "*": PRODUCT,
    "/": PRODUCT,
    "%": PRODUCT,
    "^": POWER,
}

OPERATOR_LABEL = "an operator"
OPERAND_LABELS = ("a column", "a value", "'('")

_QUERY_STARTS = frozenset(("SELECT", *STREAM_WORDS))


def parse_expression(cursor: Cursor) -> ast.Expression:
    """A whole expression."""
    return _operation(cursor, OR)


def starts_query(cursor: Cursor) -> bool:
    """Whether a query begins here. With a parenthesis it may; only the text behind it tells."""
    return cursor.token.key in _QUERY_STARTS


def parse_expressions(cursor: Cursor) -> tuple[ast.Expression, ...]:
    """One or more expressions, separated by commas."""
    items = [parse_expression(cursor)]
    while cursor.accept(","):
        items.append(parse_expression(cursor))
    return tuple(items)


def _operation(cursor: Cursor, minimum: int) -> ast.Expression:
    """An operand and all operators behind it that bind at least as tightly as `minimum`."""
    cursor.deepen()
    start = cursor.token.start
    left: ast.Expression
    if cursor.token.key == "NOT" and minimum <= NOT:
        cursor.advance()
        operand = _operation(cursor, NOT)
        left = ast.Unary("NOT", operand, span=cursor.span_from(start))
    else:
        left = _signed(cursor)
    while True:
        key = cursor.token.key
        level = LEVELS.get(key, 0)
        if level < minimum:
            if not level:
                cursor.expected.append(OPERATOR_LABEL)
            break
        if level == COMPARISON:
            left = _comparison(cursor, left, start)
            continue
        cursor.advance()
        # Only `^` associates to the right, and it takes a signed exponent: 2 ^ -1.
        right = _operation(cursor, MINUS if level == POWER else level + 1)
        left = ast.Binary(key, left, right, span=cursor.span_from(start))
    cursor.depth -= 1
    return left


def _comparison(cursor: Cursor, left: ast.Expression, start: int) -> ast.Expression:
    """One predicate, or a chain of comparisons, whose first operand is already read."""
    result: ast.Expression | None = None
    operand, operand_start = left, start
    while cursor.token.key in COMPARISONS:
        operator = cursor.advance().key
        right_start = cursor.token.start
        right = _operation(cursor, SUM)
        link = ast.Binary(operator, operand, right, span=cursor.span_from(operand_start))
        result = link if result is None else ast.Binary("AND", result, link, span=cursor.span_from(start))
        operand, operand_start = right, right_start
    if result is None:
        result = _predicate(cursor, left, start)
    if LEVELS.get(cursor.token.key) == COMPARISON:
        cursor.fail("AND", "OR", hint="put the first comparison in parentheses")
    return result


def _predicate(cursor: Cursor, operand: ast.Expression, start: int) -> ast.Expression:
    """`[NOT] IN | BETWEEN | LIKE ...` or `IS [NOT] NULL`, whose operand is already read."""
    if cursor.accept("IS"):
        negated = cursor.accept("NOT")
        cursor.expect("NULL")
        return ast.IsNull(operand, negated, span=cursor.span_from(start))
    if cursor.accept("∉"):
        return _membership(cursor, operand, True, start)
    negated = cursor.accept("NOT")
    if cursor.accept("IN"):
        return _membership(cursor, operand, negated, start)
    if cursor.accept("BETWEEN"):
        low = _operation(cursor, SUM)
        cursor.expect("AND")
        high = _operation(cursor, SUM)
        return ast.Between(operand, low, high, negated, span=cursor.span_from(start))
    if cursor.accept("LIKE"):
        pattern = _operation(cursor, SUM)
        return ast.Like(operand, pattern, negated, span=cursor.span_from(start))
    cursor.fail()


def _membership(cursor: Cursor, operand: ast.Expression, negated: bool, start: int) -> ast.Expression:
    """The right side of IN: (a, b), {a, b}, a parameter's name, or a query in parentheses."""
    if cursor.accept("{"):
        items = parse_expressions(cursor)
        cursor.expect("}")
    elif cursor.token.key == "(":
        query = _bracketed_query(cursor)
        if query is not None:
            return ast.InQuery(operand, query, negated, span=cursor.span_from(start))
        cursor.expect("(")
        items = parse_expressions(cursor)
        if isinstance(items[-1], ast.ScalarQuery) and len(items) == 1:
            # IN ((SELECT ...)) is IN (SELECT ...), as in SQL; a list of one scalar query is written with braces.
            query = _continue_union(cursor, items[0])
            cursor.expect(")")
            return ast.InQuery(operand, query, negated, span=cursor.span_from(start))
        cursor.expect(")")
    else:
        if not cursor.at_name():
            cursor.fail("'('", "'{'", "a name")
        items = (_name(cursor),)
    return ast.In(operand, items, negated, span=cursor.span_from(start))


def _signed(cursor: Cursor) -> ast.Expression:
    """`-x`, `+x` or an operand."""
    start = cursor.token.start
    if cursor.token.key == "+":
        cursor.advance()
        return _operation(cursor, MINUS)
    if cursor.token.key != "-":
        return _operand(cursor)
    cursor.advance()
    if cursor.token.kind in (INT, FLOAT) and cursor.peek().key != "^":
        return _number(cursor, start, negative=True)
    operand = _operation(cursor, MINUS)
    return ast.Unary("-", operand, span=cursor.span_from(start))


def _operand(cursor: Cursor) -> ast.Expression:
    """A constant, a name, a call, CASE, or anything in parentheses."""
    token = cursor.token
    kind, key = token.kind, token.key
    if kind is WORD and key not in RESERVED:
        following = cursor.peek()
        if following.kind is STRING and key == "TIME":
            cursor.advance()
            return ast.TimeConstant(parse_moment(cursor), span=cursor.span_from(token.start))
        return _call(cursor) if following.key == "(" else _name(cursor)
    if kind is INT or kind is FLOAT:
        return _number(cursor, token.start)
    if key == "(":
        return _parenthesised(cursor)
    if kind is STRING:
        cursor.advance()
        return ast.Constant(token.text, span=token.span)
    if kind is QUOTED:
        return _call(cursor) if cursor.peek().key == "(" else _name(cursor)
    if key == "NOW":
        cursor.advance()
        if cursor.at("(") and cursor.peek().key == ")":
            cursor.advance()
            cursor.advance()
        return ast.NowConstant(span=cursor.span_from(token.start))
    if key in ("TRUE", "FALSE", "NULL"):
        cursor.advance()
        return ast.Constant(None if key == "NULL" else key == "TRUE", span=token.span)
    if key == "CASE":
        return _case(cursor)
    if key == "EXISTS":
        cursor.advance()
        query = _bracketed_query(cursor)
        if query is None:
            cursor.fail("a query in parentheses")
        return ast.Exists(query, span=cursor.span_from(token.start))
    cursor.fail(*OPERAND_LABELS)


def parse_number(cursor: Cursor, *, negative: bool = False) -> int | float:
    """The next number; its sign has been read already."""
    token = cursor.advance()
    if token.kind is FLOAT:
        return -float(token.text) if negative else float(token.text)
    value = int(token.text)
    if value > INT_MAXIMUM and not negative:
        cursor.refuse(
            "the whole number is too large for INT", token.span, "write it as a FLOAT, such as 1e30"
        )
    return -value if negative else value


def _number(cursor: Cursor, start: int, *, negative: bool = False) -> ast.Expression:
    value = parse_number(cursor, negative=negative)
    unit = UNIT_SPELLINGS.get(cursor.token.key)
    if unit is not None:
        cursor.advance()
        return ast.DurationConstant(value, unit, span=cursor.span_from(start))
    return ast.Constant(value, span=cursor.span_from(start))


def parse_moment(cursor: Cursor) -> int:
    """A string that names a time, as microseconds; `format_time` writes times beyond the calendar as '...
    us'."""
    token = cursor.token
    written = cursor.string("a time in single quotes")
    try:
        return int(written.removesuffix(" us")) if written.endswith(" us") else parse_time(written)
    except (ValueError, OverflowError):
        cursor.refuse(
            f"'{written}' is not a time", token.span, "write it as ISO-8601: '2026-11-15T08:30:00Z'"
        )


def _name(cursor: Cursor) -> ast.Name:
    """`depth`, `R.depth` or `S.SensorValue.temperature`."""
    start = cursor.token.start
    parts = [cursor.name("a column")]
    while cursor.token.key == ".":
        if len(parts) == 3:
            cursor.refuse("a name has at most three parts", Span(start, cursor.peek().end))
        cursor.advance()
        # No keyword can follow a dot, so a column `R.group` needs no quotes.
        if cursor.token.kind not in (WORD, QUOTED):
            cursor.fail("a column", hint="R.* stands alone in the select list" if cursor.at("*") else None)
        parts.append(cursor.advance().text)
    return ast.Name(tuple(parts), span=cursor.span_from(start))


parse_name = _name


def _call(cursor: Cursor) -> ast.Expression:
    """`f(...)`; POINT of two numbers is a constant."""
    token = cursor.advance()
    cursor.expect("(")
    distinct = False
    arguments: tuple[ast.Expression, ...] = ()
    if cursor.at("*"):
        star = cursor.advance()
        arguments = (ast.Star(span=star.span),)
    elif not cursor.at(")"):
        distinct = cursor.accept("DISTINCT")
        arguments = parse_expressions(cursor)
    cursor.expect(")")
    span = cursor.span_from(token.start)
    if token.key == "POINT" and not distinct:
        match arguments:
            case (ast.Constant(value=int() | float() as x), ast.Constant(value=int() | float() as y)) if not (
                isinstance(x, bool) or isinstance(y, bool)
            ):
                return ast.PointConstant(float(x), float(y), span=span)
    return ast.FunctionCall(token.text, arguments, distinct, span=span)


def _case(cursor: Cursor) -> ast.Expression:
    start = cursor.expect("CASE").start
    operand = None if cursor.at("WHEN") else parse_expression(cursor)
    whens: list[tuple[ast.Expression, ast.Expression]] = []
    cursor.expect("WHEN")
    while True:
        condition = parse_expression(cursor)
        cursor.expect("THEN")
        whens.append((condition, parse_expression(cursor)))
        if not cursor.accept("WHEN"):
            break
    otherwise = parse_expression(cursor) if cursor.accept("ELSE") else None
    cursor.expect("END")
    return ast.Case(operand, tuple(whens), otherwise, span=cursor.span_from(start))


def _parenthesised(cursor: Cursor) -> ast.Expression:
    """`(x)`, or a query used as a value."""
    start = cursor.token.start
    query = _bracketed_query(cursor)
    if query is None:
        cursor.expect("(")
        inner = parse_expression(cursor)
        if not (isinstance(inner, ast.ScalarQuery) and cursor.at("UNION")):
            cursor.expect(")")
            return inner
        query = _continue_union(cursor, inner)
        cursor.expect(")")
    return ast.ScalarQuery(query, span=cursor.span_from(start))


def _bracketed_query(cursor: Cursor) -> ast.QueryNode | None:
    """`( SELECT ... )`; None, with nothing taken, if the parentheses hold something else."""
    if cursor.token.key != "(" or cursor.peek().key not in _QUERY_STARTS:
        return None
    # Queries contain expressions and expressions contain queries, so one of the two imports must be late.
    from nilometer.language.parse_queries import parse_query

    cursor.advance()
    query = parse_query(cursor)
    cursor.expect(")")
    return query


def _continue_union(cursor: Cursor, first: ast.Expression) -> ast.QueryNode:
    """`(SELECT ...) UNION ...`, whose first query was read as a value."""
    from nilometer.language.parse_queries import continue_union

    assert isinstance(first, ast.ScalarQuery)
    return continue_union(cursor, first.query, first.span.start)
