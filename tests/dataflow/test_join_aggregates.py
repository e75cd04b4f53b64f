"""Aggregates over joins of windows, from partials of each input, against the reference evaluator, DuckDB and numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from dataflow.judge import Logs, answer, judged, logs, plans, sources
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.stages import Operator
from nilometer.errors import DataError
from nilometer.operators.join_aggregate import join_aggregate
from nilometer.operators.join_aggregate.join_aggregate import JoinAggregateLogic
from nilometer.optimizer import why
from nilometer.plan import physical
from nilometer.plan.reference import same_answer
from nilometer.types import INT_MAXIMUM, SECOND

A = "a [RANGE 4 SECONDS SLIDE 2 SECONDS]"
B = "b [RANGE 6 SECONDS SLIDE 3 SECONDS]"
S = "s [RANGE 4 SECONDS]"
K = "k [RANGE 3 SECONDS SLIDE 1 SECOND]"

EAGER = [
    f"SELECT COUNT(*) AS n FROM {A}, {B} WHERE a.x = b.x",
    f"SELECT COUNT(*) AS n, COUNT(a.v) AS m, COUNT(b.name) AS q FROM {A}, {B}, {S} WHERE a.x = b.x AND b.x = s.x",
    f"SELECT SUM(a.x) AS t, SUM(b.v) AS u, AVG(a.v) AS m, AVG(b.x) AS o FROM {A}, {B} WHERE a.id = b.id",
    f"SELECT MIN(a.v) AS l, MAX(b.v) AS h, MAX(a.time) AS late, MIN(DISTINCT b.x) AS least FROM {A}, {B} WHERE a.name = b.name",
    f"SELECT STDEV(a.v) AS d, VARIANCE(b.x) AS e FROM {A}, {B} WHERE a.x = b.x",
    f"SELECT a.x, COUNT(*) AS n, SUM(b.v) AS w FROM {A}, {B} WHERE a.x = b.x GROUP BY a.x",
    f"SELECT b.name, a.id, COUNT(*) AS n, VARIANCE(a.v) AS e FROM {A}, {B} WHERE a.x = b.x GROUP BY b.name, a.id",
    # a tree of keys, of which some are not asked for above
    f"SELECT COUNT(*) AS n, SUM(k.v) AS w FROM {A}, {B}, {K} WHERE a.x = b.x AND b.name = k.name",
    f"SELECT k.id, AVG(a.v) AS m, STDEV(b.v) AS d FROM {A}, {B}, {K} WHERE a.x = b.x AND b.name = k.name GROUP BY k.id",
    f"SELECT COUNT(*) AS n FROM {A}, {B}, {K}, {S} WHERE a.x = b.x AND b.name = k.name AND k.id = s.id AND s.x = b.x",
    # two keys, filters, expressions, products, the same stream twice
    f"SELECT COUNT(*) AS n FROM {A}, {B} WHERE a.x = b.x AND a.id = b.id",
    f"SELECT SUM(a.v * 2.0) AS t FROM {A}, {B} WHERE a.x + 1 = b.x AND a.v > 0 AND b.name = 'red'",
    f"SELECT COUNT(*) AS n, SUM(a.x) AS t FROM {A}, {B}",
    "SELECT COUNT(*) AS n FROM a [RANGE 3 SECONDS] p, a [RANGE 2 SECONDS SLIDE 1 SECOND] q WHERE p.x = q.x",
    "SELECT COUNT(*) AS n, MAX(s.v) AS h FROM a [NOW], s [NOW] WHERE a.x = s.x",
    "SELECT COUNT(*) AS n FROM b [UNBOUNDED], s [FROM NOW - 4 SECONDS TO NOW - 2 SECONDS] WHERE b.x = s.x",
    "SELECT AVG(w) AS m, COUNT(*) AS n FROM (SELECT x + 1 AS y, v * 2.0 AS w FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] WHERE x > -5) q, "
    f"{B} WHERE q.y = b.x",
    f"SELECT COUNT(*) AS n FROM {A}, {B} WHERE a.x = b.x HAVING COUNT(*) > 2",
]

FLAT = {
    f"SELECT MEDIAN(a.v) AS m FROM {A}, {B} WHERE a.x = b.x": "MEDIAN(a.v) needs every joined row",
    f"SELECT COUNT(DISTINCT a.v) AS m FROM {A}, {B} WHERE a.x = b.x": "COUNT(DISTINCT a.v) needs every joined row",
    f"SELECT SUM(a.v * b.v) AS m FROM {A}, {B} WHERE a.x = b.x": "SUM(a.v * b.v) reads several inputs",
    f"SELECT SUM(a.x * 2 + 1) AS m FROM {A}, {B} WHERE a.x = b.x": "SUM((a.x * 2) + 1) may overflow, "
    "which is an error of joined rows alone",
    f"SELECT COUNT(*) AS m FROM {A}, {B} WHERE a.x = b.x AND a.v < b.v": "a.v < b.v must hold between joined rows",
    f"SELECT COUNT(*) AS m FROM {A}, {B} WHERE a.v < b.v": "a.v < b.v must hold between joined rows",
    f"SELECT COUNT(*) AS m FROM {A}, t, {B} WHERE a.x = t.k AND a.x = b.x": "a table is joined",
    f"SELECT COUNT(*) AS m FROM {A}, b [RANGE 3 ROWS] WHERE a.x = b.x": "ROW_WINDOW is no time window",
}


def workers(sql: str) -> list[type]:
    stages = Dataflow(plans(sql)[-1], sources({})).stages.values()
    return [type(stage.worker.logic) for stage in stages if isinstance(stage.worker, Operator)]


def reasons(sql: str) -> list[str]:
    return [reason for node in physical.walk_plan(plans(sql)[-1]) if (reason := why(node)) is not None]


@pytest.mark.parametrize("sql", EAGER)
def test_no_joined_row_is_made(sql: str) -> None:
    assert JoinAggregateLogic in workers(sql)
    assert reasons(sql) == [
        "eager aggregation: from counts and sums per key and input, no joined row is made"
    ]


@pytest.mark.parametrize("sql", FLAT)
def test_what_needs_joined_rows_gets_them(sql: str) -> None:
    assert JoinAggregateLogic not in workers(sql)
    assert reasons(sql) == [f"from joined rows: {FLAT[sql]}"]


@pytest.mark.parametrize("sql", [*EAGER, *FLAT])
@settings(max_examples=settings().max_examples // 25)
@given(
    given_logs=logs,
    batch_rows=st.sampled_from([None, 1, 3, 7]),
    finished=st.booleans(),
    restarted=st.booleans(),
    at_once=st.sampled_from([1, 6, 1_000_000]),
)
def test_the_reference_gives_the_same(
    sql: str, given_logs: Logs, batch_rows: int | None, finished: bool, restarted: bool, at_once: int
) -> None:
    expected = judged(sql, given_logs, finished=finished)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join_aggregate, "PARTIALS_AT_ONCE", at_once)
        for plan in plans(sql):
            rows = answer(plan, given_logs, batch_rows, finished=finished, restarted=restarted)
            note(str(expected.rows))
            note(str(rows))
            difference = same_answer(expected, rows)
            assert difference is None, difference


# ---- DHTJoin's q1 ----------------------------------------------------------------------------------------------------


def zipf(rate: int, seconds: int) -> dict[str, list[dict[str, Any]]]:
    """Values by Zipf's law 0.9 over 1,000 values, for streams with as many readings a second each."""
    generator = np.random.default_rng(7)
    shares = 1 / np.arange(1, 1001) ** 0.9
    count = rate * seconds
    return {
        name: [
            {"time": time, "id": 1, "x": x, "v": None, "name": None}
            for time, x in zip(
                (np.arange(count) * SECOND // rate + generator.integers(0, SECOND // rate, count)).tolist(),
                generator.choice(1000, count, p=shares / shares.sum()).tolist(),
                strict=True,
            )
        ]
        for name in ("a", "b", "k")
    }


Q1 = (
    "SELECT COUNT(*) AS n FROM a [RANGE 50 SECONDS SLIDE 1 SECOND], b [RANGE 50 SECONDS SLIDE 1 SECOND], "
    "k [RANGE 50 SECONDS SLIDE 1 SECOND] WHERE a.x = b.x AND b.x = k.x"
)


def test_q1_at_the_papers_rate_is_the_sum_of_products() -> None:
    given_logs = zipf(30, 120)
    found = dict(answer(plans(Q1)[-1], given_logs))
    arrays = {
        name: (np.array([r["time"] for r in rows]), np.array([r["x"] for r in rows]))
        for name, rows in given_logs.items()
    }
    for tick in range(1, 121):
        low, high = (tick - 50) * SECOND, tick * SECOND
        counts = [
            np.bincount(x[(time > low) & (time <= high)], minlength=1000) for time, x in arrays.values()
        ]
        assert found[high] == int((counts[0] * counts[1] * counts[2]).sum()) if high in found else tick == 120
    assert max(found.values()) > 2_000_000


def test_q1_is_what_duckdb_counts() -> None:
    duckdb = pytest.importorskip("duckdb")
    given_logs = zipf(3, 60)
    found = answer(plans(Q1)[-1], given_logs)
    tables = {
        name: pl.DataFrame([(row["time"], row["x"]) for row in rows], schema=["time", "x"], orient="row")
        for name, rows in given_logs.items()
    }
    connection = duckdb.connect()
    for name, table in tables.items():
        connection.register(f"stream_{name}", table.to_arrow())
    for tick, count in found:
        inside = f"BETWEEN {tick - 50 * SECOND + 1} AND {tick}"
        (expected,) = connection.execute(
            "SELECT COUNT(*) FROM stream_a a, stream_b b, stream_k k WHERE a.x = b.x AND b.x = k.x "
            f"AND a.time {inside} AND b.time {inside} AND k.time {inside}"
        ).fetchone()
        assert count == expected


# ---- edges -----------------------------------------------------------------------------------------------------------


def reading(time: float, **values: Any) -> dict[str, Any]:
    return {"time": int(time * SECOND), "id": 1, "x": None, "v": None, "name": None} | values


def test_a_sum_beyond_64_bits_is_an_error_only_if_it_is_joined() -> None:
    sql = "SELECT SUM(a.x) AS t FROM a [RANGE 4 SECONDS SLIDE 1 SECOND], b [RANGE 4 SECONDS SLIDE 1 SECOND] WHERE a.name = b.name"
    great = [reading(1, x=INT_MAXIMUM, name="red"), reading(1, x=1, name="red")]
    alone = {"a": great, "b": [reading(1, name="blue")]}
    assert answer(plans(sql)[-1], alone) == [(at * SECOND, None) for at in (1, 2, 3, 4)]
    with pytest.raises(DataError, match=r"SUM\(a.x\)"):
        answer(plans(sql)[-1], {"a": great, "b": [reading(1, name="red")]})


def test_sums_of_great_parts_are_whole() -> None:
    sql = "SELECT SUM(a.x) AS t FROM a [RANGE 4 SECONDS SLIDE 1 SECOND], b [RANGE 4 SECONDS SLIDE 1 SECOND] WHERE a.name = b.name"
    given_logs = {
        "a": [
            reading(1, x=INT_MAXIMUM, name="red"),
            reading(1, x=-INT_MAXIMUM, name="blue"),
            reading(1, x=5, name="blue"),
        ],
        "b": [
            reading(1, name="red"),
            reading(1, name="red"),
            reading(1, name="blue"),
            reading(1, name="blue"),
        ],
    }
    assert answer(plans(sql)[-1], given_logs) == [(at * SECOND, 10) for at in (1, 2, 3, 4)]


def test_a_variance_far_from_zero_keeps_its_digits() -> None:
    sql = "SELECT VARIANCE(a.x) AS e FROM a [RANGE 4 SECONDS SLIDE 1 SECOND], b [RANGE 4 SECONDS SLIDE 1 SECOND] WHERE a.name = b.name"
    far = 10**17
    given_logs = {
        "a": [reading(1, x=far + 1, name="red"), reading(1, x=far + 3, name="blue")],
        "b": [reading(1, name="red"), reading(1, name="blue"), reading(1, name="blue")],
    }
    found = answer(plans(sql)[-1], given_logs)[0][1]
    assert found == pytest.approx(np.var([1, 3, 3], ddof=1), rel=1e-12)
