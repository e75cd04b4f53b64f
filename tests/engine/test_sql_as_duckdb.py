"""Queries over data at hand, word for word, give what DuckDB gives: UNNEST in FROM, QUALIFY, IGNORE NULLS."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

import nilometer
from nilometer.types import SECOND, parse_time

duckdb = pytest.importorskip("duckdb")

BASE = parse_time("2026-01-01T00:00:00Z")
QUERIES = (
    "SELECT q.id, u.w FROM (SELECT id, ARRAY_AGG(v) FILTER (WHERE v IS NOT NULL) AS l FROM s GROUP BY id) q,"
    " UNNEST(q.l) AS u(w)",
    "SELECT u.w, COUNT(*) AS n FROM (SELECT id, ARRAY_AGG(v) FILTER (WHERE v IS NOT NULL) AS l FROM s GROUP BY id) q"
    " CROSS JOIN UNNEST(q.l) AS u(w) WHERE u.w > 1 GROUP BY u.w",
    "SELECT id, v FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY time DESC) <= 2",
    "SELECT id, SUM(v) AS total FROM s GROUP BY id QUALIFY RANK() OVER (ORDER BY SUM(v) DESC) = 1",
    "SELECT id, v, MAX(v) OVER (PARTITION BY id) AS most FROM s WHERE v IS NOT NULL QUALIFY v = most",
    *(
        f"SELECT id, n, {call} OVER (PARTITION BY id ORDER BY n {frame}) AS found FROM s"
        for call, frame in (
            ("LAG(v IGNORE NULLS)", ""),
            ("LAG(v, 2, -1 IGNORE NULLS)", ""),
            ("LEAD(v, 2 IGNORE NULLS)", ""),
            ("FIRST_VALUE(v IGNORE NULLS)", ""),
            ("LAST_VALUE(v IGNORE NULLS)", ""),
            ("LAST_VALUE(v IGNORE NULLS)", "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING"),
            ("FIRST_VALUE(v IGNORE NULLS)", "ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING"),
            ("NTH_VALUE(v, 2 IGNORE NULLS)", "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"),
        )
    ),
)


def readings(seed: int) -> pl.DataFrame:
    chosen = random.Random(seed)
    rows = [
        (BASE + n * SECOND, chosen.randrange(3), chosen.choice((None, 0, 1, 2, 3, 7)), n) for n in range(30)
    ]
    return pl.DataFrame(rows, {"time": pl.Int64, "id": pl.Int64, "v": pl.Int64, "n": pl.Int64}, orient="row")


@pytest.mark.parametrize("sql", QUERIES)
def test_the_same_text(sql: str) -> None:
    for seed in range(3):
        rows = readings(seed)
        database = nilometer.connect()
        database.execute("CREATE STREAM s (v INT, n INT) PUSHED")
        database.append("s", rows)
        answers: list[list[tuple[Any, ...]]] = [
            sorted(map(tuple, (row.values() for row in database.sql(sql).run(host))), key=str)
            for host in ("reference", "gateway")
        ]
        with duckdb.connect() as connection:
            connection.register("s", rows.to_arrow())
            expected = sorted(connection.sql(sql).fetchall(), key=str)
        assert answers == [expected, expected]
