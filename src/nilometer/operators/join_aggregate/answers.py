"""Partial aggregates of joined rows -> the aggregates themselves, by the rules of operators/aggregate_items.py."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from nilometer.errors import InternalError
from nilometer.expressions import Aggregate
from nilometer.operators.aggregate_items import fits
from nilometer.operators.evaluate.overflow import overflow_in
from nilometer.operators.frames import dtype

Answer = Callable[[pl.DataFrame], pl.Series]


def answered(name: str, aggregate: Aggregate, prefix: str, number: str | None, rows: str) -> Answer:
    """Returns the function that reads an aggregate from merged partials. A row of NULLs stands for no
    joined row.
    """
    target = dtype(aggregate.type)

    def answer(partials: pl.DataFrame) -> pl.Series:
        if number is None:
            return partials.get_column(rows).fill_null(0).cast(target).alias(name)
        values = partials.select(_value(aggregate.function, prefix, number, partials.columns)).to_series()
        if values.dtype == pl.Int128() and not fits(values):
            raise overflow_in(str(aggregate))
        if values.dtype.is_float():
            values = pl.select(pl.when(values.is_finite()).then(values)).to_series()
        return values.cast(target).alias(name)

    return answer


def _value(function: str, prefix: str, number: str, columns: list[str]) -> pl.Expr:
    count = pl.col(f"{prefix}count{number}")
    whole = pl.col(f"{prefix}whole{number}")
    real = f"{prefix}sum{number}.high" in columns
    total = pl.col(f"{prefix}sum{number}.high") + pl.col(f"{prefix}sum{number}.low") if real else whole
    match function:
        case "count":
            return count.fill_null(0)
        case "sum":
            return pl.when(count > 0).then(total)
        case "avg":
            return pl.when(count > 0).then(total.cast(pl.Float64) / count)
        case "min" | "max":
            return pl.when(count > 0).then(pl.col(f"{prefix}{function}{number}"))
        case "variance" | "stdev":
            n, squares = pl.col(f"{prefix}moments{number}.n"), pl.col(f"{prefix}moments{number}.squares")
            variance = pl.when(n > 1).then(squares / (n - 1))
            return variance.sqrt() if function == "stdev" else variance
    raise InternalError(f"no answer of {function}")
