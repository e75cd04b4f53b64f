"""The scalar functions as Polars expressions: (call, operands) -> expression.

The functions here are strict: a NULL operand gives NULL (except that LEAST and GREATEST leave NULLs out). INT
is Int64, so `+` and similar operations wrap around; overflow.py checks separately that they do not overflow.
FLOAT results may be infinite or NaN until `finite` turns them into NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
import polars as pl

from nilometer.algebra.grid import grid_back
from nilometer.algebra.places import EARTH_RADIUS
from nilometer.expressions import (
    Call,
    Case,
    ColumnReference,
    Expression,
    InList,
    Literal,
    type_of,
)
from nilometer.kernels.great_circle import central_angle
from nilometer.operators.frames import dtype
from nilometer.types import SECOND, Kind, Type, format_duration, format_time, parse_time

Builder = Callable[[Call, Sequence[pl.Expr]], pl.Expr]

_FLOAT = pl.Float64()
_FIRST = parse_time("0001-01-01")
_LAST = parse_time("9999-12-31T23:59:59.999999")


def finite(expression: Expression, value: pl.Expr) -> pl.Expr:
    """NULL where a computed FLOAT is infinite or NaN; columns and constants are finite already."""
    if type_of(expression).kind is not Kind.FLOAT or isinstance(expression, Case | InList):
        return value
    if not isinstance(expression, Call) or expression.function in _ALWAYS_FINITE:
        return value
    return pl.when(value.is_finite()).then(value)


def full_length(expression: Expression, value: pl.Expr) -> pl.Expr:
    """The value once per row, even if it is a constant. Polars gives length one to a column that numpy,
    Python or a hash table computed from a constant.
    """
    if isinstance(expression, ColumnReference):
        return value
    return pl.when(pl.int_range(pl.len()) >= 0).then(value)


def comparison(symbol: str, left: pl.Expr, right: pl.Expr, kind: Kind) -> pl.Expr:
    """Three-valued comparison; points are equal if both coordinates are."""
    if kind is Kind.POINT:
        equal = (_coordinate("x", left) == _coordinate("x", right)) & (
            _coordinate("y", left) == _coordinate("y", right)
        )
        return equal if symbol == "=" else equal.not_()
    return _COMPARE[symbol](left, right)


_COMPARE: dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "=": pl.Expr.eq,
    "!=": pl.Expr.ne,
    "<": pl.Expr.lt,
    "<=": pl.Expr.le,
    ">": pl.Expr.gt,
    ">=": pl.Expr.ge,
}


def _integral(call: Call) -> bool:
    """Whether this is integer arithmetic, as the call's type says."""
    return call.type.kind is not Kind.FLOAT


def _divide(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    left, right = operands
    if not _integral(call):
        return left / right
    quotient, remainder = left // right, left % right  # floored; NULL for a divisor of 0
    inexact = (remainder != 0) & ((left < 0) != (right < 0))
    return pl.when(inexact).then(quotient + 1).otherwise(quotient)


def _modulo(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    left, right = operands
    if not _integral(call):
        return _numpy(np.fmod, call, operands)
    remainder = left % right  # has the divisor's sign
    return (
        pl.when((remainder != 0) & ((remainder < 0) != (left < 0)))
        .then(remainder - right)
        .otherwise(remainder)
    )


def _power(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    return _numpy(np.power, call, [operand.cast(_FLOAT) for operand in operands])


def _numpy(function: Callable[..., Any], call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    """A numpy function of FLOAT columns. NULL is passed as NaN and becomes NULL again in `finite`."""

    def apply(columns: Sequence[pl.Series]) -> pl.Series:
        with np.errstate(all="ignore"):
            result = function(*(column.to_numpy() for column in columns))
        return pl.Series(np.atleast_1d(result), dtype=_FLOAT)

    # A missing value must not become a number: NaN ** 0 is 1.
    known = reduce(pl.Expr.and_, (operand.is_not_null() for operand in operands))
    inputs = [full_length(call.arguments[0], operands[0]), *operands[1:]]
    return pl.when(known).then(pl.map_batches(inputs, apply, return_dtype=_FLOAT, is_elementwise=True))


def of_floats(function: Callable[..., Any]) -> Builder:
    """A numpy function of one or more FLOATs."""
    return lambda call, operands: _numpy(function, call, [operand.cast(_FLOAT) for operand in operands])


def _of_float(method: Callable[[pl.Expr], pl.Expr]) -> Builder:
    return lambda _, operands: method(operands[0].cast(_FLOAT))


def _rounding(method: Callable[[pl.Expr], pl.Expr]) -> Builder:
    """CEIL and FLOOR. An INT is returned unchanged."""

    def build(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
        return method(operands[0]) if type_of(call.arguments[0]).kind is Kind.FLOAT else operands[0]

    return build


def _extreme(call: Call, operands: Sequence[pl.Expr], horizontal: Callable[..., pl.Expr]) -> pl.Expr:
    """The least or the greatest of the operands that are not NULL."""
    return horizontal(*(operand.cast(dtype(call.type)) for operand in operands))


def _like(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    text, pattern = operands
    constant = call.arguments[1]
    if isinstance(constant, Literal) and constant.value is not None:
        return text.str.contains(like_pattern(constant.value))
    escaped = pattern.str.escape_regex().str.replace_all("%", ".*", literal=True)
    return text.str.contains(pl.lit("(?s)^") + escaped.str.replace_all("_", ".", literal=True) + pl.lit("$"))


def like_pattern(pattern: str) -> str:
    """LIKE's pattern as an anchored regular expression: % is any text, _ any character, the rest itself.

    >>> like_pattern("gauge_%.")
    '(?s)^gauge..*\\\\.$'
    """
    parts = (
        ".*" if part == "%" else "." if part == "_" else pl.escape_regex(part)
        for part in re.split("([%_])", pattern)
    )
    return "(?s)^" + "".join(parts) + "$"


def _coordinate(name: str, point: pl.Expr) -> pl.Expr:
    return point.struct.field(name)


def _distance(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    left, right = operands
    across = _coordinate("x", left) - _coordinate("x", right)
    along = _coordinate("y", left) - _coordinate("y", right)
    return _numpy(np.hypot, call, [across, along])


def _point(_: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    x, y = operands
    return pl.when(x.is_not_null() & y.is_not_null()).then(pl.struct(x.alias("x"), y.alias("y")))


def _great_circle(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    coordinates = [_coordinate(name, point) for point in operands for name in ("x", "y")]
    return EARTH_RADIUS * _numpy(central_angle, call, coordinates)


def text_of(value: Any, type_: Type) -> str:
    """One value as text, as STRING(x) returns it."""
    match type_.kind:
        case Kind.TIME:
            return format_time(value)
        case Kind.DURATION:
            return format_duration(value)
        case Kind.BOOLEAN:
            return "TRUE" if value else "FALSE"
        case Kind.POINT:
            return f"POINT({value['x']!r}, {value['y']!r})"
        case Kind.FLOAT:
            return repr(float(value))
        case _:
            return str(value)


def _string(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    (argument,) = call.arguments
    type_ = type_of(argument)
    if type_.kind is Kind.STRING:
        return operands[0]
    if type_.kind is Kind.INT:
        return operands[0].cast(pl.String)
    if type_.kind is Kind.TIME:
        return _time_text(argument, operands[0])
    value = full_length(argument, operands[0])
    if type_.kind is Kind.FLOAT:
        # Polars writes a FLOAT as Python does, but for the exponents of small numbers.
        small = (value.abs() < 1e-4) & (value != 0.0)
        exact = by_distinct_value(pl.when(small).then(value), lambda number: text_of(number, type_))
        return pl.when(small).then(exact).otherwise(value.cast(pl.String))
    return by_distinct_value(value, lambda found: text_of(found, type_))


def _time_text(argument: Expression, value: pl.Expr) -> pl.Expr:
    """`format_time` of every value; times outside of the years 1 to 9999 are bare microseconds."""
    clock = full_length(argument, value).clip(_FIRST, _LAST).cast(pl.Datetime("us"))
    decimals = (value % SECOND).cast(pl.String).str.zfill(6).str.strip_chars_end("0")
    fraction = pl.when(value % SECOND == 0).then(pl.lit("")).otherwise(pl.lit(".") + decimals)
    text = pl.concat_str(clock.dt.to_string("%Y-%m-%dT%H:%M:%S"), fraction, pl.lit("Z"))
    inside = (value >= _FIRST) & (value <= _LAST)
    return pl.when(inside).then(text).otherwise(pl.concat_str(value.cast(pl.String), pl.lit(" us")))


def by_distinct_value(operand: pl.Expr, text: Callable[[Any], str]) -> pl.Expr:
    """The text of every value. Python formats it once per distinct value, not per row."""

    def apply(column: pl.Series) -> pl.Series:
        distinct = column.drop_nulls().unique()
        texts = pl.Series([text(value) for value in distinct.to_list()], dtype=pl.String)
        table = pl.DataFrame({"value": distinct, "text": texts})
        return pl.DataFrame({"value": column}).join(table, on="value", how="left", maintain_order="left")[
            "text"
        ]

    return operand.map_batches(apply, return_dtype=pl.String())


def _grid_back(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    """The edge of a grid some steps before: the ticks of few windows, so one call for each is enough."""
    described = [argument.value for argument in call.arguments[1:] if isinstance(argument, Literal)]

    def apply(column: pl.Series) -> pl.Series:
        edges = column.unique().drop_nulls()
        starts = [grid_back(edge, *described) for edge in edges]
        return column.replace_strict(
            edges, pl.Series(starts, dtype=pl.Int64), default=None, return_dtype=pl.Int64
        )

    return full_length(call.arguments[0], operands[0]).map_batches(apply, return_dtype=pl.Int64())


FUNCTIONS: dict[str, Builder] = {
    "+": lambda _, operands: operands[0] + operands[1],
    "-": lambda _, operands: operands[0] - operands[1],
    "*": lambda _, operands: operands[0] * operands[1],
    "/": _divide,
    "%": _modulo,
    "mod": _modulo,
    "^": _power,
    "power": _power,
    "negative": lambda _, operands: -operands[0],
    "float": lambda _, operands: operands[0].cast(_FLOAT),
    "abs": lambda _, operands: operands[0].abs(),
    "sqr": lambda _, operands: operands[0] * operands[0],
    "sqrt": _of_float(pl.Expr.sqrt),
    "ln": _of_float(pl.Expr.log),
    # Polars divides logarithms: log10(1000) would be 2.9999999999999996, and its FLOOR 2.
    "log10": lambda call, operands: _numpy(np.log10, call, [operands[0].cast(_FLOAT)]),
    "exp": _of_float(pl.Expr.exp),
    "sin": _of_float(pl.Expr.sin),
    "cos": _of_float(pl.Expr.cos),
    "tan": _of_float(pl.Expr.tan),
    "ceil": _rounding(pl.Expr.ceil),
    "floor": _rounding(pl.Expr.floor),
    "sign": lambda call, operands: operands[0].sign().cast(dtype(call.type)),
    "least": partial(_extreme, horizontal=pl.min_horizontal),
    "greatest": partial(_extreme, horizontal=pl.max_horizontal),
    "lower": lambda _, operands: operands[0].str.to_lowercase(),
    "upper": lambda _, operands: operands[0].str.to_uppercase(),
    "length": lambda _, operands: operands[0].str.len_chars().cast(pl.Int64),
    "concat": lambda _, operands: pl.concat_str(*operands),
    "like": _like,
    "distance": _distance,
    "great_circle": _great_circle,
    "point": _point,
    "x": lambda _, operands: _coordinate("x", operands[0]),
    "y": lambda _, operands: _coordinate("y", operands[0]),
    "string": _string,
    "grid_back": _grid_back,
}
"""The basic scalar functions, without the comparisons and those that evaluate.py compiles itself."""

NUMERIC = frozenset({"+", "-", "*", "/", "%", "mod", "^", "power", "negative"})
"""The functions whose operands are converted to FLOAT if their result is FLOAT."""

_ALWAYS_FINITE = frozenset(
    {
        "float",
        "abs",
        "ceil",
        "floor",
        "round",
        "sign",
        "least",
        "greatest",
        "x",
        "y",
        "coalesce",
        "sin",
        "cos",
    }
)
