"""Parses the type of a CAST, in the spellings of other databases: `INTEGER`, `DOUBLE PRECISION`, `VARCHAR(20)`.

>>> from nilometer.language.cursor import Cursor
>>> parse_cast_type(Cursor("double precision")), parse_cast_type(Cursor("DECIMAL(10, 2)"))
(('FLOAT', None), ('FLOAT', 2))
"""

from __future__ import annotations

from nilometer.errors import Span
from nilometer.language.cursor import INT, WORD, Cursor
from nilometer.language.vocabulary import TYPE_SPELLINGS

_SPELLINGS = TYPE_SPELLINGS | {
    **dict.fromkeys(("TINYINT", "INT2", "INT4", "INT8", "LONG"), "INT"),
    **dict.fromkeys(("FLOAT4", "FLOAT8", "DECIMAL", "NUMERIC"), "FLOAT"),
    **dict.fromkeys(("CHAR", "CHARACTER"), "STRING"),
    **dict.fromkeys(("DATETIME", "TIMESTAMPTZ"), "TIME"),
    "DATE": "DATE",
}

_SECOND_WORDS = {"DOUBLE": "PRECISION", "CHARACTER": "VARYING"}

_SIZED = ("DECIMAL", "NUMERIC", "VARCHAR", "CHAR", "CHARACTER", "STRING", "TEXT", "TIMESTAMP", "TIME")


def parse_cast_type(cursor: Cursor) -> tuple[str, int | None]:
    """(INT, FLOAT, STRING, BOOLEAN, TIME, POINT or DATE; the decimals, the length or None)."""
    token = cursor.token
    name = _SPELLINGS.get(token.key)
    if token.kind is not WORD or name is None:
        cursor.fail("a type")
    cursor.advance()
    second = _SECOND_WORDS.get(token.key)
    if second is not None and cursor.at(second):
        cursor.advance()
    size = _size(cursor, token.key, token.start)
    if name == "TIME" and cursor.at("WITH", "WITHOUT") and cursor.peek().key == "TIME":
        cursor.advance()
        cursor.advance()
        cursor.expect("ZONE")
    return name, size


def _size(cursor: Cursor, word: str, start: int) -> int | None:
    """What stands in parentheses: the decimals of DECIMAL(10, 2), the length of VARCHAR(20); a width means
    nothing."""
    if not cursor.at("("):
        return None
    cursor.advance()
    numbers = [_number(cursor)]
    if cursor.accept(","):
        numbers.append(_number(cursor))
    cursor.expect(")")
    if word not in _SIZED:
        return None
    if word in ("DECIMAL", "NUMERIC"):
        return numbers[1] if len(numbers) > 1 else 0
    if word in ("TIMESTAMP", "TIME") and numbers[0] not in (0, 3, 6):
        place = Span(start, cursor.span_from(start).end)
        cursor.refuse("a TIME has 0, 3 or 6 decimals", place, "write TIMESTAMP, TIMESTAMP(3) or TIMESTAMP(0)")
    return numbers[0]


def _number(cursor: Cursor) -> int:
    if cursor.token.kind is not INT:
        cursor.fail("a whole number")
    return int(cursor.advance().text)
