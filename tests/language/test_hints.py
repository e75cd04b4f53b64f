"""Hints are true: whoever does what a hint says gets a text that parses."""

from __future__ import annotations

import inspect

import pytest

from nilometer.errors import QuerySyntaxError
from nilometer.language import mistakes, parse, parse_calls


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        ("equality is a single '='", "SELECT a FROM b WHERE a = 3"),
        ("write NOT, or != for 'not equal'", "SELECT a FROM b WHERE NOT a = 3 AND a != 4"),
        ("write 7 DAYS for a week", "SELECT a FROM b [RANGE 7 DAYS]"),
        ("time AT TIME ZONE 'Europe/Zurich'", "SELECT time AT TIME ZONE 'Europe/Zurich' FROM b"),
        ("write WINDOW = 5 MINUTES, or WINDOW(a, b) = 5 MINUTES", "SELECT * FROM a, b WINDOW = 5 MINUTES"),
        ("IS tests for NULL, TRUE and FALSE", "SELECT a IS NULL, a IS TRUE, a IS NOT FALSE FROM b"),
        ("or IS DISTINCT FROM", "SELECT a IS DISTINCT FROM 5 FROM b"),
        ("a length of time stands without quotes: 10 MINUTES", "SELECT a FROM b [RANGE 10 MINUTES]"),
        ("write CAST(x AS INT)", "SELECT CAST(x AS INT) FROM b"),
        ("write EXTRACT(hour FROM time)", "SELECT EXTRACT(hour FROM time) FROM b"),
        ("write position('a' IN kind), or strpos(kind, 'a')", "SELECT position('a' IN kind) FROM b"),
        ("write trim(BOTH 'x' FROM kind), or trim(kind, 'x')", "SELECT trim(BOTH 'x' FROM kind) FROM b"),
        ("INTERVAL '1 hour 30 minutes', or 90 MINUTES", "SELECT a + INTERVAL '1 hour 30 minutes' FROM b"),
        ("CASE WHEN ... THEN ... ends with END", "SELECT CASE WHEN a THEN 1 END FROM b"),
    ],
)
def test_a_hint_leads_to_a_text_that_parses(hint: str, text: str) -> None:
    assert hint in inspect.getsource(mistakes) + inspect.getsource(parse_calls)
    parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT substring(kind IN 2) FROM river",
        "SELECT COUNT(depth rain) FROM river [NOW]",
        "SELECT (depth rain) FROM river",
        "SELECT a FROM b WHERE c IN (1 2)",
    ],
)
def test_a_bracket_that_is_closed_is_not_called_open(text: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse(text)
    assert "is not closed" not in (caught.value.hint or "")
