"""Conditions -> bands: how far two values of different inputs can be apart where the conditions hold.

    abs(a.x - b.y) <= 3        a.x between b.y - 3 and b.y + 3        a.x - 3 <= b.y and b.y < a.x + 3

are all the band -3 <= a.x - b.y <= 3. Each side of a band reads one input. Bands are necessary, not sufficient: the condition still decides, and what is
rounded when it is evaluated is the reader's care.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from nilometer.expressions import MIRROR, Call, Expression, Literal, columns_of, type_of, uses_now
from nilometer.types import Kind

MEASURED = (Kind.INT, Kind.FLOAT, Kind.TIME, Kind.DURATION)
"""The types whose values can be near each other."""

Side = tuple[int, Expression]
"""An input's number, and an expression over it alone."""


@dataclass(frozen=True)
class Band:
    """low <= left - right <= high wherever the conditions hold. `constants` is how large the numbers are that are added to them on the way, and with
    them what is rounded."""

    left: Side
    right: Side
    low: float
    high: float
    constants: float = 0.0


def bands_of(conditions: Iterable[Expression], inputs: Sequence[frozenset[str]]) -> tuple[Band, ...]:
    """The bands, bounded on both sides, that conditions put on the inputs with these columns."""
    found: dict[tuple[Side, Side], Band] = {}
    for condition in conditions:
        for band in _bands(condition, inputs):
            place = band.left, band.right
            before = found.get(place, Band(*place, -math.inf, math.inf))
            low, high = max(before.low, band.low), min(before.high, band.high)
            found[place] = Band(*place, low, high, before.constants + band.constants)
    return tuple(band for band in found.values() if math.isfinite(band.low) and math.isfinite(band.high))


def _bands(condition: Expression, inputs: Sequence[frozenset[str]]) -> Iterator[Band]:
    """One-sided bands too: several conditions may bound one together."""
    if not isinstance(condition, Call) or condition.function not in ("=", "<", "<=", ">", ">="):
        return
    left, right = condition.arguments
    function = condition.function
    if isinstance(left, Literal):
        left, right, function = right, left, MIRROR[function]
    if isinstance(left, Call) and left.function == "abs" and isinstance(right, Literal):
        if function in ("<", "<=", "=") and _is_number(right):
            yield from _band(_Sum.of(left.arguments[0]), -right.value, right.value, inputs)
        return
    difference = _Sum.of(left) - _Sum.of(right)
    low = -math.inf if function in ("<", "<=") else 0.0
    high = math.inf if function in (">", ">=") else 0.0
    yield from _band(difference, low, high, inputs)


def _band(difference: _Sum, low: float, high: float, inputs: Sequence[frozenset[str]]) -> Iterator[Band]:
    """low <= difference <= high, where that is between a value of one input and a value of another."""
    if sorted(difference.terms.values()) != [-1, 1] or not math.isfinite(difference.constant):
        return
    minus, plus = sorted(difference.terms, key=lambda term: difference.terms[term])
    left, right = _side(plus, inputs), _side(minus, inputs)
    if left is None or right is None or left[0] == right[0]:
        return
    low, high = low - difference.constant, high - difference.constant
    if left[0] < right[0]:
        yield Band(left, right, low, high, difference.constants)
    else:
        yield Band(right, left, -high, -low, difference.constants)


def _side(term: Expression, inputs: Sequence[frozenset[str]]) -> Side | None:
    columns = columns_of(term)
    if not columns or uses_now(term) or type_of(term).kind not in MEASURED:
        return None
    return next(((number, term) for number, own in enumerate(inputs) if columns <= own), None)


def _is_number(literal: Literal) -> bool:
    return isinstance(literal.value, int | float) and literal.type.kind in MEASURED


@dataclass(frozen=True)
class _Sum:
    """A sum of terms, each so many times, and of constants, which are `constants` large without their signs."""

    terms: dict[Expression, int] = field(default_factory=dict)
    constant: float = 0.0
    constants: float = 0.0

    @classmethod
    def of(cls, expression: Expression) -> _Sum:
        match expression:
            case Literal() if _is_number(expression):
                return cls({}, float(expression.value), abs(float(expression.value)))
            case Call("+", (left, right)):
                return cls.of(left) + cls.of(right)
            case Call("-", (left, right)):
                return cls.of(left) - cls.of(right)
            case Call("negative", (operand,)):
                return cls() - cls.of(operand)
            case Call("float", (operand,)):
                return cls.of(operand)
            case _:
                return cls({expression: 1})

    def __add__(self, other: _Sum) -> _Sum:
        return self._with(other, 1)

    def __sub__(self, other: _Sum) -> _Sum:
        return self._with(other, -1)

    def _with(self, other: _Sum, sign: int) -> _Sum:
        terms = dict(self.terms)
        for term, count in other.terms.items():
            terms[term] = terms.get(term, 0) + sign * count
        counted = {term: count for term, count in terms.items() if count}
        return _Sum(counted, self.constant + sign * other.constant, self.constants + other.constants)
