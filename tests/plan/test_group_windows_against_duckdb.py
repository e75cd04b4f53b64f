"""DuckDB judges TUMBLE, HOP, SESSION and queries over whole streams: over finite data, both hosts answer as it does.

Readings come out of order, within DELAY, so none is late. DuckDB computes windows from the times in plain SQL.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nilometer
from nilometer.plan.reference import same_answer

SECOND = 1_000_000
DELAY = 7

HOPS = """WITH h AS (SELECT id, v, (t - 3000000) // {slide} * {slide} + 3000000 - k * {slide} AS s, t FROM a,
  generate_series(0, {size} // {slide}) AS g(k)) SELECT id, s, s + {size}, COUNT(*), MAX(v) FROM h
  WHERE s <= t AND t < s + {size} GROUP BY id, s"""
RUNS = """WITH m AS (SELECT *, CASE WHEN t - LAG(t) OVER (PARTITION BY {key} ORDER BY t) <= {gap} THEN 0 ELSE 1 END AS b FROM a),
  n AS (SELECT *, SUM(b) OVER (PARTITION BY {key} ORDER BY t ROWS UNBOUNDED PRECEDING) AS r FROM m)
  SELECT {key}, MIN(t), MAX(t) + {gap}, COUNT(*), SUM(v)::BIGINT FROM n GROUP BY {key}, r"""

QUERIES = {
    "SELECT id, COUNT(*), SUM(v), MAX(time) FROM a GROUP BY id": (
        "SELECT id, COUNT(*), SUM(v)::BIGINT, MAX(t) FROM a GROUP BY id"
    ),
    "SELECT COUNT(*), MIN(v) FROM a": "SELECT COUNT(*), MIN(v) FROM a",
    "SELECT id, v FROM a WHERE v > (SELECT AVG(v) FROM a)": "SELECT id, v FROM a WHERE v > (SELECT AVG(v) FROM a)",
    "SELECT x.v, y.v AS w FROM a x, a y WHERE x.id = y.id AND x.v < y.v": (
        "SELECT x.v, y.v FROM a x, a y WHERE x.id = y.id AND x.v < y.v"
    ),
    "SELECT id, v FROM a ORDER BY v DESC, id, time LIMIT 3": "SELECT id, v FROM a ORDER BY v DESC NULLS LAST, id, t LIMIT 3",
    "SELECT id, window_start, window_end, COUNT(*), SUM(v) FROM TUMBLE(a, 5 SECONDS) GROUP BY id, window_start, window_end": (
        "SELECT id, t // 5000000 * 5000000, t // 5000000 * 5000000 + 5000000, COUNT(*), SUM(v)::BIGINT FROM a GROUP BY ALL"
    ),
    "SELECT window_start, COUNT(*), COUNT(DISTINCT id) FROM TUMBLE(a, 4 SECONDS, OFFSET 1 SECOND) WHERE v > 1 GROUP BY window_start": (
        "SELECT (t - 1000000) // 4000000 * 4000000 + 1000000 AS s, COUNT(*), COUNT(DISTINCT id) FROM a WHERE v > 1 GROUP BY s"
    ),
    "SELECT id, window_start, window_end, COUNT(*), MAX(v) FROM HOP(a, 2 SECONDS, 7 SECONDS, OFFSET 1 SECOND) GROUP BY id, window_start, window_end": (
        HOPS.format(slide=2 * SECOND, size=7 * SECOND)
    ),
    "SELECT id, window_start, window_end, COUNT(*), SUM(v) FROM SESSION(a, 3 SECONDS) GROUP BY id, window_start, window_end": (
        RUNS.format(key="id", gap=3 * SECOND)
    ),
    "SELECT k, SESSION_START(time, 2 SECONDS), SESSION_END(time, 2 SECONDS), COUNT(*), SUM(v) FROM (SELECT time, id, v, v % 2 AS k FROM a) x GROUP BY k, SESSION(time, 2 SECONDS)": (
        RUNS.format(key="k", gap=2 * SECOND).replace("FROM a)", "FROM (SELECT *, v % 2 AS k FROM a))")
    ),
}

readings = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 3), st.none() | st.integers(0, 5), st.integers(0, DELAY)),
    max_size=14,
)


@pytest.mark.parametrize("ours", QUERIES)
@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_rows=readings)
def test_answers(ours: str, given_rows: list[tuple[int, int, int | None, int]]) -> None:
    # A reading comes at most DELAY after its time: sorted by arrival, none is late.
    arrived = sorted(given_rows, key=lambda row: (row[0] + row[3], row[0]))
    database = nilometer.connect()
    database.execute(f"CREATE STREAM a (v INT) PUSHED DELAY {DELAY} SECONDS;")
    database.append("a", [{"time": t * SECOND, "id": i, "v": v} for t, i, v, _ in arrived])
    expected = _duck(QUERIES[ours], [(t * SECOND, i, v) for t, i, v, _ in arrived])
    query = database.sql(ours)
    for host in ("reference", "gateway"):
        difference = same_answer(expected, query.run(host, batch_rows=3).rows)
        assert difference is None, f"{host}: {difference}"


def _duck(sql: str, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE a (t BIGINT, id BIGINT, v BIGINT)")
    if rows:
        connection.executemany("INSERT INTO a VALUES (?, ?, ?)", rows)
    return connection.execute(sql).fetchall()
