"""The meaning of a count of a mote's 10-bit converter: a column's value is `low` + `step` x count.

If nothing is known about a column, an INT is the count itself and a FLOAT a sixteenth of it. Recorded
readings get the finest scale that covers all of them. Steps are powers of two and `low` is a multiple of the
step, so values are exact in a mote's `float`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nilometer.errors import DataError
from nilometer.types import Kind

RAW_MAXIMUM = 1023
"""The greatest count."""


@dataclass(frozen=True, slots=True)
class Converter:
    """The scale of a column. `whole`: the column is an INT."""

    low: float
    step: float
    whole: bool = False

    @property
    def high(self) -> float:
        """The greatest value."""
        return self.low + self.step * RAW_MAXIMUM

    def value(self, count: int) -> float:
        """The value that a count stands for."""
        return self.low + self.step * count

    def nearest(self, value: float) -> int:
        """The possible count whose value is nearest.

        >>> converter = Converter(-40.0, 0.125)
        >>> converter.value(converter.nearest(19.5376)), converter.nearest(1000.0)
        (19.5, 1023)
        """
        return min(max(math.floor((value - self.low) / self.step + 0.5), 0), RAW_MAXIMUM)

    def text(self, count: str) -> str:
        """The value in C, from a count that is a `uint16_t` there.

        >>> (
        ...     PLAIN[Kind.FLOAT].text("count"),
        ...     Converter(-5, 1, True).text("count"),
        ...     Converter(0, 64, True).text("count"),
        ... )
        ('count * 0.0625f', '(int16_t)count - 5', '(int32_t)count * 64')
        """
        mark = "" if self.whole else "f"
        short = max(-self.low, self.high, self.step * RAW_MAXIMUM) < 2**15
        wide = "" if not self.whole else "(int16_t)" if short else "(int32_t)"
        scaled = "" if self.step == 1 else f" * {self.step!r}{mark}"
        shifted = f" {'+' if self.low > 0 else '-'} {abs(self.low)!r}{mark}" if self.low else ""
        return f"{wide if scaled or shifted else ''}{count}{scaled}{shifted}"


PLAIN: Mapping[Kind, Converter] = {Kind.INT: Converter(0, 1, True), Kind.FLOAT: Converter(0.0, 1 / 16)}
"""The converters of columns about which nothing else is known."""

Converters = Mapping[tuple[str, str], Converter]
"""Converters by stream and column, both in lower case. A column that is missing has the plain converter of
its kind."""


def fitted(values: Iterable[float], kind: Kind, what: str) -> Converter:
    """The finest scale for these values; the plain one if it represents all of them.

    >>> fitted([18.9, 21.3], Kind.FLOAT, "temperature"), fitted([-5, 400], Kind.INT, "level")
    (Converter(low=18.8984375, step=0.00390625, whole=False), Converter(low=-5, step=1, whole=True))
    """
    known = [value for value in values if math.isfinite(value)]
    plain = PLAIN[kind]
    if all(
        plain.low <= value <= plain.high and value == plain.value(plain.nearest(value)) for value in known
    ):
        return plain
    least, most = min(known), max(known)
    step: float = 1 if kind is Kind.INT else 2.0**-10
    while math.floor(least / step) * step + step * RAW_MAXIMUM < most:
        step *= 2
    low = math.floor(least / step) * step
    if max(abs(low), abs(low + step * RAW_MAXIMUM)) / step >= 2**24 and kind is Kind.FLOAT:
        raise DataError(
            f"a mote's float cannot tell the values of {what} apart",
            detail=f"they are between {least:g} and {most:g}",
            hint="record them as a difference from a constant",
        )
    return Converter(low, step, kind is Kind.INT)
