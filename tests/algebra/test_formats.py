"""Formats of times and of text: what they mean, and what is said to the others."""

from __future__ import annotations

import pytest

from nilometer.algebra.text_format import parse_text_format
from nilometer.algebra.time_format import Field, parse_format, reading_pattern


def names(text: str) -> list[str]:
    return [part if isinstance(part, str) else part.name for part in parse_format(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("YYYYMMDD", ["year", "month", "day"]),
        ("yyyy-mm-dd", ["year", "-", "month", "-", "day"]),
        ('YYYY"MM"', ["year", "MM"]),
        ("HH24:MI:SS.MS", ["hour", ":", "minute", ":", "second", ".", "millisecond"]),
        ("YYYY-MM-DDTHH24Z", ["year", "-", "month", "-", "day", "T", "hour", "Z"]),
        ("IYYY-IW-ID", ["iso_year", "-", "week", "-", "day_of_week"]),
        ("%F %T%%", ["year", "-", "month", "-", "day", " ", "hour", ":", "minute", ":", "second", "%"]),
    ],
)
def test_time_formats(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_the_case_of_a_name_is_that_of_the_format() -> None:
    cases = [part.case for part in parse_format("MON Mon mon") if isinstance(part, Field)]
    assert cases == ["upper", "", "lower"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("%Q", "'%Q' means nothing"),
        ("YYYY xx", "'xx' means nothing"),
        ('"open', "not closed"),
        ("%", "'%' means"),
    ],
)
def test_refused_time_formats(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_format(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("MM-DD", "no year"),
        ("YYYY YYYY", "stands twice"),
        ("YYYY HH12", "need AM or PM"),
        ("YYYY Day", "cannot be read from its day name"),
    ],
)
def test_formats_that_cannot_be_read(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        reading_pattern(parse_format(text))


@pytest.mark.parametrize(
    ("text", "count", "reason"),
    [
        ("{", 1, "in pairs"),
        ("{} {}", 1, "more places than values"),
        ("{name}", 1, "means nothing"),
        ("{!r}", 1, "means nothing"),
        ("{:%Y}", 1, "means nothing"),
        ("{:99999}", 1, "means nothing"),
    ],
)
def test_refused_text_formats(text: str, count: int, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_text_format(text, count)
