"""What is said to the functions of other databases: each hint binds."""

from __future__ import annotations

import pytest

import nilometer
from nilometer.catalog import functions
from nilometer.plan.bind.foreign_names import FOREIGN_CONSTANTS, FOREIGN_FUNCTIONS

SCHEMA = "CREATE STREAM s (t TIME, a TIME, b TIME, x STRING, text STRING, sought STRING) PUSHED"


def test_no_function_of_ours_is_foreign() -> None:
    assert not set(FOREIGN_FUNCTIONS) & set(functions.names())


OF_QUERIES = {
    "it stands in GROUP BY: GROUP BY ROLLUP(site, id)",
    "it needs GROUP BY ROLLUP, CUBE or GROUPING SETS",
    "systems begin at another day: date_part('isodow', t) is 1 for Monday, date_part('dow', t) 0 for Sunday",
    "write FROM TUMBLE(s, 1 HOUR) GROUP BY id, window_start FILL(PREVIOUS), or RESAMPLE in FROM",
    "write TWA(x), the time-weighted average",
    "it needs OVER (ORDER BY x)",
    "every answer can be repeated, so nothing is left to chance",
    "there is no hash of a value",
    "text has the functions of docs/language.md",
    "lists come from ARRAY_AGG",
    "write FROM TUMBLE(s, 10 MINUTES) or HOP(s, 5 MINUTES, 10 MINUTES), and GROUP BY id, window_start",
    "write FROM SESSION(s, 10 MINUTES), and GROUP BY id, window_start",
    "write FROM s [RANGE 10 ROWS SLIDE 10 ROWS]",
    "name the columns that you want, or all but some: * EXCLUDE (depth)",
    "write TIMESTAMP '2026-01-31 12:00', or to_timestamp(text, 'YYYY-MM-DD')",
}
"""The hints that are about whole queries."""


@pytest.mark.parametrize(
    "hint", sorted({*FOREIGN_FUNCTIONS.values(), *FOREIGN_CONSTANTS.values()} - OF_QUERIES)
)
def test_a_hint_binds(hint: str) -> None:
    text = hint.removeprefix("write ").split(";")[0].split(": ")[-1].split(" or ")[0]
    text = text.replace("pattern", "'a'").replace("a || ', ' || b", "x || ', ' || text")
    text = text.replace("x - low", "1 - 0").replace("x / width", "1 / 2").replace("width", "2")
    text = text.removeprefix("GROUP BY ")
    text = text.replace("CASE x WHEN 1", "CASE x WHEN '1'").replace("{:.2f}', a, b", "{}', a, b")
    database = nilometer.connect()
    database.execute(SCHEMA)
    source = "s [RANGE 1 HOUR SLIDE 1 HOUR]" if "RANK" in text else "s"
    database.sql(f"SELECT {text} AS c FROM {source}").explain("logical")


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("SELECT datediff(a, b, x, x) FROM s", "subtract the times: (b - a) / 1 MINUTE"),
        ("SELECT t FROM s WHERE t > current_timestamp", "write now"),
        ("SELECT trimm(x) FROM s", "did you mean 'trim'?"),
    ],
)
def test_the_hint_is_given(query: str, hint: str) -> None:
    database = nilometer.connect()
    database.execute(SCHEMA)
    with pytest.raises(nilometer.NilometerError) as caught:
        database.sql(query).explain("logical")
    assert caught.value.hint == hint
