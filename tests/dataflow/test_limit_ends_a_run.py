"""LIMIT over a stream ends the run: the rest of the log is not read."""

from __future__ import annotations

import nilometer

SECOND = 1_000_000


def database(rows: int) -> nilometer.Database:
    found = nilometer.connect()
    found.execute("CREATE STREAM a (v INT) PUSHED;")
    found.append("a", [{"time": SECOND * at, "id": 1, "v": at} for at in range(rows)])
    return found


def test_the_rest_of_the_log_is_not_read() -> None:
    answer = database(100).sql("SELECT v FROM a WHERE v % 2 = 0 LIMIT 3").run("gateway", batch_rows=1)
    assert answer.rows == [(0,), (2,), (4,)]
    assert answer.ledgers["a"]["read"] == 6  # the row at 5 shows that no earlier one follows that at 4


def test_a_limit_inside_ends_nothing() -> None:
    query = "SELECT COUNT(*) AS n FROM (SELECT v FROM a LIMIT 3) [RANGE 10 SECONDS SLIDE 10 SECONDS] q"
    answer = database(30).sql(query).run("gateway", batch_rows=1)
    assert answer.ledgers["a"]["read"] == 30
