"""Prints expressions, names and literals as canonical text, with only the parentheses that are needed.

>>> from nilometer.language.parser import parse_expression
>>> print_expression(parse_expression("((a + 1)) * b > 2 and Not c in {1, 2}"))
'(a + 1) * b > 2 AND NOT c IN (1, 2)'
"""

from __future__ import annotations

import re
from math import isfinite

from nilometer.language import ast
from nilometer.language.parse_expressions import COMPARISON, CONCATENATION, LEVELS, MINUS, NOT, POWER
from nilometer.language.vocabulary import NOT_AN_ALIAS, RESERVED, fold, must_be_unit
from nilometer.types import format_time

_PLAIN = re.compile(r"[^\W\d]\w*")

# Above every operator: a node of this level never needs parentheses.
ATOM = POWER + 1


def print_expression(node: ast.Expression) -> str:
    """The canonical text of an expression."""
    match node:
        case ast.Name(parts):
            return ".".join(map(identifier, parts))
        case ast.Constant(value):
            return literal(value)
        case ast.TimeConstant(microseconds):
            return f"TIME {string(format_time(microseconds))}"
        case ast.PointConstant(x, y):
            return f"POINT({number(x)}, {number(y)})"
        case ast.DurationConstant(count, "MONTHS"):
            return f"INTERVAL '{count} months'"
        case ast.DurationConstant(count, unit):
            return _with_unit(count, unit)
        case ast.NowConstant():
            return "NOW"
        case ast.Star(qualifier, excluded):
            star = "*" if qualifier is None else f"{identifier(qualifier)}.*"
            return f"{star} EXCLUDE ({', '.join(map(identifier, excluded))})" if excluded else star
        case ast.Unary("NOT", operand):
            return f"NOT {_inside(operand, NOT)}"
        case ast.Unary(operator, operand):
            # -(2) differs from the constant -2, and -(-x) from a comment.
            bare = isinstance(operand, ast.Constant | ast.DurationConstant) or _level(operand) <= MINUS
            return (
                f"{operator}({print_expression(operand)})"
                if bare
                else f"{operator}{print_expression(operand)}"
            )
        case ast.Binary(operator, left, right):
            return _binary(operator, left, right)
        case ast.IsNull(operand, negated):
            return f"{_inside(operand, CONCATENATION)} IS {'NOT ' if negated else ''}NULL"
        case ast.Between(operand, low, high, negated):
            between = "NOT BETWEEN" if negated else "BETWEEN"
            return f"{_inside(operand, CONCATENATION)} {between} {_inside(low, CONCATENATION)} AND {_inside(high, CONCATENATION)}"
        case ast.Like(operand, pattern, negated, any_case):
            like = ("NOT " if negated else "") + ("ILIKE" if any_case else "LIKE")
            return f"{_inside(operand, CONCATENATION)} {like} {_inside(pattern, CONCATENATION)}"
        case ast.In(operand, items, negated):
            listed = ", ".join(map(print_expression, items))
            # IN ((SELECT ...)) would be read as IN (SELECT ...).
            lone_query = len(items) == 1 and isinstance(items[0], ast.ScalarQuery)
            return f"{_inside(operand, CONCATENATION)} {_in(negated)} {f'{{{listed}}}' if lone_query else f'({listed})'}"
        case ast.InQuery(operand, query, negated):
            return f"{_inside(operand, CONCATENATION)} {_in(negated)} {_query(query)}"
        case ast.Nearest(operand, count, x, y, negated):
            place = f"POINT({number(x)}, {number(y)})"
            return f"{_inside(operand, CONCATENATION)} {_in(negated)} NEAREST {count} TO {place}"
        case ast.Exists(query):
            return f"EXISTS {_query(query)}"
        case ast.ScalarQuery(query):
            return _query(query)
        case ast.Case():
            return _case(node)
        case ast.Cast(operand, type_, size, safe):
            return f"{'TRY_' if safe else ''}CAST({print_expression(operand)} AS {cast_type(type_, size)})"
        case ast.FunctionCall():
            return _call(node)
        case ast.GroupingSets(sets):
            keys = ", ".join(f"({', '.join(map(print_expression, each))})" for each in sets)
            return f"GROUPING SETS ({keys})"
        case ast.Over(name, arguments, distinct, condition):
            call = ast.FunctionCall(name, arguments, distinct, condition=condition)
            return f"{_call(call)}{' IGNORE NULLS' if node.ignore_nulls else ''} OVER ({_over(node)})"
    raise TypeError(f"no expression: {node!r}")


def cast_type(name: str, size: int | None) -> str:
    """The type of a CAST as it is read back."""
    if size is None:
        return name
    return {"FLOAT": "DECIMAL(38, {})", "STRING": "VARCHAR({})", "TIME": "TIMESTAMP({})"}[name].format(size)


def identifier(name: str, *, alias: bool = False) -> str:
    """A name, in double quotes if it would not be read back as one; `alias`: if it stands without AS."""
    if _PLAIN.fullmatch(name) and fold(name) not in (NOT_AN_ALIAS if alias else RESERVED):
        return name
    return '"' + name.replace('"', '""') + '"'


def string(value: str) -> str:
    """A string in single quotes."""
    return "'" + value.replace("'", "''") + "'"


def number(value: int | float) -> str:
    """A number as Python writes it; the shortest text that reads back the same."""
    if not isfinite(value):
        raise ValueError(f"the language has no way to write {value}")
    return repr(value)


def literal(value: int | float | str | bool | None) -> str:
    """A constant."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return string(value) if isinstance(value, str) else number(value)


def amount(node: ast.Amount) -> str:
    """`10 MINUTES`, `w`; a parameter with the name of a unit is quoted."""
    if isinstance(node.count, str):
        name = f'"{node.count}"' if must_be_unit(node.count) else identifier(node.count)
        return name if node.unit is None else f"{name} {node.unit}"
    return _with_unit(node.count, node.unit)


def _with_unit(count: int | float, unit: str | None) -> str:
    if unit is None:
        return number(count)
    written = number(count)
    return f"{written} {unit.removesuffix('S') if written == '1' else unit}"


def _level(node: ast.Expression) -> int:
    """How tightly the outermost operator binds."""
    match node:
        case ast.Binary(operator):
            return LEVELS[operator]
        case ast.Unary("NOT"):
            return NOT
        case ast.Unary():
            return MINUS
        case ast.Constant(int() | float() as value) | ast.DurationConstant(int() | float() as value):
            return MINUS if number(value).startswith("-") and not isinstance(value, bool) else ATOM
        case ast.IsNull() | ast.Between() | ast.Like() | ast.In() | ast.InQuery() | ast.Nearest():
            return COMPARISON
    return ATOM


def _inside(node: ast.Expression, minimum: int) -> str:
    """The operand's text, in parentheses if it binds less tightly than `minimum`."""
    text = print_expression(node)
    return text if _level(node) >= minimum else f"({text})"


def _binary(operator: str, left: ast.Expression, right: ast.Expression) -> str:
    level = LEVELS[operator]
    if level == POWER:
        return f"{_inside(left, ATOM)} ^ {_inside(right, MINUS)}"
    # Comparisons do not nest to the left either: a = b = c would be read as a chain.
    return f"{_inside(left, CONCATENATION if level == COMPARISON else level)} {operator} {_inside(right, level + 1)}"


def _in(negated: bool) -> str:
    return "NOT IN" if negated else "IN"


def _query(query: ast.QueryNode) -> str:
    from nilometer.language.print_queries import print_query

    return f"({print_query(query)})"


def _case(node: ast.Case) -> str:
    parts = ["CASE"]
    if node.operand is not None:
        parts.append(print_expression(node.operand))
    for condition, value in node.whens:
        parts.append(f"WHEN {print_expression(condition)} THEN {print_expression(value)}")
    if node.otherwise is not None:
        parts.append(f"ELSE {print_expression(node.otherwise)}")
    return " ".join([*parts, "END"])


def _call(node: ast.FunctionCall) -> str:
    name = identifier(node.name)
    match node.arguments:
        case (ast.Constant(int() | float()), ast.Constant(int() | float())) if fold(name) == "POINT":
            name = f'"{node.name}"'  # POINT(1, 2) is a constant
    if fold(name) in ("CAST", "TRY_CAST", "EXTRACT", "POSITION"):
        name = f'"{node.name}"'  # these are read as CAST(x AS INT)
    inner = [f"{'DISTINCT ' if node.distinct else ''}{', '.join(map(print_expression, node.arguments))}"]
    order = ", ".join(
        print_expression(entry.expression) + (" DESC" if entry.descending else "") for entry in node.order
    )
    if order and not node.within:
        inner.append(f"ORDER BY {order}")
    parts = [f"{name}({' '.join(filter(None, inner))})"]
    if node.within:
        parts.append(f"WITHIN GROUP (ORDER BY {order})")
    if node.condition is not None:
        parts.append(f"FILTER (WHERE {print_expression(node.condition)})")
    return " ".join(parts)


def _over(node: ast.Over) -> str:
    from nilometer.language.print_queries import print_sort_key

    partition = list(map(print_expression, node.partition))
    order = list(map(print_sort_key, node.order))
    last = order or partition
    if node.frame is not None and last and last[-1][-1].isdigit():
        last[-1] = f"({last[-1]})"  # `0 ROWS` would be a length
    parts = []
    if partition:
        parts.append("PARTITION BY " + ", ".join(partition))
    if order:
        parts.append("ORDER BY " + ", ".join(order))
    if node.frame is not None:
        parts.append(f"{node.frame.unit} BETWEEN {_bound(node.frame.start)} AND {_bound(node.frame.end)}")
    return " ".join(parts)


def _bound(bound: ast.FrameBound) -> str:
    if bound.side == "CURRENT ROW":
        return bound.side
    if bound.amount is None:
        return f"UNBOUNDED {bound.side}"
    name = bound.amount.count
    # A parameter whose name is a keyword here needs its quotes.
    keyword = isinstance(name, str) and fold(name) in ("UNBOUNDED", "CURRENT", "INTERVAL")
    written = f'"{name}"' + (f" {bound.amount.unit}" if bound.amount.unit else "")
    return f"{written if keyword else amount(bound.amount)} {bound.side}"
