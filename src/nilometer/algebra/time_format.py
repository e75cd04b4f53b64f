"""Time formats: 'YYYY-MM-DD HH24:MI' (as PostgreSQL's) or '%Y-%m-%d %H:%M' (as C's) -> their parts.

A part is a field or literal text. A format with a percent sign is read as C's, any other as PostgreSQL's. The
hosts turn the parts into text (`to_char`) or read text by them (`to_timestamp`).

>>> [part if isinstance(part, str) else part.name for part in parse_format("DD/MM/YYYY")]
['day', '/', 'month', '/', 'year']
>>> parse_format("%d/%m/%Y") == parse_format("DD/MM/YYYY")
True
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Field:
    """A number of at least `width` digits, or for width 0 a name; `case` is 'upper' or 'lower' for names."""

    name: str
    width: int = 0
    case: str = ""


Part = Field | str

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_NUMBERS = {
    "YYYY": ("year", 4),
    "YY": ("short_year", 2),
    "IYYY": ("iso_year", 4),
    "IW": ("week", 2),
    "Q": ("quarter", 1),
    "MM": ("month", 2),
    "DDD": ("day_of_year", 3),
    "DD": ("day", 2),
    "ID": ("day_of_week", 1),
    "HH24": ("hour", 2),
    "HH12": ("half_day_hour", 2),
    "HH": ("half_day_hour", 2),
    "MI": ("minute", 2),
    "SS": ("second", 2),
    "MS": ("millisecond", 3),
    "US": ("microsecond", 6),
}
_NAMES = {
    "MONTH": "month_name",
    "MON": "short_month",
    "DAY": "day_name",
    "DY": "short_day",
    "AM": "half_day",
    "PM": "half_day",
}

_PERCENT: dict[str, tuple[Part, ...]] = {
    "Y": (Field("year", 4),),
    "y": (Field("short_year", 2),),
    "G": (Field("iso_year", 4),),
    "V": (Field("week", 2),),
    "m": (Field("month", 2),),
    "d": (Field("day", 2),),
    "j": (Field("day_of_year", 3),),
    "u": (Field("day_of_week", 1),),
    "H": (Field("hour", 2),),
    "I": (Field("half_day_hour", 2),),
    "M": (Field("minute", 2),),
    "S": (Field("second", 2),),
    "f": (Field("microsecond", 6),),
    "b": (Field("short_month"),),
    "B": (Field("month_name"),),
    "a": (Field("short_day"),),
    "A": (Field("day_name"),),
    "p": (Field("half_day", case="upper"),),
    "F": (Field("year", 4), "-", Field("month", 2), "-", Field("day", 2)),
    "T": (Field("hour", 2), ":", Field("minute", 2), ":", Field("second", 2)),
    "%": ("%",),
}

_TEMPLATE = re.compile(r'"([^"]*)"|([A-Za-z]+[0-9]*)|([^A-Za-z"]+)')
_WORDS = sorted((*_NUMBERS, *_NAMES), key=len, reverse=True)


def parse_format(text: str) -> tuple[Part, ...]:
    """The parts of a format; a ValueError says what in it means nothing."""
    parts = _percent(text) if "%" in text else _template(text)
    if not parts:
        raise ValueError("the format is empty")
    return parts


def _percent(text: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    for literal, letter in re.findall(r"([^%]+)|%(.?)", text, re.DOTALL):
        if literal:
            parts.append(literal)
        elif letter not in _PERCENT:
            raise ValueError(f"'%{letter}' means nothing in a format")
        else:
            parts.extend(_PERCENT[letter])
    return tuple(parts)


def _template(text: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    position = 0
    while position < len(text):
        found = _TEMPLATE.match(text, position)
        if found is None:
            raise ValueError("a quotation mark in the format is not closed")
        position = found.end()
        if found[2] is None:
            parts.append(found[1] if found[3] is None else found[3])
        else:
            parts.extend(_words(found[2]))
    return tuple(part for part in parts if part != "")


def _words(letters: str) -> list[Part]:
    """A run of letters such as YYYYMMDD, longest words first; T and Z alone stand for themselves."""
    parts: list[Part] = []
    while letters:
        word = next((w for w in _WORDS if letters.upper().startswith(w)), None)
        if word is not None:
            written, letters = letters[: len(word)], letters[len(word) :]
            if word in _NUMBERS:
                parts.append(Field(*_NUMBERS[word]))
            else:
                case = "upper" if written.isupper() else "lower" if written.islower() else ""
                parts.append(Field(_NAMES[word], case=case))
        elif letters[0] in "TZ0123456789":
            parts.append(letters[0])
            letters = letters[1:]
        else:
            raise ValueError(f"'{letters}' means nothing in a format; text stands in double quotes")
    return parts


# ---- reading ---------------------------------------------------------------------------------------------------------

ISO = (
    r"^([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6})[0-9]*)?)?)?"
    r"(?: ?([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?))?$"
)
ISO_FIELDS: Final = ("year", "month", "day", "hour", "minute", "second", "microsecond", "zone")
"""The text that CAST reads as a TIME, and what its groups are; ISO-8601 with a blank or T, and UTC by default."""

_READ = {
    "year": "([0-9]{4})",
    "short_year": "([0-9]{2})",
    "month": "([0-9]{1,2})",
    "day": "([0-9]{1,2})",
    "day_of_year": "([0-9]{1,3})",
    "hour": "([0-9]{1,2})",
    "half_day_hour": "([0-9]{1,2})",
    "minute": "([0-9]{1,2})",
    "second": "([0-9]{1,2})",
    "millisecond": "([0-9]{1,3})",
    "microsecond": "([0-9]{1,6})",
    "short_month": "((?i:" + "|".join(name[:3] for name in MONTHS) + "))",
    "month_name": "((?i:" + "|".join(MONTHS) + "))",
    "half_day": "((?i:AM|PM))",
}


def reading_pattern(parts: tuple[Part, ...]) -> tuple[str, tuple[str, ...]]:
    """(regular expression, the field of each group) with which text is read; a ValueError if it cannot be."""
    pattern, fields = "^", []
    for part in parts:
        if isinstance(part, str):
            pattern += "".join(_escaped(character) for character in part)
            continue
        if part.name not in _READ:
            raise ValueError(f"a time cannot be read from its {part.name.replace('_', ' ')}")
        pattern += _READ[part.name]
        fields.append(part.name)
    if len(set(fields)) < len(fields):
        raise ValueError("a field stands twice in the format")
    if not {"year", "short_year"} & set(fields):
        raise ValueError("the format has no year")
    if ("half_day_hour" in fields) != ("half_day" in fields):
        raise ValueError("hours to 12 need AM or PM")
    return pattern + "$", tuple(fields)


def _escaped(character: str) -> str:
    """The character as both regular expression engines read it."""
    return re.escape(character) if character in _SPECIAL else character


_SPECIAL = frozenset("\\.+*?()|[]{}^$")
