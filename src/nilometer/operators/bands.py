"""Conditions -> bands: the bounds that a comparison between columns of two inputs puts on their difference.

    a.x < b.x + 5,   a.x - b.x <= 5,   abs(a.x - b.x) <= 5,   a.x BETWEEN b.x - 5 AND b.x + 5

A band is a *necessary* condition for finding candidates in sorted order. The condition itself must still be
tested. So `<` may be treated as `<=`, and a search among real numbers widens a bound by more than its
rounding error (`scale`). Only columns are compared: an expression over them might overflow in a row that no
pair needs.

>>> from nilometer.types import BOOLEAN, INT
>>> a, b = ColumnReference("a.x", INT), ColumnReference("b.x", INT)
>>> band_of(Call("<=", (Call("abs", (Call("-", (a, b), INT),), INT), Literal(5, INT)), BOOLEAN))
Band(plus='a.x', minus='b.x', low=-5, high=5, scale=5)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nilometer.expressions import MIRROR, Call, ColumnReference, Expression, Literal
from nilometer.types import Kind

WHOLE = (Kind.INT, Kind.TIME, Kind.DURATION)


@dataclass(frozen=True)
class Band:
    """low <= plus - minus <= high, of two columns; None means no bound on that side. `scale` is the size of
    the constants from which the bounds were computed: their rounding error is proportional to it.
    """

    plus: str
    minus: str
    low: float | None
    high: float | None
    scale: float

    def seen_from(self, column: str) -> Band:
        """The same band with this column as `plus`."""
        if column == self.plus:
            return self
        assert column == self.minus
        return Band(
            self.minus,
            self.plus,
            None if self.high is None else -self.high,
            None if self.low is None else -self.low,
            self.scale,
        )

    @property
    def closed(self) -> bool:
        """Whether it is bounded on both sides."""
        return self.low is not None and self.high is not None


@dataclass(frozen=True)
class _Difference:
    """plus - minus + constant. `scale` is the sum of the absolute values of all constants."""

    plus: str
    minus: str
    constant: float
    scale: float


def bands_of(conditions: Iterable[Expression]) -> tuple[Band, ...]:
    """The bands that the conditions imply together, one for each pair of columns."""
    found: dict[frozenset[str], Band] = {}
    for condition in conditions:
        band = band_of(condition)
        if band is None:
            continue
        pair = frozenset((band.plus, band.minus))
        found[pair] = _both(found[pair], band.seen_from(found[pair].plus)) if pair in found else band
    return tuple(found.values())


def band_of(condition: Expression) -> Band | None:
    """The band that a comparison implies, if it compares two columns up to a constant."""
    if not isinstance(condition, Call) or condition.function not in ("<", "<=", ">", ">="):
        return None
    symbol, (left, right) = condition.function, condition.arguments
    if isinstance(left, Literal):
        left, right, symbol = right, left, MIRROR[symbol]
    if isinstance(left, Call) and left.function == "abs" and isinstance(right, Literal):
        inside, width = _difference((left.arguments[0],), ()), right.value
        if inside is None or width is None or symbol not in ("<", "<="):
            return None
        low, high = -width - inside.constant, width - inside.constant
        return Band(inside.plus, inside.minus, low, high, inside.scale + abs(width))
    whole = _difference((left,), (right,))
    if whole is None:
        return None
    least = symbol in (">", ">=")
    bound = -whole.constant
    return Band(whole.plus, whole.minus, bound if least else None, None if least else bound, whole.scale)


def _both(one: Band, other: Band) -> Band:
    lows = [bound for bound in (one.low, other.low) if bound is not None]
    highs = [bound for bound in (one.high, other.high) if bound is not None]
    return Band(
        one.plus, one.minus, max(lows, default=None), min(highs, default=None), max(one.scale, other.scale)
    )


def _difference(added: tuple[Expression, ...], taken: tuple[Expression, ...]) -> _Difference | None:
    """The sum of `added` minus the sum of `taken`, if this is one column minus another plus a constant."""
    terms = [(one, 1) for one in added] + [(one, -1) for one in taken]
    columns: dict[int, ColumnReference] = {}
    constant: float = 0
    scale: float = 0
    while terms:
        term, sign = terms.pop()
        match term:
            case Literal(value) if isinstance(value, int | float) and not isinstance(value, bool):
                constant += sign * value
                scale += abs(value)
            case Call("+", (left, right)):
                terms += [(left, sign), (right, sign)]
            case Call("-", (left, right)):
                terms += [(left, sign), (right, -sign)]
            case Call("negative", (operand,)):
                terms.append((operand, -sign))
            case ColumnReference() if sign not in columns:
                columns[sign] = term
            case _:
                return None
    if len(columns) < 2:
        return None
    kinds = [columns[sign].type.kind for sign in (1, -1)]
    real = kinds == [Kind.FLOAT, Kind.FLOAT]
    if not real and not all(kind in WHOLE for kind in kinds):
        return None
    return _Difference(columns[1].name, columns[-1].name, constant, scale)
