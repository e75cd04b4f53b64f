"""`now` in a WHERE without a window: refused where it is the same for every tuple, and only there."""

from __future__ import annotations

import pytest

import nilometer
from nilometer.errors import BindError

SCHEMA = """
CREATE STREAM pushed (v INT, seen TIME) PUSHED;
CREATE STREAM sensed (v INT) SENSED EVERY 10 SECONDS;
CREATE TABLE t (v INT) STORED AT 't.csv';
"""


def bound(query: str) -> str:
    database = nilometer.connect()
    database.execute(SCHEMA)
    return database.sql(query).explain("logical")


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("SELECT v FROM pushed WHERE time > now - 1 HOUR", "true"),
        ("SELECT v FROM pushed WHERE v > 3 AND now - time <= INTERVAL '1' HOUR", "true"),
        ("SELECT v FROM pushed WHERE v > 3 OR time < now - 1 HOUR", "false"),
        ("SELECT v FROM pushed WHERE time = now", "true"),
        ("SELECT v FROM sensed WHERE time > now - 1 HOUR", "true"),
        ("SELECT v FROM sensed WHERE time >= now + 10 SECONDS", "false"),
        ("SELECT pushed.v FROM pushed, t WHERE pushed.v = t.v AND pushed.time > now - 1 DAY", "true"),
    ],
)
def test_refused(query: str, value: str) -> None:
    with pytest.raises(BindError, match=f"so this is {value} of every tuple") as caught:
        bound(query)
    assert "[RANGE" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT v FROM pushed WHERE now > '2026-01-01T00:00:00Z'",
        "SELECT v FROM pushed WHERE seen > now - 1 HOUR",
        "SELECT v, time - now AS after FROM sensed WHERE time > now + 5 SECONDS",
        "SELECT v FROM sensed WHERE time = now",
        "SELECT v FROM pushed [RANGE 1 DAY SLIDE 1 HOUR] WHERE time > now - 1 HOUR",
        "SELECT a.v FROM pushed a, pushed b WINDOW = 5 SECONDS WHERE a.time = now",
        "SELECT a.v FROM pushed a ASOF JOIN pushed b ON a.id = b.id WHERE b.time > now - 1 HOUR",
    ],
)
def test_kept(query: str) -> None:
    bound(query)
