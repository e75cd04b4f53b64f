"""OVER over the content of a window gives what DuckDB gives over the same rows."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nilometer
from nilometer.engine.gateway import run_on_gateway

BASE = 1_767_225_600_000_000
SECOND = 1_000_000

ITEMS = (
    "ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id, t)",
    "RANK() OVER (PARTITION BY k ORDER BY v)",
    "DENSE_RANK() OVER (ORDER BY v DESC NULLS FIRST, k)",
    "NTILE(3) OVER (ORDER BY v, id, t)",
    "LAG(v, 2, -1) OVER (PARTITION BY k ORDER BY id, t)",
    "LEAD(f) OVER (ORDER BY id, t)",
    "FIRST_VALUE(v) OVER (PARTITION BY k ORDER BY id DESC, t)",
    "LAST_VALUE(v) OVER (PARTITION BY k ORDER BY id, t ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING)",
    "NTH_VALUE(v, 2) OVER (ORDER BY id, t)",
    "SUM(v) OVER (PARTITION BY k ORDER BY v)",
    "SUM(f) OVER (ORDER BY id, t ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING)",
    "COUNT(v) OVER (ORDER BY v NULLS LAST RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING)",
    "COUNT(*) OVER (ORDER BY v DESC RANGE BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING)",
    "AVG(f) OVER (PARTITION BY k)",
    "SUM(v) FILTER (WHERE f > 0) OVER (PARTITION BY k ORDER BY id, t)",
    "MIN(f) OVER (ORDER BY f RANGE BETWEEN 0.5 PRECEDING AND 0.25 FOLLOWING)",
    "MAX(k) OVER (ORDER BY id, t ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING)",
)

rows_of_a_window = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.sampled_from(("a", "b", None)),
        st.none() | st.integers(-3, 3),
        st.none() | st.integers(-64, 64).map(lambda n: n / 64),
    ),
    min_size=1,
    max_size=12,
)


def ours(item: str, rows: list[Any]) -> list[Any]:
    database = nilometer.connect()
    database.execute("CREATE STREAM s (t INT, k STRING, v INT, f FLOAT) PUSHED;")
    database.append(
        "s",
        [
            {"time": BASE + n * SECOND, "id": i, "t": n, "k": k, "v": v, "f": f}
            for n, (i, k, v, f) in enumerate(rows)
        ],
    )
    sql = f"SELECT t, {item} AS c FROM s [RANGE 1 HOUR SLIDE 1 HOUR]"
    query = database.sql(sql)
    last = max(row[0] for row in run_on_gateway(query, True, None).rows)
    return sorted(row[1:] for row in run_on_gateway(query, True, None).rows if row[0] == last)


def theirs(item: str, rows: list[Any]) -> list[Any]:
    # At 00:00 the window holds the first row; at 01:00 all others.
    connection = duckdb.connect()
    connection.execute("CREATE TABLE s (t BIGINT, id BIGINT, k VARCHAR, v BIGINT, f DOUBLE)")
    first = 1 if len(rows) > 1 else 0
    connection.executemany(
        "INSERT INTO s VALUES (?, ?, ?, ?, ?)", [(n, *row) for n, row in enumerate(rows) if n >= first]
    )
    return sorted(connection.execute(f"SELECT t, {item} AS c FROM s").fetchall())


@pytest.mark.parametrize("item", ITEMS)
@given(rows=rows_of_a_window)
@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
def test_the_same_as_duckdb(item: str, rows: list[Any]) -> None:
    assert [(t, pytest.approx(c) if isinstance(c, float) else c) for t, c in theirs(item, rows)] == ours(
        item, rows
    )
