"""Turns parameter values and amounts of time or rows into microseconds, row counts and literals.

A parameter is a Python value given beside the query (`db.sql(q, w="1 HOUR")`, `--set w='1 HOUR'`). A bare
number stands for seconds where a length of time is expected, as in the Fjords paper (section 4.1).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from nilometer.errors import ConfigurationError
from nilometer.expressions import Literal
from nilometer.types import (
    BOOLEAN,
    DURATION,
    FLOAT,
    INT,
    INT_MAXIMUM,
    INT_MINIMUM,
    NULL,
    SECOND,
    STRING,
    TIME,
    UNITS,
    Type,
    list_of,
    parse_time,
)

_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([A-Za-z]+)\s*\Z")
_PARTS = re.compile(r"([0-9]+(?:\.[0-9]*)?)\s*([A-Za-z]+)")

UNIT_SPELLINGS: dict[str, str] = {
    "ms": "MILLISECONDS",
    "millisecond": "MILLISECONDS",
    "s": "SECONDS",
    "sec": "SECONDS",
    "secs": "SECONDS",
    "second": "SECONDS",
    "min": "MINUTES",
    "mins": "MINUTES",
    "minute": "MINUTES",
    "h": "HOURS",
    "hr": "HOURS",
    "hrs": "HOURS",
    "hour": "HOURS",
    "d": "DAYS",
    "day": "DAYS",
    "us": "MICROSECONDS",
    "microsecond": "MICROSECONDS",
    "row": "ROWS",
}


def canonical_unit(word: str) -> str | None:
    """The upper-case plural of a unit in any spelling; None if the word is not a unit."""
    lower = word.lower()
    if lower.upper() in UNITS or lower == "rows":
        return lower.upper()
    return UNIT_SPELLINGS.get(lower)


@dataclass(frozen=True, slots=True)
class Length:
    """A length of time in microseconds, or a number of rows."""

    value: int
    rows: bool


def length_of(count: int | float, unit: str) -> Length:
    """A count and a canonical unit as a Length; raises ValueError with a message fit for the user."""
    if unit == "ROWS":
        if count != int(count):
            raise ValueError(f"a number of rows must be whole, not {count}")
        return Length(int(count), True)
    exact = count * UNITS[unit]
    if isinstance(exact, float):
        if not math.isfinite(exact):
            raise ValueError(f"{count} {unit} is not a length of time")
        exact = round(exact)
    if not INT_MINIMUM <= exact <= INT_MAXIMUM:
        raise ValueError(f"{count} {unit} is longer than time itself (64 bits of microseconds)")
    return Length(exact, False)


def parse_length(text: str) -> Length | None:
    """'1 HOUR', '10 rows', '500ms' -> Length; None if the text is not an amount."""
    found = _AMOUNT.match(text)
    if found is None:
        return None
    unit = canonical_unit(found[2])
    if unit is None:
        return None
    number = float(found[1]) if "." in found[1] else int(found[1])
    return length_of(number, unit)


def given_duration(text: str, what: str) -> int:
    """The microseconds of a length of time given beside a query, for example on a command line.

    The text is written as in the language. It may have several parts, and `m` means minutes, which in a query
    might be metres. `what` names the value in the error message.

    >>> given_duration("1h30m", "the delivery time") == given_duration("90 MINUTES", "it")
    True
    """
    parts = _PARTS.findall(text) if _PARTS.sub("", text).strip() == "" else []
    try:
        lengths = [parse_length(f"{count} {'min' if unit in ('m', 'M') else unit}") for count, unit in parts]
        total = sum(length.value for length in lengths if length is not None and not length.rows)
        if lengths and total <= INT_MAXIMUM and all(length and not length.rows for length in lengths):
            return total
        detail = f"found '{text}'"
    except ValueError as error:
        detail = str(error)
    raise ConfigurationError(
        f"{what} is a length of time",
        detail=detail,
        hint="write a number and a unit: '15 MINUTES', 90s, 1h30m, '2 days'",
    )


def parameter_length(value: Any) -> Length:
    """A parameter used as a window or duration; raises ValueError with a message fit for the user."""
    match value:
        case timedelta():
            return Length(value // timedelta(microseconds=1), False)
        case bool():
            raise ValueError(f"{value!r} is not a length of time")
        case int() | float():
            return length_of(value, "SECONDS")
        case str():
            parsed = parse_length(value)
            if parsed is None:
                raise ValueError(f"{value!r} is not a length of time, such as '1 HOUR'")
            return parsed
        case _:
            raise ValueError(f"{value!r} is not a length of time, such as '1 HOUR'")


def parameter_literal(value: Any) -> Literal:
    """A parameter used as a value: number, text, boolean, time, duration ('1 HOUR' too) or a list of them."""
    match value:
        case None:
            return Literal(None, NULL)
        case bool():
            return Literal(value, BOOLEAN)
        case int():
            if not INT_MINIMUM <= value <= INT_MAXIMUM:
                raise ValueError(f"{value} does not fit a 64-bit INT")
            return Literal(value, INT)
        case float():
            return Literal(None, FLOAT) if not math.isfinite(value) else Literal(value, FLOAT)
        case timedelta():
            return Literal(value // timedelta(microseconds=1), DURATION)
        case datetime():
            return Literal(parse_time(value.isoformat()), TIME)
        case str():
            length = parse_length(value)
            if length is not None and not length.rows:
                return Literal(length.value, DURATION)
            return Literal(value, STRING)
        case list() | tuple() | set() | frozenset():
            items = tuple(
                parameter_literal(item)
                for item in (sorted(value, key=repr) if isinstance(value, set | frozenset) else value)
            )
            element: Type = next((item.type for item in items if item.type != NULL), NULL)
            return Literal(items, list_of(element))
        case _:
            raise ValueError(f"a value of Python type {type(value).__name__} cannot be a parameter")


def seconds_to_duration(value: int | float) -> Literal:
    """A bare number beside a TIME, as that many seconds."""
    return Literal(round(value * SECOND), DURATION)
