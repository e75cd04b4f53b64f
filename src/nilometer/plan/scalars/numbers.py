"""Functions of numbers, value by value. A result that is not a finite number becomes NULL."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

FAR = 308
"""A FLOAT has no digits beyond this many decimals to either side."""


def _scaled(value: float, digits: int, whole: Callable[[float], float]) -> float:
    """Rounds the value times a power of ten: what is rounded is the FLOAT, not the decimals one writes."""
    if digits > FAR:
        return value
    if digits < -FAR:
        return 0.0
    power = float(10 ** abs(digits))
    scaled = value * power if digits >= 0 else value / power
    if not math.isfinite(scaled):
        return value
    rounded = whole(scaled)
    return rounded / power if digits >= 0 else rounded * power


def _half_away(value: float) -> float:
    if not math.isfinite(value):
        return value
    floor = math.floor(abs(value))
    return math.copysign(floor + 1 if abs(value) - floor >= 0.5 else floor, value)


def _toward_zero(value: float) -> float:
    return math.copysign(math.floor(abs(value)), value)


def round_(value: Any, digits: int = 0) -> Any:
    """To so many decimals, halves away from zero; negative decimals round to tens and hundreds."""
    if isinstance(value, float):
        return _scaled(value, digits, _half_away) if digits else _half_away(value)
    if digits >= 0:
        return value
    power: int = 10 ** min(-digits, 20)
    nearest = (abs(value) + power // 2) // power * power
    return nearest if value >= 0 else -nearest


def _trunc(value: Any, digits: int = 0) -> Any:
    """To so many decimals, toward zero."""
    if isinstance(value, float):
        return _scaled(value, digits, _toward_zero)
    if digits >= 0:
        return value
    power: int = 10 ** min(-digits, 20)
    rest = abs(value) % power
    return value - rest if value >= 0 else value + rest


NUMBERS: dict[str, Callable[..., Any]] = {
    "round": round_,
    "trunc": _trunc,
    "cbrt": math.cbrt,
    "log2": math.log2,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "atan2": math.atan2,
}
