"""Detects values that cannot be given: (expressions, frame) -> the rows that have none.

CAST of text that is no number, a date that begins before time itself, seconds that do not fit a TIME. As with
overflows, only a row that needs the value can fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import polars as pl

from nilometer.algebra.conversion_errors import cannot_cast, no_such_time, place_of
from nilometer.errors import DataError
from nilometer.expressions import CASTS, Call
from nilometer.operators.evaluate.numbers import rounding_overflow
from nilometer.operators.evaluate.overflow import overflow_in
from nilometer.operators.evaluate.texts import constant
from nilometer.operators.evaluate.vectors import overflows

_FAR = 2**62


@dataclass(frozen=True)
class Failure:
    """A call that may fail. `happens` is true in the rows that need its value and have none; `operand` is what
    it was made from."""

    call: Call
    happens: pl.Expr
    operand: pl.Expr

    def failing(self, frame: pl.DataFrame) -> Iterator[tuple[pl.Series, DataError]]:
        """If the call fails in a row: the rows in which it does, and the error of the first."""
        if frame.height == 0:
            return
        columns = frame.with_columns(self.happens.alias("@fails"), self.operand.alias("@operand"))
        fails = columns.get_column("@fails")
        if fails.any():
            error = self._error(columns.get_column("@operand").filter(fails)[0])
            error.detail = place_of(self.call)
            yield fails, error

    def _error(self, value: object) -> DataError:
        match self.call.function:
            case cast if cast in CASTS:
                return cannot_cast(value, cast)
            case "to_timestamp":
                return no_such_time(value, constant(self.call, 1))
            case _:
                return overflow_in(str(self.call))


def failure_of(
    call: Call, operands: Sequence[pl.Expr], value: pl.Expr, guards: tuple[pl.Expr, ...]
) -> Failure | None:
    """The check for a call whose value is given, or None if it cannot fail."""
    operand = operands[0]
    outside = overflows(call, operands)
    if outside is not None:
        return Failure(call, reduce(pl.Expr.and_, guards, outside.fill_null(False)), operand)
    match call.function:
        case name if name in CASTS or name == "to_timestamp":
            happens = value.is_null() & operand.is_not_null()
        case "date_trunc" | "date_bin":
            operand = operands[1]
            happens = value > operand  # it has wrapped around
        case "add_months":
            back = int(constant(call, 1)) < 0
            happens = value > operand if back else value < operand  # it has wrapped around
        case "timezone" | "to_utc":
            operand = operands[1 if call.function == "timezone" else 0]
            happens = ((operand > _FAR) & (value < 0)) | ((operand < -_FAR) & (value > 0))
        case "round":
            overflow = rounding_overflow(call, operands)
            if overflow is None:
                return None
            happens = overflow
        case _:
            return None
    return Failure(call, reduce(pl.Expr.and_, guards, happens.fill_null(False)), operand)
