"""The class of each reading, as a Polars expression over its value: what LIKENESS makes of it, NULL for none."""

from __future__ import annotations

import polars as pl

from nilometer.algebra.table_function import FunctionCall
from nilometer.algebra.table_functions import phenomena as words
from nilometer.types import SECOND, Kind, Type


def needs_order(call: FunctionCall) -> bool:
    """Whether the class depends on the source's reading before."""
    return call["LIKENESS"] in (words.RISING, words.FALLING)


def class_of(call: FunctionCall, value: pl.Expr, type_: Type) -> pl.Expr:
    """The class of a value by itself."""
    likeness = str(call["LIKENESS"])
    given = call[likeness]
    if type_.kind is Kind.FLOAT:
        value = pl.when(value.is_not_nan()).then(value)
    match likeness, given:
        case words.EQUAL, _:
            return value + 0.0 if type_.kind is Kind.FLOAT else value
        case words.BUCKET, float(width):
            start = call["FROM"]
            number = (value - (start if isinstance(start, float) else 0.0)) / width
            return number.floor().cast(pl.Int64, strict=False)
        case words.ABOVE, float(limit):
            return pl.when(value > limit).then(pl.lit("above"))
        case words.BELOW, float(limit):
            return pl.when(value < limit).then(pl.lit("below"))
        case words.BETWEEN, (float(low), float(high)):
            return pl.when((value >= low) & (value <= high)).then(pl.lit("between"))
        case _:
            return pl.when(value.is_not_null()).then(pl.lit("within"))


def class_of_change(
    call: FunctionCall, value: pl.Expr, before: pl.Expr, time: pl.Expr, then: pl.Expr
) -> pl.Expr:
    """The class of RISING and FALLING: of a value, the one before it, and their times."""
    given = call[str(call["LIKENESS"])]
    assert isinstance(given, tuple)
    amount, length = given
    assert isinstance(amount, float)
    assert isinstance(length, int)
    least = amount / (length / SECOND)
    rate = (value.cast(pl.Float64) - before.cast(pl.Float64)) / ((time - then) / SECOND)
    known = pl.when((time != then) & rate.is_not_nan()).then(rate)
    if call["LIKENESS"] == words.RISING:
        return pl.when(known >= least).then(pl.lit("rising"))
    return pl.when(known <= -least).then(pl.lit("falling"))
