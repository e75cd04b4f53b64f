"""Expressions over the columns of a part of a stream's log, as Polars expressions: the same as evaluate.py, for millions
of rows. An expression that is not known here is evaluated row by row.

>>> from nilometer.server.sensorthings.expressions import parse
>>> time_bounds(parse("phenomenonTime ge 2026-03-01T00:00:00Z and result gt 5"), ("phenomenonTime",))
(1772323200000000, None)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from nilometer.errors import NOWHERE
from nilometer.server.sensorthings import expressions as ex
from nilometer.server.sensorthings.functions import Length, call
from nilometer.server.sensorthings.times import Span
from nilometer.types import INT_MAXIMUM, INT_MINIMUM

NUMBER, TIME, TEXT, TRUTH, LENGTH, NULL = "number", "time", "text", "truth", "length", "null"


@dataclass(frozen=True)
class Value:
    """A column or a constant: its type, its expression, and for a time its end. `missing`: where it is NULL. `keys`: some
    rows have values of other types, and it is sorted by these."""

    type: str
    expr: pl.Expr
    end: pl.Expr | None = None
    missing: pl.Expr | None = None
    keys: tuple[pl.Expr, ...] = ()

    @property
    def is_null(self) -> pl.Expr:
        """Where it is NULL."""
        return self.expr.is_null() if self.missing is None else self.missing


Columns = Mapping[str, Value]


class _UnknownError(Exception):
    """The expression has something that is not known here."""


def condition(expression: ex.Expression, columns: Columns) -> pl.Expr | None:
    """The rows for which an expression holds; None if it must be evaluated row by row."""
    try:
        value = _value(expression, columns)
    except _UnknownError:
        return None
    if value.type == NULL:
        return pl.lit(False)
    return value.expr if value.type == TRUTH else pl.lit(False)


def key(expression: ex.Expression, columns: Columns) -> list[pl.Expr] | None:
    """What to sort by; None if it must be evaluated row by row."""
    try:
        value = _value(expression, columns)
    except _UnknownError:
        return None
    if value.keys:
        return list(value.keys)
    return [value.expr] if value.end is None else [value.expr, value.end]


def time_bounds(expression: ex.Expression, paths: tuple[str, ...]) -> tuple[int | None, int | None]:
    """From the first time on, up to but not including the second: what lies outside cannot hold."""
    low: int | None = None
    high: int | None = None
    match expression:
        case ex.Binary(name="and", left=left, right=right):
            for part in (left, right):
                least, most = time_bounds(part, paths)
                low = least if low is None else low if least is None else max(low, least)
                high = most if high is None else high if most is None else min(high, most)
        case ex.Binary(name=name, left=ex.Path(parts=(path,)), right=ex.Literal(value=Span() as at)) if (
            path in paths
        ):
            low, high = _bounds(name, at)
        case ex.Binary(name=name, left=ex.Literal(value=Span() as at), right=ex.Path(parts=(path,))) if (
            path in paths
        ):
            turned = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge"}
            low, high = _bounds(turned.get(name, name), at)
    return low, high


def _bounds(name: str, at: Span) -> tuple[int | None, int | None]:
    match name:
        case "eq":
            return at.start, at.start + 1
        case "gt":
            return at.end, None
        case "ge":
            return at.start, None
        case "lt" | "le":
            return None, at.start + 1
    return None, None


# ---- values ----------------------------------------------------------------------------------------------------------


def _value(expression: ex.Expression, columns: Columns) -> Value:
    match expression:
        case ex.Literal(value=None, span=span) if span == NOWHERE:
            return Value(
                NUMBER, pl.lit(None, dtype=pl.Float64)
            )  # a property that is missing, not the word null
        case ex.Literal(value=value):
            return _constant(value)
        case ex.Path(parts=(name,)) if name in columns:
            return columns[name]
        case ex.Unary(name="not", operand=operand):
            return Value(TRUTH, ~_truth(operand, columns))
        case ex.Unary(operand=operand):
            value = _value(operand, columns)
            if value.type != NUMBER:
                raise _UnknownError
            return Value(NUMBER, -value.expr.cast(pl.Float64))
        case ex.Binary(name="and", left=left, right=right):
            return Value(TRUTH, _truth(left, columns) & _truth(right, columns))
        case ex.Binary(name="or", left=left, right=right):
            return Value(TRUTH, _truth(left, columns) | _truth(right, columns))
        case ex.Binary(name=name, left=left, right=right) if name in ex.COMPARISONS:
            return Value(TRUTH, _compared(name, _value(left, columns), _value(right, columns)))
        case ex.Binary(name=name, left=left, right=right):
            return _calculated(name, _value(left, columns), _value(right, columns))
        case ex.Call(name=name, arguments=arguments):
            return _called(name, [_value(argument, columns) for argument in arguments])
    raise _UnknownError


def _constant(value: Any) -> Value:
    match value:
        case None:
            return Value(NULL, pl.lit(None))
        case bool():
            return Value(TRUTH, pl.lit(value))
        case int() if INT_MINIMUM <= value <= INT_MAXIMUM:
            return Value(NUMBER, pl.lit(value, dtype=pl.Int64))
        case float():
            return Value(NUMBER, pl.lit(value, dtype=pl.Float64))
        case str():
            return Value(TEXT, pl.lit(value, dtype=pl.String))
        case Span():
            return Value(TIME, pl.lit(value.start, dtype=pl.Int64), pl.lit(value.end, dtype=pl.Int64))
        case Length():
            return Value(LENGTH, pl.lit(value.microseconds, dtype=pl.Int64))
    raise _UnknownError


def _truth(expression: ex.Expression, columns: Columns) -> pl.Expr:
    value = _value(expression, columns)
    if value.type == TRUTH:
        return value.expr
    if value.type == NULL:
        return pl.lit(None, dtype=pl.Boolean)
    raise _UnknownError


_COMPARED: dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "eq": lambda one, two: one == two,
    "ne": lambda one, two: one != two,
    "gt": lambda one, two: one > two,
    "ge": lambda one, two: one >= two,
    "lt": lambda one, two: one < two,
    "le": lambda one, two: one <= two,
}


def _compared(name: str, one: Value, two: Value) -> pl.Expr:
    if NULL in (one.type, two.type):
        other = two if one.type == NULL else one
        if name not in ("eq", "ne"):
            return pl.lit(None, dtype=pl.Boolean)
        missing = pl.lit(True) if other.type == NULL else other.is_null
        return missing if name == "eq" else ~missing
    if one.type == TIME and two.type == TIME:
        return _spans(name, one, two)
    if one.type != two.type:
        if {one.type, two.type} == {TIME, TEXT} or one.keys or two.keys:
            raise _UnknownError  # a text may be a time; a row may have a value of another type
        return pl.lit(None, dtype=pl.Boolean)
    return _COMPARED[name](one.expr, two.expr)


def _spans(name: str, one: Value, two: Value) -> pl.Expr:
    assert one.end is not None
    assert two.end is not None
    match name:
        case "eq":
            return (one.expr == two.expr) & (one.end == two.end)
        case "ne":
            return (one.expr != two.expr) | (one.end != two.end)
        case "lt":
            moments = (one.expr == one.end) & (two.expr == two.end)
            return (one.end < two.expr) | ((one.end == two.expr) & ~moments)
        case "gt":
            return _spans("lt", two, one)
        case "le":
            return (one.end <= two.end) & (one.expr <= two.expr)
    return (one.expr >= two.expr) & (one.end >= two.end)


def _calculated(name: str, one: Value, two: Value) -> Value:
    if one.type == NUMBER and two.type == NUMBER and name != "mod":
        left, right = one.expr.cast(pl.Float64), two.expr.cast(pl.Float64)
        found = {"add": left + right, "sub": left - right, "mul": left * right, "div": left / right}[name]
        return Value(NUMBER, pl.when(found.is_finite()).then(found))
    if one.type == TIME and two.type == LENGTH and one.end is not None and name in ("add", "sub"):
        shift = two.expr if name == "add" else -two.expr
        return Value(TIME, one.expr + shift, one.end + shift)
    if one.type == TIME and two.type == TIME and name == "sub":
        return Value(LENGTH, one.expr - two.expr)
    raise _UnknownError


_PARTS = ("year", "month", "day", "hour", "minute", "second")


def _called(name: str, values: list[Value]) -> Value:
    types = [value.type for value in values]
    if not values:
        return _constant(call(name, []))
    first = values[0].expr
    if name in _PARTS and types == [TIME]:
        return Value(NUMBER, getattr(first.cast(pl.Datetime("us")).dt, name)().cast(pl.Int64))
    if name in ("floor", "ceiling") and types == [NUMBER]:
        return Value(NUMBER, first.ceil() if name == "ceiling" else first.floor())
    if types == [TEXT, TEXT]:
        two = values[1].expr
        match name:
            case "startswith":
                return Value(TRUTH, first.str.starts_with(two))
            case "endswith":
                return Value(TRUTH, first.str.ends_with(two))
            case "contains":
                return Value(TRUTH, first.str.contains(two, literal=True))
            case "substringof":
                return Value(TRUTH, two.str.contains(first, literal=True))
    raise _UnknownError
