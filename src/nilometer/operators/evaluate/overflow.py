"""Detects INT overflow cheaply: (expressions, frame) -> the rows that overflow.

The law: a row is found if and only if it needs the value and overflows in + - * / negative abs sqr. Interval arithmetic over the columns' least and greatest values, in Python's unbounded integers, shows
for nearly every frame that nothing can overflow. It takes one pass of min/max over the INT columns read. Only
if that fails are the operations repeated in 128 bits, row by row, under the conditions (CASE, AND, OR,
COALESCE) that lead to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import polars as pl

from nilometer.errors import DataError
from nilometer.expressions import Call, Case, ColumnReference, Expression, Literal, Now, type_of
from nilometer.operators.logic import TICK
from nilometer.types import INT_MAXIMUM, INT_MINIMUM, Kind

Range = tuple[int, int]

EVERYTHING: Range = (INT_MINIMUM, INT_MAXIMUM)
_WIDE = pl.Int128()
_INTEGRAL = (Kind.INT, Kind.TIME, Kind.DURATION)

_WIDENED: dict[str, Callable[[Sequence[pl.Expr]], pl.Expr]] = {
    "+": lambda operands: operands[0] + operands[1],
    "-": lambda operands: operands[0] - operands[1],
    "*": lambda operands: operands[0] * operands[1],
    "/": lambda operands: operands[0] // operands[1],
    "negative": lambda operands: pl.lit(0, dtype=_WIDE) - operands[0],
    "abs": lambda operands: operands[0].abs(),
    "sqr": lambda operands: operands[0] * operands[0],
}


@dataclass(frozen=True)
class Overflow:
    """One operation that may overflow. `happens` is true in the rows that need the value and overflow."""

    call: Call
    happens: pl.Expr

    @staticmethod
    def of(call: Call, operands: Sequence[pl.Expr], guards: tuple[pl.Expr, ...]) -> Overflow | None:
        """Returns the check for a call, or None if it cannot overflow."""
        if call.function not in _WIDENED or call.type.kind not in _INTEGRAL:
            return None
        wide = _WIDENED[call.function]([operand.cast(_WIDE) for operand in operands])
        outside = (wide < pl.lit(INT_MINIMUM, dtype=_WIDE)) | (wide > pl.lit(INT_MAXIMUM, dtype=_WIDE))
        return Overflow(call, reduce(pl.Expr.and_, guards, outside.fill_null(False)))


def overflowing(overflows: Sequence[Overflow], frame: pl.DataFrame) -> Iterator[tuple[pl.Series, DataError]]:
    """For each of the operations that overflows: the rows that need it and in which it does, and the error."""
    if not overflows or frame.height == 0:
        return
    ranges = _Ranges(frame)
    for overflow in overflows:
        low, high = ranges.unbounded(overflow.call)
        if low >= INT_MINIMUM and high <= INT_MAXIMUM:
            continue
        rows = frame.with_columns(overflow.happens.alias("@overflow")).get_column("@overflow")
        if rows.any():
            yield rows, overflow_in(str(overflow.call))


def overflow_in(what: str) -> DataError:
    """Returns the error for an INT that does not fit 64 bits."""
    return DataError(
        f"integer overflow in {what}",
        hint="INT has 64 bits: compute with FLOAT, for instance by multiplying by 1.0 first",
    )


class _Ranges:
    """Bounds of INT expressions over one frame. Each column is scanned once."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame
        self._columns: dict[str, Range] = {}

    def of(self, expression: Expression) -> Range:
        """Bounds of a value that has passed its own check."""
        low, high = self.unbounded(expression)
        return max(low, INT_MINIMUM), min(high, INT_MAXIMUM)

    def unbounded(self, expression: Expression) -> Range:
        """Bounds of the exact result, which may lie outside INT."""
        literal = _range_of_literal(expression)
        if literal is not None:
            return literal
        if type_of(expression).kind not in _INTEGRAL:
            return EVERYTHING
        match expression:
            case ColumnReference(name, _):
                return self._column(name)
            case Now():
                return self._column(TICK)
            case Case(_, values, otherwise):
                return _hull([self.of(value) for value in (*values, otherwise)])
            case Call(function, arguments) if all(type_of(a).kind in _INTEGRAL for a in arguments):
                return _apply(function, [self.of(argument) for argument in arguments])
            case _:
                return EVERYTHING

    def _column(self, name: str) -> Range:
        if name not in self._columns:
            column = self._frame.get_column(name)
            low, high = column.min(), column.max()
            self._columns[name] = (low, high) if isinstance(low, int) and isinstance(high, int) else (0, 0)
        return self._columns[name]


def _range_of_literal(expression: Expression) -> Range | None:
    match expression:
        case Literal(int(value), _):
            return value, value
        case Literal(None, _):
            return 0, 0
        case _:
            return None


def _hull(ranges: Sequence[Range]) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _apply(function: str, ranges: Sequence[Range]) -> Range:
    """The bounds of an operation's result from those of its operands (Moore's interval arithmetic)."""
    low, high = ranges[0]
    match function:
        case "+":
            return low + ranges[1][0], high + ranges[1][1]
        case "-":
            return low - ranges[1][1], high - ranges[1][0]
        case "*":
            corners = [a * b for a in ranges[0] for b in ranges[1]]
            return min(corners), max(corners)
        case "negative":
            return -high, -low
        case "abs":
            return 0, max(abs(low), abs(high))
        case "%" | "mod":
            return min(low, 0), max(high, 0)
        case "/":
            # Only the least INT divided by -1 does not fit.
            greatest = max(abs(low), abs(high))
            negates = ranges[1][0] <= -1 <= ranges[1][1]
            return max(-greatest, INT_MINIMUM), greatest if negates else min(greatest, INT_MAXIMUM)
        case "sqr":
            return 0, max(low * low, high * high)
        case "sign":
            return -1, 1
        case "least" | "greatest" | "coalesce":
            return _hull(ranges)
        case "ceil" | "floor" | "round":
            return low, high
        case _:
            return EVERYTHING
