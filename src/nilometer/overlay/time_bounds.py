"""Conditions on the times of two streams -> how much later the one may be than the other, in each direction.

    B.time - A.time <= 5 MINUTES AND A.time - B.time < 1 MINUTE        (WINDOW(A) = ... is the first form)

Peers join within such bounds, and expire rows by them. Unlike a band (operators/bands.py), a bound is the whole condition:
times are whole microseconds, so `<` is `<=` of one less.

>>> from nilometer.expressions import ColumnReference, Literal
>>> from nilometer.types import BOOLEAN, DURATION, TIME
>>> a, b = ColumnReference("A.time", TIME), ColumnReference("B.time", TIME)
>>> within = Call("<", (Call("-", (b, a), DURATION), Literal(5, DURATION)), BOOLEAN)
>>> later_by(within, {"A.time": 0, "B.time": 1})
((0, 1, 4),)
"""

from __future__ import annotations

from collections.abc import Mapping

from nilometer.expressions import Call, Expression
from nilometer.operators.bands import band_of

Later = tuple[int, int, int]
"""(i, j, width): the time of input j minus that of input i is at most width."""


def later_by(condition: Expression, times: Mapping[str, int]) -> tuple[Later, ...] | None:
    """The bounds that are the same as a condition; None if it says anything else. `times` are the inputs whose time each
    column is."""
    band = band_of(condition)
    if band is None or not {band.plus, band.minus} <= times.keys() or times[band.plus] == times[band.minus]:
        return None
    assert isinstance(condition, Call)
    strict = condition.function in ("<", ">")
    plus, minus = times[band.plus], times[band.minus]
    found: list[Later] = []
    if band.high is not None:
        found.append((minus, plus, int(band.high) - strict))
    if band.low is not None:
        found.append((plus, minus, -int(band.low) - strict))
    return tuple(found)
