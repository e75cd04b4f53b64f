"""Evaluates bound expressions on a row: the language's arithmetic in plain Python, one row at a time.

Every host's columnar arithmetic must equal this ("Types" in the language). NULL in, NULL out; AND, OR and NOT
are three-valued; INT/INT truncates toward zero; `%` has the dividend's sign; x/0 is NULL; an INT beyond 64
bits is an error; a FLOAT that is not a finite number is NULL. TIME and DURATION are ints of microseconds.

The names of the scalar functions are fixed here. They are the keys of `STRICT`, and the functions that
`_call` handles itself because they look at their NULLs (`and or not is_null is_distinct coalesce least
greatest`) or at a type (`string`). `plan/scalars` has those of text, times and numbers, and the casts.

>>> from nilometer.expressions import Call, ColumnReference, Literal
>>> from nilometer.types import INT
>>> evaluate(Call("/", (ColumnReference("R.depth", INT), Literal(2, INT)), INT), {"R.depth": -7}, None)
-3
>>> aggregate("median", False, [4, None, 1, 2, 3])
2.5
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from nilometer.algebra.conversion_errors import place_of
from nilometer.algebra.grid import grid_back
from nilometer.algebra.places import great_circle
from nilometer.errors import DataError, InternalError
from nilometer.expressions import Call, Case, ColumnReference, Expression, InList, Literal, Now, type_of
from nilometer.plan.scalars import CASTS, ELEMENTWISE, NUMBERS, TEXTS, TIMES, TRY_CASTS, VECTORS, by_element
from nilometer.plan.scalars.python_calls import call_python
from nilometer.types import INT_MAXIMUM, INT_MINIMUM, Kind, format_duration, format_time


def evaluate(expression: Expression, row: Mapping[str, Any], now: int | None) -> Any:
    """The value of a bound expression for one row; `now` is the tick of the evaluation (None: NOW is
    NULL)."""
    match expression:
        case Literal(value=value, type=type_):
            return float(value) if type_.kind is Kind.FLOAT and value is not None else value
        case ColumnReference(name=name):
            return row[name]
        case Now():
            return now
        case Case(conditions=conditions, values=values, otherwise=otherwise):
            # CASE evaluates only the arm that it takes, so that a user can guard against an overflow.
            for condition, value in zip(conditions, values, strict=True):
                if evaluate(condition, row, now) is True:
                    return evaluate(value, row, now)
            return evaluate(otherwise, row, now)
        case InList(operand=operand, items=items):
            return _in_list(evaluate(operand, row, now), [evaluate(item, row, now) for item in items])
        case Call():
            return _call(expression, row, now)
        case _:
            raise InternalError(f"no scalar expression: {expression}")


def _call(call: Call, row: Mapping[str, Any], now: int | None) -> Any:
    arguments = (
        evaluate(argument, row, now) for argument in call.arguments
    )  # one by one, as they are asked for
    match call.function:
        case "and":
            return _and(arguments)
        case "or":
            return _not(_and(_not(value) for value in arguments))
        case "not":
            return _not(next(arguments))
        case "is_null":
            return next(arguments) is None
        case "is_distinct":
            return next(arguments) != next(arguments)
        case "coalesce":
            return next((value for value in arguments if value is not None), None)
        case "least":
            return min((value for value in arguments if value is not None), default=None)
        case "greatest":
            return max((value for value in arguments if value is not None), default=None)
        case "string":
            return text_of(next(arguments), type_of(call.arguments[0]).kind)
        case "python":
            return call_python(call, list(arguments))
    function = STRICT.get(call.function)
    if call.type.kind is Kind.VECTOR:
        function = ELEMENTWISE.get(call.function, function)
    if function is None:
        raise InternalError(f"no function {call.function!r}")
    values = list(arguments)
    if any(value is None for value in values):
        return None
    if call.type.kind is Kind.FLOAT and call.function in _NUMERIC:
        # The type of the expression decides which arithmetic applies, not the Python type of the value.
        values = [float(value) for value in values]
    try:
        return _held(function(*values), call)
    except DataError as error:
        error.detail = error.detail or place_of(call)
        raise
    except (ValueError, OverflowError):  # Python's math raises these for "not a finite number"
        return None


def _held(result: Any, call: Call) -> Any:
    """The result in the call's type: an INT must fit 64 bits, a FLOAT that is not finite is NULL."""
    match result:
        case bool() | None:
            return result
        case tuple() if call.type.element is not None:
            of_one = replace(call, type=call.type.element)
            elements = tuple(_held(each, of_one) for each in result)
            return None if None in elements else elements
        case float() | int() if call.type.kind is Kind.FLOAT:
            return float(result) if math.isfinite(result) else None
        case int() if not INT_MINIMUM <= result <= INT_MAXIMUM:
            raise overflow(str(call), result)
    return result


def overflow(what: str, value: int) -> DataError:
    """The error of an INT that does not fit."""
    return DataError(
        f"integer overflow in {what}",
        detail=f"{value} does not fit 64 bits",
        hint="compute with FLOAT, for instance by multiplying by 1.0 first",
    )


def text_of(value: Any, kind: Kind) -> str | None:
    """A value as STRING."""
    match kind:
        case _ if value is None:
            return None
        case Kind.STRING:
            return str(value)
        case Kind.INT:
            return str(value)
        case Kind.FLOAT:
            return repr(float(value))
        case Kind.BOOLEAN:
            return "TRUE" if value else "FALSE"
        case Kind.TIME:
            return format_time(value)
        case Kind.DURATION:
            return format_duration(value)
        case Kind.POINT:
            return f"POINT({value[0]!r}, {value[1]!r})"
        case _:
            raise InternalError(f"no text of a {kind}")


# ---- three-valued logic ----------------------------------------------------------------------------------------------


def _not(value: Any) -> Any:
    return None if value is None else not value


def _and(values: Iterable[Any]) -> Any:
    """False as soon as one value is false. Later values are not evaluated, so they cannot overflow."""
    result: bool | None = True
    for value in values:
        if value is False:
            return False
        if value is None:
            result = None
    return result


def _in_list(value: Any, items: Sequence[Any]) -> Any:
    """SQL's IN, an OR of equalities. So nothing is in an empty list, not even NULL."""
    if not items:
        return False
    if value is None:
        return None
    if any(item is not None and value == item for item in items):
        return True
    return None if any(item is None for item in items) else False


# ---- functions: NULL in, NULL out ------------------------------------------------------------------------------------


def _divide(dividend: Any, divisor: Any) -> Any:
    if divisor == 0:
        return None
    if isinstance(dividend, float) or isinstance(divisor, float):
        return dividend / divisor
    quotient = abs(dividend) // abs(divisor)  # truncates toward zero, where Python's // would floor
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _remainder(dividend: Any, divisor: Any) -> Any:
    if divisor == 0:
        return None
    if isinstance(dividend, float) or isinstance(divisor, float):
        return math.fmod(dividend, divisor)
    rest = abs(dividend) % abs(divisor)  # the dividend's sign, where Python's % has the divisor's
    return rest if dividend >= 0 else -rest


def _ceil(value: Any) -> Any:
    return float(math.ceil(value)) if isinstance(value, float) else value


def _floor(value: Any) -> Any:
    return float(math.floor(value)) if isinstance(value, float) else value


def _sign(value: Any) -> int:
    return int(value > 0) - int(value < 0)


def _like(text: str, pattern: str) -> bool:
    """`%` matches any text, `_` any one character; there is no escape, and case matters.

    Each part between two % is searched for once, at its leftmost place: a later place could leave no more room
    for the rest. So no pattern takes longer than its length times the text's.

    >>> _like("gauge 5", "ga%e_5"), _like("a" * 10_000, "%a" * 100 + "%b")
    (True, False)
    """
    first, *parts = pattern.split("%")
    if not parts:
        return len(text) == len(first) and _stands_at(text, 0, first)
    *middle, last = parts
    end = len(text) - len(last)
    if end < len(first) or not _stands_at(text, 0, first) or not _stands_at(text, end, last):
        return False
    at = len(first)
    for part in middle:
        if "_" in part:
            places = range(at, end - len(part) + 1)
            found = next((place for place in places if _stands_at(text, place, part)), -1)
        else:
            found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _stands_at(text: str, place: int, part: str) -> bool:
    """Whether a part of a LIKE pattern without % matches the text at a place."""
    if "_" not in part:
        return text.startswith(part, place)
    return all(wanted in ("_", found) for wanted, found in zip(part, text[place:], strict=False))


_NUMERIC = frozenset(("+", "-", "*", "/", "%", "^", "mod", "power", "negative"))

STRICT: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _remainder,
    "mod": _remainder,
    "^": math.pow,
    "power": math.pow,
    "negative": operator.neg,
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "float": float,
    "abs": abs,
    "sqrt": math.sqrt,
    "sqr": lambda value: value * value,
    "ceil": _ceil,
    "floor": _floor,
    "sign": _sign,
    "ln": math.log,
    "log10": math.log10,
    "exp": math.exp,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "like": _like,
    "lower": str.lower,
    "upper": str.upper,
    "length": len,
    "concat": lambda *parts: "".join(parts),
    "distance": math.dist,
    "great_circle": great_circle,
    "grid_back": grid_back,
    "point": lambda x, y: (x, y),
    "x": operator.itemgetter(0),
    "y": operator.itemgetter(1),
    **NUMBERS,
    **TEXTS,
    **TIMES,
    **CASTS,
    **TRY_CASTS,
    **VECTORS,
}
"""The functions that give NULL for any NULL argument, by the name that a bound `Call` has."""


# ---- aggregates ------------------------------------------------------------------------------------------------------


def aggregate(function: str, distinct: bool, values: Sequence[Any], what: str = "a SUM") -> Any:
    """One aggregate over a bag of argument values, None for NULL. NULLs are left out.

    Of no values, COUNT is 0 and all others are NULL. (COUNT(*) has no argument: it is the number of rows,
    which the caller knows.) `what` names the aggregate in errors.
    """
    present = [value for value in values if value is not None]
    if distinct:
        present = list({_hashable(value): value for value in present}.values())
    if function == "count":
        return len(present)
    if function not in _AGGREGATES:
        raise InternalError(f"no aggregate {function!r}")
    if not present:
        return None
    if isinstance(present[0], tuple) and function in ("sum", "avg", "min", "max"):
        elements = by_element(lambda each: aggregate(function, False, each, what), present)
        return None if None in elements else elements
    try:
        result = _AGGREGATES[function](present)
    except (ValueError, OverflowError):  # a FLOAT too great to be held
        return None
    # Only the whole sum is checked, not the partial sums: whether it fits must not depend on the order.
    if function == "sum" and isinstance(result, int) and not INT_MINIMUM <= result <= INT_MAXIMUM:
        raise overflow(what, result)
    return None if isinstance(result, float) and not math.isfinite(result) else result


def _hashable(value: Any) -> Any:
    """A hashable form of lists and structs, by their parts."""
    if isinstance(value, Mapping):
        return tuple(_hashable(part) for part in value.values())
    return tuple(_hashable(part) for part in value) if isinstance(value, list | tuple) else value


def _sum(values: list[Any]) -> Any:
    if any(isinstance(value, float) for value in values):
        return math.fsum(values)
    return sum(values)


def _average(values: list[Any]) -> float:
    if any(isinstance(value, float) for value in values):
        return math.fsum(values) / len(values)
    return float(Fraction(sum(values), len(values)))


def _variance(values: list[Any]) -> float | None:
    """The sample variance, in exact fractions; NULL of a single value."""
    if len(values) == 1:
        return None
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    return float(sum((value - mean) ** 2 for value in exact) / (len(exact) - 1))


def _deviation(values: list[Any]) -> float | None:
    variance = _variance(values)
    return None if variance is None else math.sqrt(variance)


def _median(values: list[Any]) -> float:
    """The mean of the middle two values, which coincide for an odd number of values."""
    ordered = sorted(values)
    lower, upper = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return float((Fraction(lower) + Fraction(upper)) / 2)


_AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "sum": _sum,
    "avg": _average,
    "min": min,
    "max": max,
    "stdev": _deviation,
    "variance": _variance,
    "median": _median,
}
