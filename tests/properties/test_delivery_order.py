"""The order of delivery: what waits for complete ticks comes in the order of the ticks, as the reference gives it, however logs are cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import nilometer
from nilometer.plan.reference import same_answer
from nilometer.types import SECOND, floor_to
from properties.random_queries import BASE, SCHEMA, STREAMS, readings

LAGGED = {
    "of a pushed stream": "SELECT time, id, x, LAG(x), DELTA(v), RATE(v) FROM a",
    "of a sensed stream": "SELECT time, id, LAG(name, 3), DELTA(x) FROM s",
    "after WHERE": "SELECT time, id, v, DELTA(v) FROM a WHERE x > 0",
    "filtered above": "SELECT j.time, j.id, j.d FROM (SELECT time, id, DELTA(x) AS d FROM a) j WHERE j.d > 0",
}
"""Queries whose rows have a whole order: (tick, time, id, position)."""

WAITING = {
    "lag of a union": "SELECT time, id, x, LAG(x) FROM (SELECT time, id, x FROM a UNION ALL SELECT time, id, x FROM b) j",
    "sample": "SELECT time, id, x FROM a SAMPLE EVERY 2 SECONDS",
    "silent": "SELECT time, id, state FROM SILENT(a FOR 2 SECONDS)",
    "similar": "SELECT m.time, m.id FROM SIMILAR(a, x) [RANGE 4 SECONDS] m",
    "asof": "SELECT p.time, p.id, q.x FROM a p ASOF JOIN b q ON p.id = q.id",
    "window": "SELECT a.x FROM a [RANGE 3 SECONDS SLIDE 1 SECOND] a",
    "row window": "SELECT a.x FROM a [RANGE 3 ROWS] a",
    "aggregate": "SELECT id, COUNT(*) FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY id",
    "istream": "ISTREAM SELECT x FROM s [RANGE 4 SECONDS]",
    "dstream": "DSTREAM SELECT x FROM s [RANGE 4 SECONDS]",
    "windows joined": "SELECT p.x, q.x FROM a [RANGE 2 SECONDS SLIDE 1 SECOND] p, s [NOW] q WHERE p.id = q.id",
}
"""Queries whose rows come in the order of ticks, which is all that is said of their order."""

logs = st.fixed_dictionaries({name: readings(20) for name in STREAMS})
cuts = (None, 1, 3)
few = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=8)


def database_over(given_logs: dict[str, list[Any]]) -> nilometer.Database:
    database = nilometer.connect()
    database.execute(SCHEMA)
    for name, log in given_logs.items():
        for entry in log:
            if isinstance(entry, int):
                database.heartbeat(name, entry)
            else:
                database.append(name, [entry])
    return database


def ticks(sql: str, rows: Sequence[tuple[Any, ...]]) -> list[int]:
    """The first column, a time, as the tick that it belongs to."""
    step = 2 * SECOND if "FROM s" in sql else 1
    return [floor_to(row[0], step) for row in rows]


@pytest.mark.parametrize("host", ["gateway", "fjord"])
@pytest.mark.parametrize("sql", LAGGED.values(), ids=LAGGED)
@given(given_logs=logs)
@few
def test_lagged_rows_come_in_the_reference_order(sql: str, host: str, given_logs: dict[str, Any]) -> None:
    query = database_over(given_logs).sql(sql)
    for finished in (True, False):
        expected = query.run("reference", finished=finished).rows
        for cut in cuts:
            assert query.run(host, finished=finished, batch_rows=cut).rows == list(expected)


@pytest.mark.parametrize("host", ["gateway", "fjord"])
@pytest.mark.parametrize("sql", WAITING.values(), ids=WAITING)
@given(given_logs=logs)
@few
def test_what_waits_for_ticks_comes_in_their_order(sql: str, host: str, given_logs: dict[str, Any]) -> None:
    check_ticks(
        sql, lambda query, finished, cut: query.run(host, finished=finished, batch_rows=cut), given_logs
    )


def check_ticks(sql: str, run: Any, given_logs: dict[str, Any]) -> None:
    """Run by run: the reference's ticks, in its order, and so its rows."""
    note(sql)
    query = database_over(given_logs).sql(sql)
    for finished in (True, False):
        expected = query.run("reference", finished=finished).rows
        for cut in cuts:
            found = run(query, finished, cut).rows
            assert ticks(sql, found) == ticks(sql, expected), f"batches of {cut}"
            assert same_answer(expected, found) is None


def test_several_sensors_interleave() -> None:
    """Not source by source."""
    database = nilometer.connect()
    database.execute("CREATE STREAM river (depth INT) PUSHED;")
    for second in range(3):
        for sensor in (2, 1):
            row = {"time": BASE + second * SECOND, "id": sensor, "depth": 10 * sensor + second}
            database.append("river", [row])
    rows = database.sql("SELECT id, depth, DELTA(depth) FROM river").run("gateway").rows
    assert [row[:2] for row in rows] == [(1, 10), (2, 20), (1, 11), (2, 21), (1, 12), (2, 22)]
