"""Functions of numbers as Polars expressions; plan/scalars/numbers.py says what they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import polars as pl

from nilometer.expressions import Call, Literal, type_of
from nilometer.operators.evaluate.functions import Builder, of_floats
from nilometer.types import Kind

_FAR = 308
_HALF_AWAY = partial(pl.Expr.round, decimals=0, mode="half_away_from_zero")


def _digits(call: Call) -> int:
    """The constant number of decimals; 0 by default."""
    if len(call.arguments) == 1:
        return 0
    digits = call.arguments[1]
    assert isinstance(digits, Literal)
    return int(digits.value)


def _toward_zero(value: pl.Expr) -> pl.Expr:
    return pl.when(value < 0).then(value.ceil()).otherwise(value.floor())


def _decimals(whole: Callable[[pl.Expr], pl.Expr], wide: bool) -> Builder:
    """ROUND and TRUNC to a constant number of decimals, by powers of ten."""

    def build(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr:
        value, digits = operands[0], _digits(call)
        if type_of(call.arguments[0]).kind is not Kind.FLOAT:
            return value if digits >= 0 else rounded_integer(value, digits, up=wide).cast(pl.Int64)
        if digits == 0:
            return whole(value)
        if digits > _FAR:
            return value
        if digits < -_FAR:
            return pl.when(value.is_not_null()).then(0.0)
        power = float(10 ** abs(digits))
        scaled = value * power if digits > 0 else value / power
        result = whole(scaled) / power if digits > 0 else whole(scaled) * power
        return pl.when(scaled.is_finite()).then(result).otherwise(value)

    return build


def rounded_integer(value: pl.Expr, digits: int, up: bool) -> pl.Expr:
    """An INT to tens or hundreds, in 128 bits: the nearest (halves away from 0) if `up`, else toward 0."""
    wide = value.cast(pl.Int128)
    power = pl.lit(10 ** min(-digits, 20), dtype=pl.Int128)
    size = wide.abs()
    found = (size + power // 2 if up else size) // power * power
    return pl.when(wide < 0).then(pl.lit(0, dtype=pl.Int128) - found).otherwise(found)


def rounding_overflow(call: Call, operands: Sequence[pl.Expr]) -> pl.Expr | None:
    """Where ROUND of an INT does not fit; None if it always does."""
    if call.function != "round" or type_of(call.arguments[0]).kind is Kind.FLOAT or _digits(call) >= 0:
        return None
    found = rounded_integer(operands[0], _digits(call), up=True)
    return (found > pl.lit(2**63 - 1, dtype=pl.Int128)) | (found < pl.lit(-(2**63), dtype=pl.Int128))


NUMBERS: dict[str, Builder] = {
    "round": _decimals(_HALF_AWAY, wide=True),
    "trunc": _decimals(_toward_zero, wide=False),
    "cbrt": of_floats(np.cbrt),
    "log2": of_floats(np.log2),
    "asin": of_floats(np.arcsin),
    "acos": of_floats(np.arccos),
    "atan": of_floats(np.arctan),
    "atan2": of_floats(np.arctan2),
}
