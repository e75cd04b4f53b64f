"""The shared vocabulary: scalar types, columns, schemas and durations. Standard library only.

>>> schema = Schema((Column("R.depth", INT), Column("R.time", TIME)))
>>> str(schema)
'R.depth INT, R.time TIME'
>>> format_duration(900_000_000)
'15 MINUTES'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

INT_MINIMUM = -(2**63)
INT_MAXIMUM = 2**63 - 1

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)


class Kind(StrEnum):
    """The kinds of value; DURATION exists only inside expressions (`now - 15 MINUTES`)."""

    INT = "INT"
    FLOAT = "FLOAT"
    STRING = "STRING"
    BOOLEAN = "BOOLEAN"
    TIME = "TIME"
    DURATION = "DURATION"
    POINT = "POINT"
    LIST = "LIST"
    STRUCT = "STRUCT"
    VECTOR = "VECTOR"
    NULL = "NULL"


@dataclass(frozen=True, slots=True)
class Type:
    """A type. `width` is the width in bits on the wire and on motes; it does not change the type's meaning. `size` is
    the number of elements of a VECTOR."""

    kind: Kind
    width: int | None = None
    element: Type | None = None
    fields: tuple[Column, ...] = ()
    size: int | None = None

    def __post_init__(self) -> None:
        if (self.kind in (Kind.LIST, Kind.VECTOR)) != (self.element is not None):
            raise ValueError("a LIST or a VECTOR, and nothing else, has an element type")
        if (self.kind is Kind.VECTOR) != (self.size is not None):
            raise ValueError("a VECTOR, and only a VECTOR, has a size")
        if self.fields and self.kind is not Kind.STRUCT:
            raise ValueError("only a STRUCT has fields")

    @property
    def numeric(self) -> bool:
        """Whether arithmetic is defined on it."""
        return self.kind in (Kind.INT, Kind.FLOAT)

    @property
    def plain(self) -> Type:
        """The type without its wire width."""
        if self.width is None:
            return self
        return Type(self.kind, None, self.element, self.fields, self.size)

    def __str__(self) -> str:
        if self.kind is Kind.VECTOR:
            return f"{self.element}[{self.size}]"
        if self.element is not None:
            return f"LIST<{self.element}>"
        if self.kind is Kind.STRUCT:
            return "STRUCT<" + ", ".join(f"{field.name} {field.type}" for field in self.fields) + ">"
        return f"{self.kind}({self.width})" if self.width is not None else str(self.kind)


@dataclass(frozen=True, slots=True)
class Column:
    """A named, typed column, with a UCUM unit where one was declared."""

    name: str
    type: Type
    unit: str | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


INT = Type(Kind.INT)
FLOAT = Type(Kind.FLOAT)
STRING = Type(Kind.STRING)
BOOLEAN = Type(Kind.BOOLEAN)
TIME = Type(Kind.TIME)
DURATION = Type(Kind.DURATION)
POINT = Type(Kind.POINT)
NULL = Type(Kind.NULL)


def list_of(element: Type) -> Type:
    """LIST<element>."""
    return Type(Kind.LIST, element=element)


LONGEST_VECTOR = 65_536
"""The most elements of a vector."""


def vector_of(element: Type, size: int) -> Type:
    """FLOAT[size] or INT[size].

    >>> str(vector_of(FLOAT, 1024))
    'FLOAT[1024]'
    """
    return Type(Kind.VECTOR, element=element, size=size)


NESTED = (Kind.LIST, Kind.STRUCT, Kind.VECTOR)
"""The kinds that have parts. They have no order, so nothing sorts or groups by them."""


def struct_of(*fields: Column) -> Type:
    """STRUCT<fields>."""
    return Type(Kind.STRUCT, fields=fields)


@dataclass(frozen=True, slots=True)
class Schema:
    """An ordered set of uniquely named columns."""

    columns: tuple[Column, ...]
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The column names, in order."""

    def __post_init__(self) -> None:
        names = tuple([column.name for column in self.columns])
        if len(set(names)) != len(names):
            raise ValueError(f"a column name stands twice in ({self})")
        object.__setattr__(self, "names", names)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def __add__(self, other: Schema) -> Schema:
        return Schema(self.columns + other.columns)

    def __str__(self) -> str:
        return ", ".join(map(str, self.columns))


def qualified(alias: str, columns: Iterable[Column]) -> Schema:
    """The columns under an alias.

    >>> str(qualified("R", (Column("depth", INT),)))
    'R.depth INT'
    """
    return Schema(tuple(Column(f"{alias}.{c.name}", c.type, c.unit) for c in columns))


UNITS: dict[str, int] = {
    "MICROSECONDS": MICROSECOND,
    "MILLISECONDS": MILLISECOND,
    "SECONDS": SECOND,
    "MINUTES": MINUTE,
    "HOURS": HOUR,
    "DAYS": DAY,
}


@dataclass(frozen=True, slots=True)
class OwnWindow:
    """A window that each tuple carries itself: the value of `column`, in units of so many microseconds."""

    column: str
    unit: int

    def length(self, value: int | float | None) -> int | None:
        """The length in microseconds; NULL means no window at all."""
        if value is None or isinstance(value, int):
            return None if value is None else value * self.unit
        return round(min(max(value * self.unit, -(2.0**62)), 2.0**62))


def format_bytes(count: int) -> str:
    """
    >>> format_bytes(0), format_bytes(2_048), format_bytes(3_500_000)
    ('0 B', '2.0 kB', '3.5 MB')
    """
    for unit, size in (("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def format_duration(microseconds: int) -> str:
    """A duration in the largest unit that divides it, as the language spells it."""
    for name in ("DAYS", "HOURS", "MINUTES", "SECONDS", "MILLISECONDS", "MICROSECONDS"):
        unit = UNITS[name]
        if microseconds % unit == 0 and (microseconds != 0 or name == "SECONDS"):
            count = microseconds // unit
            return f"{count} {name.removesuffix('S') if abs(count) == 1 else name}"
    raise AssertionError("every duration is a whole number of microseconds")


def format_time(microseconds: int) -> str:
    """A TIME as ISO-8601 in UTC; times outside the years 1..9999 as bare microseconds."""
    try:
        text = (_NAIVE_EPOCH + timedelta(microseconds=microseconds)).isoformat()
    except OverflowError:
        return f"{microseconds} us"
    return (text.rstrip("0") if "." in text else text) + "Z"


def parse_time(text: str) -> int:
    """Microseconds since the epoch from ISO-8601 (no zone means UTC); raises ValueError."""
    text = text.strip()
    if ":" in text and text.endswith(("UTC", "GMT")):
        text = text[:-3].rstrip()
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def floor_to(value: int, step: int) -> int:
    """The greatest multiple of `step` at or below `value`."""
    return value // step * step


def ceil_to(value: int, step: int) -> int:
    """The smallest multiple of `step` at or above `value`."""
    return -(-value // step) * step
