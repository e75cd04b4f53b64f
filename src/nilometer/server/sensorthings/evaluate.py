"""The meaning of an expression for one entity, in plain Python. It judges columnar.py.

NULL is unknown, as in SQL: `not (result gt 5)` leaves out an entity without a result; `x eq null` asks for NULL.
Values of different types are not comparable, which is unknown, too. An interval is less than another time if it
ends before that begins.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from nilometer.errors import NOWHERE
from nilometer.server.sensorthings import expressions as ex
from nilometer.server.sensorthings.functions import Length, as_time, call
from nilometer.server.sensorthings.geometry import Shape, shape_of
from nilometer.server.sensorthings.times import Span, moment

Look = Callable[[tuple[str, ...]], Any]
"""The value of a property."""


def evaluate(expression: ex.Expression, look: Look) -> Any:
    """The value of an expression; None is NULL or unknown."""
    match expression:
        case ex.Literal(value=value):
            return value
        case ex.Path(parts=parts):
            return look(parts)
        case ex.Call(name=name, arguments=arguments):
            return call(name, [evaluate(argument, look) for argument in arguments])
        case ex.Unary(name="not", operand=operand):
            value = evaluate(operand, look)
            return None if not isinstance(value, bool) else not value
        case ex.Unary(operand=operand):
            return arithmetic("sub", 0, evaluate(operand, look))
        case ex.Binary(name="and" | "or" as name, left=left, right=right):
            return _logical(name == "and", evaluate(left, look), lambda: evaluate(right, look))
        case ex.Binary(name=name, left=left, right=right):
            one, two = evaluate(left, look), evaluate(right, look)
            if name in ex.COMPARISONS:
                return compare(name, one, two, null_asked=_is_null(left) or _is_null(right))
            return arithmetic(name, one, two)
    raise AssertionError(expression)


def _is_null(expression: ex.Expression) -> bool:
    """Whether it is the word null. A constant without a place was a property that is missing (looking.py)."""
    return isinstance(expression, ex.Literal) and expression.value is None and expression.span != NOWHERE


def _logical(conjunction: bool, one: Any, two: Callable[[], Any]) -> bool | None:
    """Kleene's logic; whatever is no truth value is unknown."""
    if one is not conjunction and isinstance(one, bool):
        return not conjunction
    other = two()
    if other is not conjunction and isinstance(other, bool):
        return not conjunction
    return conjunction if isinstance(one, bool) and isinstance(other, bool) else None


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}


def compare(name: str, one: Any, two: Any, *, null_asked: bool = False) -> bool | None:
    """Compare two values; None if they cannot be compared. `null_asked`: one of them is the word null."""
    if one is None or two is None:
        if null_asked and name in ("eq", "ne"):
            return (one is two) == (name == "eq")
        return None
    if isinstance(one, Span) and isinstance(two, str):
        two = as_time(two)
    elif isinstance(two, Span) and isinstance(one, str):
        one = as_time(one)
    if isinstance(one, Span) and isinstance(two, Span):
        return _spans(name, one, two)
    if isinstance(one, Shape) or isinstance(two, Shape):
        first, second = shape_of(one), shape_of(two)
        if name not in ("eq", "ne") or first is None or second is None:
            return None
        return bool(first.equals(second)) == (name == "eq")
    for wanted in (bool, int | float, str, Length):
        if isinstance(one, wanted) and isinstance(two, wanted):
            if wanted is not bool and (isinstance(one, bool) or isinstance(two, bool)):
                return None
            if (isinstance(one, float) and math.isnan(one)) or (isinstance(two, float) and math.isnan(two)):
                return None
            return _OPERATORS[name](one, two)
    if isinstance(one, dict | list) and type(one) is type(two) and name in ("eq", "ne"):
        return _OPERATORS[name](one, two)
    return None


def _spans(name: str, one: Span, two: Span) -> bool:
    match name:
        case "eq":
            return one == two
        case "ne":
            return one != two
        case "lt":
            return one.end < two.start or (one.end == two.start and not (one.moment and two.moment))
        case "gt":
            return _spans("lt", two, one)
        case "le":
            return one.end <= two.end and one.start <= two.start
        case _:
            return one.start >= two.start and one.end >= two.end


def arithmetic(name: str, one: Any, two: Any) -> Any:
    """add, sub, mul, div, mod; of numbers, times and durations. NULL if that is not defined."""
    match name, one, two:
        case "add", Span(), Length(microseconds=length):
            return Span(one.start + length, one.end + length)
        case "add", Length(microseconds=length), Span():
            return Span(two.start + length, two.end + length)
        case "sub", Span(), Length(microseconds=length):
            return Span(one.start - length, one.end - length)
        case "sub", Span(), Span():
            return Length(one.start - two.start)
        case "add" | "sub", Length(), Length():
            sign = 1 if name == "add" else -1
            return Length(one.microseconds + sign * two.microseconds)
        case "sub", 0, Length():
            return Length(-two.microseconds)
    if not _number(one) or not _number(two):
        return None
    try:
        one, two = float(one), float(two)
        match name:
            case "add":
                found: float = one + two
            case "sub":
                found = one - two
            case "mul":
                found = one * two
            case "div":
                found = one / two
            case _:
                found = math.fmod(one, two)
    except (ZeroDivisionError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def order_key(value: Any) -> tuple[int, Any]:
    """A value for sorting: NULL first, then by type, then by value."""
    match value:
        case None:
            return 0, 0
        case bool():
            return 1, value
        case int() | float():
            return 2, value
        case Span():
            return 3, (value.start, value.end)
        case str():
            return 4, value
        case Length():
            return 5, value.microseconds
    return 6, str(value)


__all__ = ["Look", "arithmetic", "compare", "evaluate", "moment", "order_key"]
