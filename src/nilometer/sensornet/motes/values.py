"""Values in a mote's C program: text, type, and the range that the type was chosen by.

The language's INT has 64 bits, an ATmega128 works on 8. So every integer carries the range that it can have, from the
converter's 10 bits upwards, and gets the narrowest type that holds it: an overflow cannot happen, or the query is
refused. FLOAT is the 4-byte `float` (avr-gcc has no other): 24 bits of mantissa. TIME is the number of an acquisition since
the start (4 bytes unsigned), which the gateway turns back into microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nilometer.errors import UnsupportedError


class CType(StrEnum):
    """The types of C that are used."""

    BYTE = "uint8_t"
    SHORT = "int16_t"
    LONG = "int32_t"
    NUMBER = "uint32_t"
    FLOAT = "float"

    @property
    def size(self) -> int:
        """In bytes."""
        return {CType.BYTE: 1, CType.SHORT: 2}.get(self, 4)

    @property
    def null(self) -> str:
        """The value that stands for NULL in a tuple: one that nothing else can have."""
        return _NULLS[self]


_NULLS = {
    CType.BYTE: "UINT8_MAX",
    CType.SHORT: "INT16_MIN",
    CType.LONG: "INT32_MIN",
    CType.NUMBER: "UINT32_MAX",
    CType.FLOAT: "NAN",
}


FLOAT_LIMIT = 3e38


@dataclass(frozen=True, slots=True)
class Field:
    """What is known of a column at compile time. `low` and `high` bound the value; a TIME has neither."""

    ctype: CType
    low: float = 0
    high: float = 0
    nullable: bool = False

    @property
    def is_time(self) -> bool:
        """Whether it is the number of an acquisition."""
        return self.ctype is CType.NUMBER

    def is_null(self, text: str) -> str:
        """The condition of C that a variable of this field holds NULL."""
        return f"{text} != {text}" if self.ctype is CType.FLOAT else f"{text} == {self.ctype.null}"


@dataclass(frozen=True, slots=True)
class Value:
    """An expression of C without side effects. `null` is the condition under which it is NULL (None: never)."""

    text: str
    field: Field
    null: str | None = None


TIME_FIELD = Field(CType.NUMBER)


def integer(low: int, high: int, what: str, *, nullable: bool = False, least: int = 2) -> Field:
    """The narrowest field for a range of integers, of at least so many bytes; the very lowest value is left to NULL."""
    for ctype, bits in ((CType.SHORT, 15), (CType.LONG, 31)):
        if -(2**bits) < low and high < 2**bits and ctype.size >= least:
            return Field(ctype, low, high, nullable)
    raise UnsupportedError(
        f"{what} may not fit a mote's 32 bits",
        detail=f"it can be between {low} and {high}",
        hint="compute it at the gateway, or with FLOAT: multiply by 1.0 first",
    )


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
    """The OR of conditions of C."""
    return " || ".join(conditions) if conditions else "0"
