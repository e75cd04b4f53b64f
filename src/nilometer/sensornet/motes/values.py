"""Values in a mote's C program: text, type, and the range that decided the type.

The language's INT has 64 bits; an ATmega128 works on 8. So every integer carries its possible range, from the
converter's 10 bits upwards, and gets the narrowest type that holds it. Either an overflow cannot happen, or
the query is refused. FLOAT is the 4-byte `float` (avr-gcc has no other), with 24 bits of mantissa. TIME is
the number of an acquisition since the start (4 bytes unsigned), which the gateway turns back into
microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nilometer.errors import UnsupportedError


class CType(StrEnum):
    """The C types in use."""

    BYTE = "uint8_t"
    SHORT = "int16_t"
    LONG = "int32_t"
    NUMBER = "uint32_t"
    FLOAT = "float"

    @property
    def size(self) -> int:
        """In bytes."""
        return {CType.BYTE: 1, CType.SHORT: 2}.get(self, 4)


MEDIUM = 3
"""Bytes of an `int32_t` of which a tuple keeps 24 bits. A member of a struct can be that short, a variable
cannot."""

_NULLS = {
    (CType.BYTE, 1): ("UINT8_MAX", 2**8 - 1),
    (CType.SHORT, 2): ("INT16_MIN", -(2**15)),
    (CType.LONG, MEDIUM): ("(-8388607L - 1)", -(2**23)),
    (CType.LONG, 4): ("INT32_MIN", -(2**31)),
    (CType.NUMBER, 4): ("UINT32_MAX", 2**32 - 1),
    (CType.FLOAT, 4): ("NAN", float("nan")),
}
"""The value that stands for NULL in a tuple, in C and in Python. No other value can equal it."""


FLOAT_LIMIT = 3e38


@dataclass(frozen=True, slots=True)
class Field:
    """The compile-time facts about a column. `low` and `high` bound the value; a TIME has neither. `narrow`:
    a tuple keeps `MEDIUM` bytes of it."""

    ctype: CType
    low: float = 0
    high: float = 0
    nullable: bool = False
    narrow: bool = False

    @property
    def size(self) -> int:
        """Its bytes in a tuple."""
        return MEDIUM if self.narrow else self.ctype.size

    @property
    def null(self) -> str:
        """The C value that stands for NULL in a tuple."""
        return _NULLS[self.ctype, self.size][0]

    @property
    def null_value(self) -> float:
        """The value that stands for NULL in a tuple."""
        return _NULLS[self.ctype, self.size][1]

    def member(self, name: str) -> str:
        """Its declaration in a packed struct."""
        return f"{self.ctype} {name}{f' : {8 * MEDIUM}' if self.narrow else ''};"

    @property
    def is_time(self) -> bool:
        """Whether it is the number of an acquisition."""
        return self.ctype is CType.NUMBER

    def is_null(self, text: str) -> str:
        """The C condition that a variable of this field holds NULL."""
        return f"{text} != {text}" if self.ctype is CType.FLOAT else f"{text} == {self.null}"


@dataclass(frozen=True, slots=True)
class Value:
    """A C expression without side effects. `null` is the condition under which it is NULL (None: never)."""

    text: str
    field: Field
    null: str | None = None


TIME_FIELD = Field(CType.NUMBER)


def integer(low: int, high: int, what: str, *, nullable: bool = False) -> Field:
    """The narrowest field for a range of integers that a mote computes with. The lowest value is reserved for
    NULL."""
    for ctype, bits in ((CType.SHORT, 15), (CType.LONG, 31)):
        if -(2**bits) < low and high < 2**bits:
            return Field(ctype, low, high, nullable)
    raise UnsupportedError(
        f"{what} may not fit a mote's 32 bits",
        detail=f"it can be between {low} and {high}",
        hint="compute it at the gateway, or with FLOAT: multiply by 1.0 first",
    )


def bounded(low: int, high: int, what: str, *, nullable: bool = False) -> Field:
    """The narrowest field in a tuple, for values that a mote only adds to and does not otherwise compute
    with."""
    if low >= 0 and high < 2**8 - 1:
        return Field(CType.BYTE, low, high, nullable)
    wide = integer(low, high, what, nullable=nullable)
    fits = wide.ctype is CType.LONG and low > -(2**23) and high < 2**23
    return Field(CType.LONG, low, high, nullable, narrow=True) if fits else wide


def real(low: float, high: float, what: str, *, nullable: bool = False) -> Field:
    """A float field for a range."""
    if low <= -FLOAT_LIMIT or high >= FLOAT_LIMIT:
        raise UnsupportedError(
            f"{what} may not fit a mote's float",
            detail=f"it can be between {low:g} and {high:g}",
            hint="compute it at the gateway",
        )
    return Field(CType.FLOAT, low, high, nullable)


def either(conditions: list[str]) -> str:
    """The OR of C conditions."""
    return " || ".join(conditions) if conditions else "0"
