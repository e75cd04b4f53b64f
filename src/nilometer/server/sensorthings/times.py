"""Moments and intervals of SensorThings: ISO-8601 texts, `start/end` for an interval, as microseconds.

>>> parse("2026-03-01T06:00:00Z"), parse("2026-03-01T06:00:00Z/2026-03-01T07:00:00Z")
(Span(start=1772344800000000, end=1772344800000000), Span(start=1772344800000000, end=1772348400000000))
>>> str(parse("2026-03-01T06:00:00+01:00"))
'2026-03-01T05:00:00Z'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from nilometer.types import DAY, HOUR, MINUTE, SECOND, format_time, parse_time

TEXT = r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+ -]\d\d:?\d\d)?"
"""A moment. A plus that was not encoded in a URL arrives as a blank."""
_DURATION = re.compile(
    r"(-)?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Span:
    """From start to end; a moment is a span of no length."""

    start: int
    end: int

    @property
    def moment(self) -> bool:
        """Whether it is a moment."""
        return self.start == self.end

    def __str__(self) -> str:
        return (
            format_time(self.start) if self.moment else f"{format_time(self.start)}/{format_time(self.end)}"
        )


def moment(microseconds: int) -> Span:
    """A moment."""
    return Span(microseconds, microseconds)


@lru_cache(maxsize=4_096)
def parse(text: str) -> Span:
    """The moment or interval. Raises ValueError. An Observation's time is asked for twice: checked, and then used."""
    first, slash, last = text.strip().partition("/")
    start = _instant(first)
    end = _instant(last) if slash else start
    if end < start:
        raise ValueError("an interval ends before it starts")
    return Span(start, end)


def _instant(text: str) -> int:
    plain = re.sub(r"(\.\d{6})\d+", r"\1", text.strip())
    plain = re.sub(r" (\d\d:?\d\d)$", r"+\1", plain)
    return parse_time(plain)


def duration(text: str) -> int:
    """Microseconds of an ISO-8601 duration of fixed length. Raises ValueError.

    >>> duration("P1DT2H"), duration("-PT0.5S")
    (93600000000, -500000)
    """
    found = _DURATION.fullmatch(text.strip())
    if found is None or not any(found.groups()[1:]):
        raise ValueError(
            "a duration is written P1D, PT2H30M or PT0.5S; months and years have no fixed length"
        )
    weeks, days, hours, minutes = (int(found[group] or 0) for group in (2, 3, 4, 5))
    seconds = round(float(found[6] or 0) * SECOND)
    whole = (7 * weeks + days) * DAY + hours * HOUR + minutes * MINUTE + seconds
    return -whole if found[1] else whole
