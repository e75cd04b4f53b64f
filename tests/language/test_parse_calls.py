"""Calls and constants that are written with words, and what they are another spelling of."""

from __future__ import annotations

import pytest

from nilometer.language import parse
from nilometer.language.parser import parse_expression
from nilometer.language.print_expressions import print_expression


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a::int::text", "CAST(CAST(a AS INT) AS STRING)"),
        ("-a::double precision", "-CAST(a AS FLOAT)"),
        ("-5::text", "CAST(-5 AS STRING)"),
        ("try_cast(a + 1 as numeric(12, 3))", "TRY_CAST(a + 1 AS DECIMAL(38, 3))"),
        ("cast(a as decimal)", "CAST(a AS FLOAT)"),
        ("cast(a as int(16))", "CAST(a AS INT)"),
        ("cast(a as timestamp(3) with time zone)", "CAST(a AS TIMESTAMP(3))"),
        ("cast(a as date)", "CAST(a AS DATE)"),
        ("extract(hour from t)", "date_part('hour', t)"),
        ("EXTRACT('DOW' FROM t - 1 hour)", "date_part('dow', t - 1 HOUR)"),
        ("substring(s from 2 for 3)", "substring(s, 2, 3)"),
        ("substring(s for 3)", "substring(s, 1, 3)"),
        ("position('a' || 'b' in s)", "strpos(s, 'a' || 'b')"),
        ("trim(s)", "trim(s)"),
        ("trim(both from s)", "trim(s)"),
        ("trim(trailing 'x' from s)", "rtrim(s, 'x')"),
        ("trim('x' from s)", "trim(s, 'x')"),
        ("trim(both)", "trim(both)"),
        ("trim(leading || s)", "trim(leading || s)"),
        ('"cast"(a)', '"cast"(a)'),
        ("t at time zone 'UTC' + 1 hour", "timezone('UTC', t) + 1 HOUR"),
        ("interval '1' hour", "1 HOUR"),
        ("interval 10 minutes", "10 MINUTES"),
        ("interval '1.5' days", "36 HOURS"),
        ("interval '1 hour 30 min'", "90 MINUTES"),
        ("interval '-2 weeks'", "-14 DAYS"),
        ("interval '01:30'", "90 MINUTES"),
        ("interval '0 s'", "0 SECONDS"),
        ("interval + date", "interval + date"),
        ("timestamp '2026-01-31 12:00+01:00'", "TIME '2026-01-31T11:00:00Z'"),
        ("date '2026-01-31'", "CAST(TIME '2026-01-31T00:00:00Z' AS DATE)"),
        ("a || b || c", "a || b || c"),
        ("a || (b || c)", "a || (b || c)"),
        ("a + 1 || b = c || d * 2", "a + 1 || b = c || d * 2"),
        ("a is not true and b is unknown", "a IS DISTINCT FROM TRUE AND b IS NULL"),
        ("a is distinct from b || 'x'", "a IS DISTINCT FROM b || 'x'"),
        ("not a is not distinct from b", "NOT a IS NOT DISTINCT FROM b"),
        ("a not ilike 'x%'", "a NOT ILIKE 'x%'"),
    ],
)
def test_spellings(text: str, canonical: str) -> None:
    tree = parse_expression(text)
    assert print_expression(tree) == canonical
    assert parse_expression(canonical) == tree


@pytest.mark.parametrize(
    "name",
    [
        "interval",
        "date",
        "timestamp",
        "cast",
        "extract",
        "position",
        "both",
        "zone",
        "ilike",
        "left",
        "right",
        "format",
    ],
)
def test_the_words_are_names_still(name: str) -> None:
    parse(
        f"SELECT {name}, s.{name}, {name} + 1 AS x FROM s WHERE {name} > 1 AND trim({name}) = 'a' GROUP BY {name}"
    )
    parse(f"SELECT a AS {name} FROM s")
