"""CAST as Polars expressions; plan/scalars/casts.py says what it means. A value that has no meaning is NULL.

`failures.py` turns such a NULL of CAST into an error; of TRY_CAST it is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from nilometer.expressions import Call, type_of
from nilometer.operators.evaluate.functions import Builder, full_length
from nilometer.operators.evaluate.times import BLANKS, read_iso_times
from nilometer.types import Kind

_WHOLE = "^[+-]?[0-9]+$"
_DECIMAL = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_TRUE = ("true", "t", "yes", "y", "on", "1")
_FALSE = ("false", "f", "no", "n", "off", "0")


def _stripped(text: pl.Expr) -> pl.Expr:
    return text.str.strip_chars(BLANKS)


def _to_int(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    value = operands[0]
    match type_of(call.arguments[0]).kind:
        case Kind.STRING:
            text = _stripped(value)
            digits = text.str.strip_prefix("+")
            return pl.when(text.str.contains(_WHOLE)).then(digits).cast(pl.Int64, strict=False)
        case Kind.FLOAT:
            nearest = value.round(0, mode="half_away_from_zero")
            fits = (nearest < 2.0**63) & (nearest >= -(2.0**63))
            return pl.when(fits).then(nearest).cast(pl.Int64)
        case _:
            return value.cast(pl.Int64)


def _to_float(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    value = operands[0]
    if type_of(call.arguments[0]).kind is not Kind.STRING:
        return value.cast(pl.Float64)
    text = _stripped(value)
    number = (
        pl.when(text.str.contains(_DECIMAL)).then(text.str.strip_prefix("+")).cast(pl.Float64, strict=False)
    )
    return pl.when(number.is_finite()).then(number)


def _to_boolean(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    value = operands[0]
    if type_of(call.arguments[0]).kind is not Kind.STRING:
        return value != 0
    word = _stripped(value).str.to_lowercase()
    table = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)
    return full_length(call.arguments[0], word).replace_strict(table, default=None, return_dtype=pl.Boolean())


def _to_time(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
    return read_iso_times(full_length(call.arguments[0], operands[0]))


_BUILDERS: dict[str, Callable[[Call, Sequence[pl.Expr]], pl.Expr]] = {
    "cast_int": _to_int,
    "cast_float": _to_float,
    "cast_boolean": _to_boolean,
    "cast_time": _to_time,
}

CASTS: dict[str, Builder] = _BUILDERS | {f"try_{name}": builder for name, builder in _BUILDERS.items()}
