"""Parses expressions by precedence climbing.

The order is OR < AND < NOT < comparison, IN, BETWEEN, IS, LIKE < || < + - < * / % < -x < ^ < ::, AT TIME
ZONE. Three decisions: a chain `a = b = c` becomes `a = b AND b = c`. A minus directly before a number makes a
negative constant (`-2`), but `-2 ^ 2` is -(2 ^ 2) as in SQL. A number directly before a unit is a duration
(`15 MINUTES`).

>>> from nilometer.language.cursor import Cursor
>>> parse_expression(Cursor("now - 15 MINUTES"))
Binary(operator='-', left=NowConstant(), right=DurationConstant(count=15, unit='MINUTES'))
"""

from __future__ import annotations

from nilometer.errors import Span
from nilometer.language import ast
from nilometer.language.cursor import END, FLOAT, INT, QUOTED, STRING, WORD, Cursor
from nilometer.language.lexer import Token
from nilometer.language.parse_calls import interval_of_text, special_call, worded_constant
from nilometer.language.parse_patterns import special_pattern
from nilometer.language.parse_rows import is_quantified, parse_quantified, parse_row
from nilometer.language.parse_types import parse_cast_type
from nilometer.language.vocabulary import RESERVED, STREAM_WORDS, UNIT_SPELLINGS
from nilometer.types import INT_MAXIMUM

OR, AND, NOT, COMPARISON, CONCATENATION, SUM, PRODUCT, MINUS, POWER = range(1, 10)

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
DISTINCTIONS = ("IS DISTINCT FROM", "IS NOT DISTINCT FROM")

LEVELS = {
    "OR": OR,
    "AND": AND,
    **dict.fromkeys(
        (
            *COMPARISONS,
            *DISTINCTIONS,
            "IN",
            "∉",
            "BETWEEN",
            "LIKE",
            "ILIKE",
            "RLIKE",
            "REGEXP",
            "SIMILAR",
            "IS",
            "NOT",
        ),
        COMPARISON,
    ),
    "||": CONCATENATION,
    "+": SUM,
    "-": SUM,
    "*": PRODUCT,
    "/": PRODUCT,
    "%": PRODUCT,
    "^": POWER,
}

OPERATOR_LABEL = "an operator"
OPERAND_LABELS = ("a column", "a value", "'('")

CONTINUES_QUERY = ("UNION", "EXCEPT", "INTERSECT", "ORDER", "LIMIT", "OFFSET", "FETCH")
"""The words that may follow a query in parentheses."""

_WORDS_OF_PATTERNS = ("ILIKE", "RLIKE", "REGEXP", "SIMILAR")

_QUERY_STARTS = frozenset(("SELECT", *STREAM_WORDS))


def parse_expression(cursor: Cursor) -> ast.Expression:
    """A whole expression."""
    return _operation(cursor, OR)


def parse_operand(cursor: Cursor) -> ast.Expression:
    """An operand of a comparison: what may stand beside IN."""
    return _operation(cursor, CONCATENATION)


def starts_query(cursor: Cursor) -> bool:
    """Whether a query begins here. With a parenthesis it may; only the text behind it tells."""
    return _begins(cursor.token, cursor.peek())


def _begins(token: Token, following: Token) -> bool:
    """Whether a token begins a query. WITH and VALUES may be names, so the next token decides."""
    if token.kind is not WORD:
        return False
    if token.key == "WITH":
        return following.kind in (WORD, QUOTED)
    return token.key in _QUERY_STARTS or (token.key == "VALUES" and following.key == "(")


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
        if is_quantified(operand):
            cursor.refuse(
                "NOT before a comparison with ANY or ALL",
                operand.span,
                "write the opposite: x <= ALL for NOT x > ANY",
            )
        left = ast.Unary("NOT", operand, span=cursor.span_from(start))
    else:
        left = _signed(cursor)
    while True:
        key = cursor.token.key
        level = 0 if key in _WORDS_OF_PATTERNS and _names_something(cursor) else LEVELS.get(key, 0)
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
        quantified = parse_quantified(cursor, operand, operator, operand_start, _bracketed_query)
        if quantified is not None and result is None:
            return quantified
        right = _operation(cursor, CONCATENATION)
        link = ast.Binary(operator, operand, right, span=cursor.span_from(operand_start))
        result = link if result is None else ast.Binary("AND", result, link, span=cursor.span_from(start))
        operand, operand_start = right, right_start
    if result is None:
        result = _predicate(cursor, left, start)
    if LEVELS.get(cursor.token.key) == COMPARISON:
        cursor.fail("AND", "OR", hint="put the first comparison in parentheses")
    return result


def _predicate(cursor: Cursor, operand: ast.Expression, start: int) -> ast.Expression:
    """`[NOT] IN | BETWEEN | LIKE ...` or `IS [NOT] NULL | TRUE | DISTINCT FROM ...`, whose operand is already
    read."""
    if cursor.accept("IS"):
        return _is(cursor, operand, start)
    if cursor.accept("∉"):
        return _membership(cursor, operand, True, start)
    negated = cursor.accept("NOT")
    if cursor.accept("IN"):
        return _membership(cursor, operand, negated, start)
    if cursor.accept("BETWEEN"):
        low = _operation(cursor, CONCATENATION)
        cursor.expect("AND")
        high = _operation(cursor, CONCATENATION)
        return ast.Between(operand, low, high, negated, span=cursor.span_from(start))
    word = cursor.accept_any("LIKE", *_WORDS_OF_PATTERNS)
    if word == "SIMILAR":
        cursor.expect("TO")
    if word is not None:
        place = cursor.token
        pattern = _operation(cursor, CONCATENATION)
        found = special_pattern(cursor, word, operand, pattern, place)
        if found is not None:
            return ast.Unary("NOT", found, span=cursor.span_from(start)) if negated else found
        return ast.Like(operand, pattern, negated, word == "ILIKE", span=cursor.span_from(start))
    cursor.fail()


def _is(cursor: Cursor, operand: ast.Expression, start: int) -> ast.Expression:
    """What follows IS. `x IS TRUE` is `x IS NOT DISTINCT FROM TRUE`: it is never NULL."""
    negated = cursor.accept("NOT")
    if cursor.accept("NULL") or cursor.accept("UNKNOWN"):
        return ast.IsNull(operand, negated, span=cursor.span_from(start))
    token = cursor.token
    if cursor.accept("TRUE") or cursor.accept("FALSE"):
        truth = ast.Constant(token.key == "TRUE", span=token.span)
        operator = DISTINCTIONS[0] if negated else DISTINCTIONS[1]
        return ast.Binary(operator, operand, truth, span=cursor.span_from(start))
    cursor.expect("DISTINCT", "DISTINCT FROM")
    cursor.expect("FROM")
    right = _operation(cursor, CONCATENATION)
    operator = DISTINCTIONS[1] if negated else DISTINCTIONS[0]
    return ast.Binary(operator, operand, right, span=cursor.span_from(start))


def _names_something(cursor: Cursor) -> bool:
    """Whether ILIKE or RLIKE, which are no reserved words, is an alias here: nothing that could be a pattern follows."""
    following = cursor.peek()
    if cursor.at("SIMILAR"):
        return following.key != "TO"
    return following.kind is END or following.key in (",", ")", ";", "FROM", "(", "[", ".")


def _membership(cursor: Cursor, operand: ast.Expression, negated: bool, start: int) -> ast.Expression:
    """The right side of IN: (a, b), {a, b}, a parameter's name, or a query in parentheses."""
    if cursor.at("NEAREST") and cursor.peek().kind is INT:
        return _nearest(cursor, operand, negated, start)
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


def _nearest(cursor: Cursor, operand: ast.Expression, negated: bool, start: int) -> ast.Expression:
    """`NEAREST 3 TO POINT(x, y)` behind IN."""
    cursor.advance()
    count = int(parse_number(cursor))
    cursor.expect("TO")
    place = cursor.token.span
    point = _operand(cursor)
    if not isinstance(point, ast.PointConstant):
        cursor.refuse("NEAREST goes to a point", place, "write NEAREST 3 TO POINT(8.5, 47.4)")
    return ast.Nearest(operand, count, point.x, point.y, negated, span=cursor.span_from(start))


def _signed(cursor: Cursor) -> ast.Expression:
    """`-x`, `+x` or an operand."""
    start = cursor.token.start
    if cursor.token.key == "+":
        cursor.advance()
        return _operation(cursor, MINUS)
    if cursor.token.key != "-":
        return _with_suffixes(cursor, _operand(cursor), start)
    cursor.advance()
    if cursor.token.kind in (INT, FLOAT) and cursor.peek().key != "^":
        return _with_suffixes(cursor, _number(cursor, start, negative=True), start)
    operand = _operation(cursor, MINUS)
    return ast.Unary("-", operand, span=cursor.span_from(start))


def _with_suffixes(cursor: Cursor, operand: ast.Expression, start: int) -> ast.Expression:
    """The operand with every `::type` and `AT TIME ZONE zone` behind it."""
    while True:
        if cursor.token.key == "::":
            cursor.advance()
            name, size = parse_cast_type(cursor)
            operand = ast.Cast(operand, name, size, span=cursor.span_from(start))
        elif cursor.token.key == "AT" and cursor.peek().key == "TIME" and cursor.peek(2).key == "ZONE":
            for _ in range(3):
                cursor.advance()
            zone = _operand(cursor)
            operand = ast.FunctionCall("timezone", (zone, operand), span=cursor.span_from(start))
        else:
            return operand


def _operand(cursor: Cursor) -> ast.Expression:
    """A constant, a name, a call, CASE, or anything in parentheses."""
    token = cursor.token
    kind, key = token.kind, token.key
    if kind is WORD and key not in RESERVED:
        if cursor.peek().key == "(":
            return special_call(cursor) or _call(cursor)
        return worded_constant(cursor) or _name(cursor)
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
        if not cursor.at("ORDER") or cursor.peek().key != "BY":
            arguments = parse_expressions(cursor)
    order = _argument_order(cursor)
    ignore = _nulls(cursor, ")")
    cursor.expect(")")
    within, condition = False, None
    if cursor.at("WITHIN") and cursor.peek().key == "GROUP":
        within, order = True, _within_group(cursor, order)
    if cursor.at("FILTER") and cursor.peek().key == "(":
        condition = _filter(cursor)
    span = cursor.span_from(token.start)
    ignore = _nulls(cursor, "OVER") if ignore is None else ignore
    if order or condition is not None or ignore is not None:
        call = ast.FunctionCall(token.text, arguments, distinct, order, within, condition, span=span)
        return _with_over(cursor, call, ignore)
    if token.key in ("DATE_BIN", "TIME_BUCKET") and arguments:
        arguments = (interval_of_text(cursor, arguments[0]), *arguments[1:])
    if token.key == "POINT" and not distinct:
        match arguments:
            case (ast.Constant(value=int() | float() as x), ast.Constant(value=int() | float() as y)) if not (
                isinstance(x, bool) or isinstance(y, bool)
            ):
                return ast.PointConstant(float(x), float(y), span=span)
    if token.key == "CLASSIFY" and arguments:
        arguments = (_model(arguments[0]), *arguments[1:])
    found = _with_over(cursor, ast.FunctionCall(token.text, arguments, distinct, span=span))
    while cursor.at(".") and cursor.peek().kind is WORD:
        cursor.advance()
        field = cursor.advance()
        named = ast.Constant(field.text.lower(), span=field.span)
        found = ast.FunctionCall("field", (found, named), span=cursor.span_from(token.start))
    return found


def _model(argument: ast.Expression) -> ast.Expression:
    """A model by its name: the one row of the table of that name."""
    if not isinstance(argument, ast.Name) or len(argument.parts) != 1:
        return argument
    place = argument.span
    model = ast.FunctionCall("MAX", (ast.Name(("model",), span=place),), span=place)
    table = ast.ExtentSource(argument.parts[0], span=place)
    return ast.ScalarQuery(ast.Select((ast.SelectItem(model),), (table,), span=place), span=place)


def _nulls(cursor: Cursor, behind: str) -> bool | None:
    """`IGNORE NULLS` or `RESPECT NULLS`, before the closing parenthesis or OVER; None without them."""
    if not (cursor.at("IGNORE", "RESPECT") and cursor.peek().key == "NULLS" and cursor.peek(2).key == behind):
        return None
    ignore = cursor.advance().key == "IGNORE"
    cursor.advance()
    return ignore


def _with_over(cursor: Cursor, call: ast.FunctionCall, ignore: bool | None = None) -> ast.Expression:
    """The call, or the call with its OVER."""
    if ignore and not cursor.at("OVER"):
        cursor.fail(
            "OVER",
            hint=f"IGNORE NULLS is for functions with OVER: {call.name}(x IGNORE NULLS) OVER (ORDER BY time);"
            " aggregates leave NULLs out",
        )
    if not cursor.at("OVER") or call.order:
        return call
    # The ORDER BY of OVER contains expressions, so one of the two imports must be late.
    from nilometer.language.parse_over import parse_over

    return parse_over(cursor, call, ignore_nulls=bool(ignore))


def _argument_order(cursor: Cursor) -> tuple[ast.ArgumentOrder, ...]:
    """`ORDER BY a, b DESC` behind the arguments of a call; none without the words."""
    if not (cursor.at("ORDER") and cursor.peek().key == "BY"):
        return ()
    cursor.advance()
    cursor.advance()
    entries = []
    while True:
        start = cursor.token.start
        expression = parse_expression(cursor)
        descending = cursor.accept("DESC")
        if not descending:
            cursor.accept("ASC")
        entries.append(ast.ArgumentOrder(expression, descending, span=cursor.span_from(start)))
        if not cursor.accept(","):
            return tuple(entries)


def _within_group(cursor: Cursor, order: tuple[ast.ArgumentOrder, ...]) -> tuple[ast.ArgumentOrder, ...]:
    """`WITHIN GROUP (ORDER BY x)` behind a call."""
    if order:
        cursor.refuse("two ORDER BY in one call", cursor.token.span, "leave one of them out")
    cursor.advance()
    cursor.advance()
    cursor.expect("(")
    order = _argument_order(cursor)
    if not order:
        cursor.fail("ORDER BY")
    cursor.expect(")")
    return order


def _filter(cursor: Cursor) -> ast.Expression:
    """`FILTER (WHERE condition)` behind a call."""
    cursor.advance()
    cursor.expect("(")
    cursor.expect("WHERE")
    condition = parse_expression(cursor)
    cursor.expect(")")
    return condition


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
        if cursor.at(","):
            return parse_row(cursor, start, inner, parse_expression, _bracketed_query)
        if not (isinstance(inner, ast.ScalarQuery) and cursor.at(*CONTINUES_QUERY)):
            cursor.expect(")")
            return inner
        query = _continue_union(cursor, inner)
        cursor.expect(")")
    return ast.ScalarQuery(query, span=cursor.span_from(start))


def _bracketed_query(cursor: Cursor) -> ast.QueryNode | None:
    """`( SELECT ... )`; None, with nothing taken, if the parentheses hold something else."""
    if cursor.token.key != "(" or not _begins(cursor.peek(), cursor.peek(2)):
        return None
    # Queries contain expressions and expressions contain queries, so one of the two imports must be late.
    from nilometer.language.parse_queries import parse_query

    cursor.advance()
    query = parse_query(cursor)
    cursor.expect(")")
    return query


def _continue_union(cursor: Cursor, first: ast.Expression) -> ast.QueryNode:
    """`(SELECT ...) UNION ...`, whose first query was read as a value."""
    from nilometer.language.parse_queries import continue_query

    assert isinstance(first, ast.ScalarQuery)
    return continue_query(cursor, first.query, first.span.start)
