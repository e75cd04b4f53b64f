"""The functions of $filter (OGC 18-088, table 25), as plain Python on one value of each argument.

A NULL argument gives NULL, and so does one of another type: a filter then leaves the entity out. Times are spans; a
function of a calendar field takes the start, in UTC.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import shapely

from nilometer.server.sensorthings.geometry import Shape, shape_of
from nilometer.server.sensorthings.times import Span, moment
from nilometer.types import DAY, INT_MAXIMUM, INT_MINIMUM

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LEAST, GREATEST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The years 1 and 9999."""


@dataclass(frozen=True, order=True)
class Length:
    """A duration, in microseconds."""

    microseconds: int


@dataclass(frozen=True)
class Function:
    """How many arguments it takes, of which types, and what it gives."""

    arguments: tuple[int, ...]
    types: tuple[type, ...]
    call: Callable[..., Any]


def _text(call: Callable[..., Any], *counts: int, types: tuple[type, ...] = (str, str)) -> Function:
    return Function(counts, types, call)


def _substring(text: str, start: int, length: int | None = None) -> str:
    begin = max(0, int(start))
    return text[begin:] if length is None else text[begin : begin + max(0, int(length))]


def _date(span: Span) -> datetime | None:
    try:
        return _EPOCH + timedelta(microseconds=span.start)
    except OverflowError:
        return None


def _part(pick: Callable[[datetime], Any]) -> Function:
    def call(span: Span) -> Any:
        found = _date(span)
        return None if found is None else pick(found)

    return Function((1,), (Span,), call)


def _rounded(value: float, how: Callable[[float], float]) -> float | None:
    if isinstance(value, int):
        return value
    if not math.isfinite(value):
        return None
    found = how(value)
    return found if INT_MINIMUM <= found <= INT_MAXIMUM else value


def _half_away(value: float) -> float:
    """OData rounds half away from zero, as Polars does."""
    whole = math.floor(abs(value))
    return math.copysign(whole + (abs(value) - whole >= 0.5), value)


def _shapes(call: Callable[[Any, Any], Any]) -> Function:
    return Function((2,), (Shape, Shape), call)


_PARTS = {
    "year": lambda at: at.year,
    "month": lambda at: at.month,
    "day": lambda at: at.day,
    "hour": lambda at: at.hour,
    "minute": lambda at: at.minute,
    "second": lambda at: at.second,
    "fractionalseconds": lambda at: at.microsecond / 1e6,
    "totaloffsetminutes": lambda _: 0,
}

FUNCTIONS: dict[str, Function] = {
    "substringof": _text(lambda part, text: part in text, 2),
    "contains": _text(lambda text, part: part in text, 2),
    "startswith": _text(lambda text, part: text.startswith(part), 2),
    "endswith": _text(lambda text, part: text.endswith(part), 2),
    "length": _text(len, 1),
    "indexof": _text(lambda text, part: text.find(part), 2),
    "substring": _text(_substring, 2, 3, types=(str, int, int)),
    "tolower": _text(str.lower, 1),
    "toupper": _text(str.upper, 1),
    "trim": _text(str.strip, 1),
    "concat": _text(lambda one, two: one + two, 2),
    **{name: _part(pick) for name, pick in _PARTS.items()},
    "date": Function((1,), (Span,), lambda span: moment(span.start // DAY * DAY)),
    "time": Function((1,), (Span,), lambda span: Length(span.start % DAY)),
    "now": Function((0,), (), lambda: moment((datetime.now(UTC) - _EPOCH) // timedelta(microseconds=1))),
    "mindatetime": Function((0,), (), lambda: moment(LEAST)),
    "maxdatetime": Function((0,), (), lambda: moment(GREATEST)),
    "round": Function((1,), (float,), lambda value: _rounded(value, _half_away)),
    "floor": Function((1,), (float,), lambda value: _rounded(value, math.floor)),
    "ceiling": Function((1,), (float,), lambda value: _rounded(value, math.ceil)),
    "geo.distance": _shapes(lambda one, two: float(shapely.distance(one, two))),
    "geo.length": Function((1,), (Shape,), lambda shape: float(shapely.length(shape))),
    "geo.intersects": _shapes(lambda one, two: bool(shapely.intersects(one, two))),
    "st_equals": _shapes(lambda one, two: bool(shapely.equals(one, two))),
    "st_disjoint": _shapes(lambda one, two: bool(shapely.disjoint(one, two))),
    "st_touches": _shapes(lambda one, two: bool(shapely.touches(one, two))),
    "st_within": _shapes(lambda one, two: bool(shapely.within(one, two))),
    "st_overlaps": _shapes(lambda one, two: bool(shapely.overlaps(one, two))),
    "st_crosses": _shapes(lambda one, two: bool(shapely.crosses(one, two))),
    "st_intersects": _shapes(lambda one, two: bool(shapely.intersects(one, two))),
    "st_contains": _shapes(lambda one, two: bool(shapely.contains(one, two))),
    "st_relate": Function(
        (3,),
        (Shape, Shape, str),
        lambda one, two, pattern: bool(shapely.relate_pattern(one, two, pattern)),
    ),
}


def call(name: str, values: list[Any]) -> Any:
    """The value of a function; NULL if an argument is NULL or of another type."""
    function = FUNCTIONS[name]
    given: list[Any] = []
    for value, wanted in zip(values, function.types, strict=False):
        if wanted is Shape:
            value = shape_of(value)
        elif wanted is Span and isinstance(value, str):
            value = as_time(value)
        if value is None or (wanted in (int, float) and isinstance(value, bool)):
            return None
        if not isinstance(value, (int, float) if wanted in (int, float) else wanted):
            return None
        given.append(value)
    try:
        return function.call(*given)
    except (ValueError, OverflowError, shapely.errors.ShapelyError):
        return None


def as_time(text: str) -> Span | None:
    """A text as a time; None if it is none."""
    from nilometer.server.sensorthings.times import parse

    try:
        return parse(text)
    except ValueError:
        return None
