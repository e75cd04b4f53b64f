"""Finds how a CSV file is written: encoding, delimiter, header, decimal mark, words for no value, lines before the header.

>>> dialect_of("ts;v\\n2026-01-01;3,5\\n2026-01-02;4,0\\n")
Dialect(delimiter=';', header=True, decimal=',', skip=0, encoding=None, nulls=())
>>> dialect_of("1767225600|17\\n1767225660|18\\n")
Dialect(delimiter='|', header=False, decimal=None, skip=0, encoding=None, nulls=())
"""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass, replace
from itertools import zip_longest

from nilometer.ingest.readers.lines import in_utf8
from nilometer.language.print_expressions import string

DELIMITERS = (",", ";", "\t", "|")
GUESSED = (",", ";", "\t")
"""The delimiters that the reader finds by itself."""
LOOKED_AT = 200
WINDOWS = "cp1252"
_WINDOWS_MARKS = frozenset("ÄÖÜäöüßÀÁÂÃÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕØÙÚÛàáâãåæçèéêëìíîïñòóôõøùúûŒœ°²³µ±·€£§–—’‘“”…½×")

_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?\d*,\d+")
_COMMA_BEHIND_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+")
_POINT_BEHIND_THOUSANDS = re.compile(r"[+-]?\d{1,3}((,\d{3})+\.\d+|(,\d{3}){2,})")
_ABSENT = ("na", "n/a", "#n/a", "-", "--", "none", "nil", "missing")
"""What programs write for a value that is not there, besides nothing, `null` and `NaN`."""
_NO_NUMBER = ("nan", "null", "inf", "-inf", "infinity", "-infinity")
"""What a column of numbers may have besides, without an option."""
_SEPARATOR = re.compile(r'"?sep=([,;\t|])"?', re.IGNORECASE)
"""The first line of a CSV file that Excel is told the delimiter of."""
_TIME = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*")


@dataclass(frozen=True)
class Dialect:
    """`skip` lines come before the header or the first row."""

    delimiter: str = ","
    header: bool = True
    decimal: str | None = None
    skip: int = 0
    encoding: str | None = None
    nulls: tuple[str, ...] = ()

    def options(self) -> dict[str, str]:
        """The options of FORMAT CSV that the reader does not find by itself."""
        found = {}
        if not self.header:
            found["HEADER"] = "OFF"
        if self.delimiter not in GUESSED or not self.header:
            found["DELIMITER"] = f"'{self.delimiter}'" if self.delimiter != "\t" else r"'\t'"
        if self.decimal is not None:
            found["DECIMAL"] = f"'{self.decimal}'"
        if self.nulls:
            texts = [string(null) for null in self.nulls]
            found["NULL"] = texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
        if self.skip:
            found["SKIP"] = str(self.skip)
        if self.encoding is not None:
            found["ENCODING"] = f"'{self.encoding}'"
        return found


def dialect_of_bytes(head: bytes) -> Dialect:
    """The dialect of a file that begins with these bytes."""
    encoding = None
    try:
        # The last character may be cut.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        encoding = WINDOWS if _is_windows(head) else None
    text = in_utf8(head, encoding).decode(errors="replace").lstrip("\ufeff")
    return replace(dialect_of(text), encoding=encoding)


def _is_windows(head: bytes) -> bool:
    """Whether bytes that are not UTF-8 read as text in the encoding of Western European Windows: letters and signs
    of units, and no byte that only a binary file or a damaged line has."""
    if b"\0" in head:
        return False
    odd = {mark for mark in head.decode(WINDOWS, errors="replace") if not mark.isascii()}
    return odd <= _WINDOWS_MARKS


def dialect_of(text: str) -> Dialect:
    """The dialect of the first lines of a file."""
    lines = text.splitlines()[: LOOKED_AT + 50]
    skip = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    said = _SEPARATOR.fullmatch(lines[skip]) if lines else None
    skip += said is not None
    body = [line for line in lines[skip:] if line.strip()][:LOOKED_AT]
    if not body:
        return Dialect()
    delimiter = said[1] if said is not None else max(DELIMITERS, key=lambda mark: _columns(body, mark))
    titles = _titles(body, delimiter)
    skip = next(n for n in range(skip, len(lines)) if lines[n] == body[titles]) if titles else skip
    body = body[titles:]
    rows = list(csv.reader(body, delimiter=delimiter))
    first = [field.strip() for field in rows[0]]
    header = _is_header(first, rows[1:])
    values = [field.strip() for row in rows[1:] for field in row]
    columns = list(zip_longest(*rows[1 if header else 0 :], fillvalue=""))
    return Dialect(delimiter, header, _decimal(delimiter, values), skip, nulls=_nulls(columns))


def _titles(lines: list[str], delimiter: str) -> int:
    """How many lines with fewer fields than the others come before a header, such as the title of a logger's plot."""
    common = _columns(lines, delimiter)
    rows = list(csv.reader(lines, delimiter=delimiter))
    begin = next((place for place, row in enumerate(rows) if len(row) >= common), 0)
    if not common or not begin or len(rows) != len(lines):
        return 0
    header = [field.strip() for field in rows[begin]]
    # Where only the header is shorter, as R writes it, the first row of values follows.
    return begin if not any(map(_is_value, header)) and _is_header(header, rows[begin + 1 :]) else 0


def _nulls(columns: list[tuple[str, ...]]) -> tuple[str, ...]:
    """The words for no value among numbers and times, as the file writes them."""
    found: dict[str, None] = {}
    for column in columns:
        fields = [field.strip() for field in column if field.strip()]
        words = [field for field in fields if field.lower() in _ABSENT]
        others = [field for field in fields if field.lower() not in _ABSENT]
        if others and all(_is_value(field) or field.lower() in _NO_NUMBER for field in others):
            found |= dict.fromkeys(words)
    return tuple(found)


def _decimal(delimiter: str, values: list[str]) -> str | None:
    """The decimal mark: a comma that is no delimiter, or the mark behind those between thousands. A single `1,234` may
    be either, so it says nothing."""
    if delimiter != "," and any(map(_COMMA.fullmatch, values)) and not _has_points(values):
        return ","
    if any(map(_COMMA_BEHIND_THOUSANDS.fullmatch, values)):
        return ","
    return "." if any(map(_POINT_BEHIND_THOUSANDS.fullmatch, values)) else None


def _is_header(first: list[str], rows: list[list[str]]) -> bool:
    """Whether the first line has names: no value in it looks like one, or a column of values has a name above it.
    (A name may be a number, such as that of a sensor.)"""
    likely = [_is_value(field) for field in first]
    if not any(likely):
        return True
    for place, value in enumerate(likely):
        below = [row[place].strip() for row in rows if len(row) > place and row[place].strip()]
        if not value and first[place] and below and all(map(_is_value, below)):
            return True
    return False


def _is_value(field: str) -> bool:
    return bool(_NUMBER.fullmatch(field) or _TIME.fullmatch(field))


def _columns(lines: list[str], delimiter: str) -> int:
    """How many columns most lines have with this delimiter; 0 if they do not agree."""
    counts = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
    common = max(set(counts), key=counts.count)
    return common if common > 1 and counts.count(common) * 10 >= len(counts) * 8 else 0


def _has_points(values: list[str]) -> bool:
    """Whether numbers with a decimal point are more frequent than those with a comma."""
    points = sum(bool(re.fullmatch(r"[+-]?\d*\.\d+", value)) for value in values)
    return points > sum(bool(_COMMA.fullmatch(value)) for value in values)
