"""CAST, value by value: FLOAT, BOOLEAN and STRING to INT, FLOAT, BOOLEAN and TIME.

A value that has no meaning in the type is an error of CAST, and NULL of TRY_CAST. Blanks around text do not
count. A FLOAT becomes the nearest INT, halves away from 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from nilometer.algebra.conversion_errors import cannot_cast
from nilometer.algebra.time_format import ISO, ISO_FIELDS
from nilometer.plan.scalars.times import BLANKS, microseconds_of
from nilometer.types import INT_MAXIMUM, INT_MINIMUM

WHOLE = re.compile(r"[+-]?[0-9]+")
DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
TRUE = ("true", "t", "yes", "y", "on", "1")
FALSE = ("false", "f", "no", "n", "off", "0")


def _to_int(value: Any) -> int | None:
    match value:
        case bool():
            return int(value)
        case float():
            nearest = math.floor(abs(value))
            nearest += abs(value) - nearest >= 0.5
            found = -nearest if value < 0 else nearest
        case _:
            text = value.strip(BLANKS)
            if not WHOLE.fullmatch(text) or len(text.lstrip("+-0")) > 19:
                return None
            found = int(text)
    return found if INT_MINIMUM <= found <= INT_MAXIMUM else None


def _to_float(value: Any) -> float | None:
    if isinstance(value, str):
        text = value.strip(BLANKS)
        if not DECIMAL.fullmatch(text):
            return None
        value = float(text)
    return float(value) if math.isfinite(value) else None


def _to_boolean(value: Any) -> bool | None:
    if not isinstance(value, str):
        return bool(value != 0)
    text = value.strip(BLANKS).lower()
    return True if text in TRUE else False if text in FALSE else None


def _to_time(value: str) -> int | None:
    found = re.fullmatch(ISO, value.strip(BLANKS))
    return None if found is None else microseconds_of(dict(zip(ISO_FIELDS, found.groups(), strict=True)))


TRY_CASTS: dict[str, Callable[[Any], Any]] = {
    "try_cast_int": _to_int,
    "try_cast_float": _to_float,
    "try_cast_boolean": _to_boolean,
    "try_cast_time": _to_time,
}


def _strict(name: str, cast: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        found = cast(value)
        if found is None:
            raise cannot_cast(value, name)
        return found

    return convert


CASTS: dict[str, Callable[[Any], Any]] = {
    name: _strict(name, TRY_CASTS[f"try_{name}"])
    for name in ("cast_int", "cast_float", "cast_boolean", "cast_time")
}
