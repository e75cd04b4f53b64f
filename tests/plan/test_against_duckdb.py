"""DuckDB judges the clauses of SQL: over one window of finite data, the reference answers as DuckDB does.

A window that holds all rows, evaluated once, is a table. The same text, without the window, is DuckDB's query. NULLs are
last in DuckDB by default, as in ours. Where ORDER BY has ties the select list decides with us, so it is appended there.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import nilometer
from nilometer.plan.reference import same_answer

ALL = "[UNBOUNDED SLIDE 1 DAY]"
QUERIES = (
    "SELECT DISTINCT a.g, a.v FROM a{w}",
    "SELECT a.v FROM a{w} EXCEPT SELECT b.v FROM b{w}",
    "SELECT a.g, a.v FROM a{w} EXCEPT ALL SELECT b.g, b.v FROM b{w}",
    "SELECT a.v FROM a{w} INTERSECT SELECT b.v FROM b{w}",
    "SELECT a.v FROM a{w} INTERSECT ALL SELECT b.v FROM b{w}",
    "SELECT a.v FROM a{w} UNION ALL SELECT b.v FROM b{w} EXCEPT ALL SELECT b.g FROM b{w} INTERSECT SELECT a.v FROM a{w}",
    "SELECT a.g, a.v IN (SELECT b.v FROM b{w}) AS m, a.v NOT IN (SELECT b.v FROM b{w} WHERE b.g = a.g) AS n FROM a{w}",
    "SELECT a.g, a.v FROM a{w} WHERE a.v > 2 OR a.g IN (SELECT b.g FROM b{w} WHERE b.v = a.v)",
    "SELECT a.g, CASE WHEN EXISTS (SELECT 1 FROM b{w} WHERE b.g = a.g) THEN 'y' ELSE 'n' END AS e FROM a{w}",
    "SELECT a.g, a.v FROM a{w} WHERE NOT EXISTS (SELECT 1 FROM b{w} WHERE b.g = a.g AND b.v > a.v)",
    "SELECT a.g, a.v FROM a{w} WHERE EXISTS (SELECT 1 FROM b{w} WHERE b.v + 1 < a.v)",
    "SELECT a.g, a.v FROM a{w} WHERE a.v NOT IN (SELECT b.v FROM b{w} WHERE b.g <= a.g)",
    "SELECT a.g AS k, COUNT(*) AS n, MAX(a.v) AS m FROM a{w} GROUP BY 1 HAVING COUNT(*) > 1",
    "SELECT a.v, (SELECT b.v FROM b{w} ORDER BY b.v DESC, b.g LIMIT 1) AS top FROM a{w}",
    "WITH s (g, n) AS (SELECT a.g, COUNT(*) FROM a{w} GROUP BY a.g) SELECT x.g, y.n FROM s x, s y WHERE x.n < y.n",
    "SELECT a.v, l.name FROM a{w}, (VALUES (1, 'one'), (2, NULL), (2, 'two')) AS l(k, name) WHERE a.g = l.k",
)
ORDERED = (
    "SELECT a.g, a.v FROM a{w} ORDER BY a.v DESC NULLS LAST, a.g LIMIT 3 OFFSET 1",
    "SELECT a.g, a.v FROM a{w} ORDER BY a.g % 2 NULLS FIRST, 1, 2 DESC NULLS FIRST, a.v",
    "SELECT a.v + 1 AS w, a.g FROM a{w} ORDER BY w DESC NULLS LAST, 2 FETCH FIRST 4 ROWS ONLY",
    "SELECT a.g AS k, COUNT(*) AS n FROM a{w} GROUP BY a.g ORDER BY MAX(a.v) DESC NULLS LAST, k, n LIMIT 2",
    "SELECT DISTINCT a.v FROM a{w} ORDER BY a.v DESC NULLS FIRST LIMIT 2",
    "SELECT a.v FROM a{w} UNION ALL SELECT b.v FROM b{w} ORDER BY 1 LIMIT 5",
)

values = st.none() | st.integers(0, 4)
tables = st.lists(st.tuples(values, values), max_size=8)


def ours(sql: str, logs: dict[str, list[tuple[Any, Any]]]) -> list[tuple[Any, ...]]:
    database = nilometer.connect()
    for name, rows in logs.items():
        database.execute(f"CREATE STREAM {name} (g INT, v INT) PUSHED;")
        readings = [{"time": at, "id": 1, "g": g, "v": v} for at, (g, v) in enumerate(rows, start=1)]
        database.append(name, readings)
    answer = database.sql(sql.replace("{w}", f" {ALL}"))
    whole = answer.run("reference").rows
    assert (
        list(whole) == list(answer.run("gateway").rows)
        or same_answer(whole, answer.run("gateway").rows) is None
    )
    last = max((row[0] for row in whole), default=None)
    return [row[1:] for row in whole if row[0] == last]


def theirs(sql: str, logs: dict[str, list[tuple[Any, Any]]]) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for name, rows in logs.items():
            connection.execute(f"CREATE TABLE {name} (g BIGINT, v BIGINT)")
            if rows:
                connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
        return connection.execute(sql.replace("{w}", "")).fetchall()


few = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=8)


@pytest.mark.parametrize("sql", QUERIES)
@given(a=tables.filter(bool), b=tables.filter(bool))
@few
def test_the_same_rows(sql: str, a: list[Any], b: list[Any]) -> None:
    note(str((a, b)))
    assert same_answer(theirs(sql, {"a": a, "b": b}), ours(sql, {"a": a, "b": b})) is None


@pytest.mark.parametrize("sql", ORDERED)
@given(a=tables.filter(bool), b=tables.filter(bool))
@few
def test_the_same_rows_in_the_same_order(sql: str, a: list[Any], b: list[Any]) -> None:
    assert theirs(sql, {"a": a, "b": b}) == ours(sql, {"a": a, "b": b})
