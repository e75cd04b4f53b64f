"""Pushed streams and pulled tables in one plan; full queues; the books; shared memory of joins."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import nilometer
from nilometer.dataflow import Batch, Heartbeat, MemorySources
from nilometer.dataflow.graph import Graph
from nilometer.dataflow.policy import Outcome, Policy
from nilometer.engine.data import frame_of
from nilometer.engine.gateway import DatabaseSources
from nilometer.errors import ConfigurationError

SECOND = 1_000_000
SCHEMA = "CREATE STREAM s (x INT) PUSHED; CREATE STREAM r (x INT) PUSHED DELAY 2 SECONDS;"


def database(*more: str) -> nilometer.Database:
    found = nilometer.connect()
    found.execute(SCHEMA + " ".join(more))
    return found


def batch(found: nilometer.Database, stream: str, *rows: tuple[int, int]) -> Batch:
    listed: list[Mapping[str, Any]] = [{"time": time * SECOND, "id": 1, "x": x} for time, x in rows]
    return Batch(frame_of(listed, found.catalog.stream(stream)))


def rows_of(frames: list[pl.DataFrame]) -> list[Any]:
    return [row for frame in frames for row in frame.rows()]


def joined(found: nilometer.Database) -> None:
    """A stream that is pushed, joined with a table that is pulled."""
    plan = found.sql("SELECT s.x, t.label FROM s, t WHERE t.k = s.x").physical
    graph = Graph(DatabaseSources(found, plan))
    graph.install("q", plan)
    graph.run()
    assert graph.answers("q") == []
    graph.push("s", batch(found, "s", (1, 1), (2, 7), (3, 2)))
    graph.run()
    assert sorted(rows_of(graph.answers("q"))) == [(1, "red"), (2, "blue")]
    graph.push("s", batch(found, "s", (4, 1)))
    graph.run()
    assert rows_of(graph.answers("q")) == [(1, "red")]


def test_a_table_of_sqlite_is_pulled(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE t (k INTEGER, label TEXT); INSERT INTO t VALUES (1, 'red'), (2, 'blue');"
    )
    connection.close()
    joined(database(f"CREATE TABLE t (k INT, label STRING) STORED AT 'sqlite:///{path}' AS t;"))


def test_a_table_is_not_read_before_it_is_pulled(tmp_path: Path) -> None:
    found = database(f"CREATE TABLE t (k INT, label STRING) STORED AT '{tmp_path}/later.csv';")
    plan = found.sql("SELECT s.x, t.label FROM s, t WHERE t.k = s.x").physical
    graph = Graph(DatabaseSources(found, plan))
    graph.install("q", plan)
    (tmp_path / "later.csv").write_text("k,label\n1,red\n", encoding="utf-8")
    graph.push("s", batch(found, "s", (1, 1)))
    graph.run()
    assert rows_of(graph.answers("q")) == [(1, "red")]


@pytest.mark.parametrize(
    ("policy", "kept"),
    [(Policy.DROP_OLDEST, [4, 5, 6]), (Policy.DROP_NEWEST, [1, 2, 3]), (Policy.BLOCK, [1, 2, 3, 4, 5, 6])],
)
def test_a_full_queue_sheds_by_its_policy_and_counts(policy: Policy, kept: list[int]) -> None:
    found = database()
    graph = Graph(MemorySources(), entry_rows=3, policies={"S": policy})
    graph.install("q", found.sql("SELECT x FROM s").physical)
    graph.install(
        "w", found.sql("SELECT COUNT(*) AS n FROM s [RANGE 100 SECONDS SLIDE 100 SECONDS]").physical
    )
    for x in range(1, 7):
        graph.push("s", batch(found, "s", (x, x)))
    graph.run()
    assert [x for (x,) in rows_of(graph.answers("q"))] == kept
    for name in ("q", "w"):
        ledger = graph.ledger(name)
        assert ledger.balanced
        assert (ledger.read, ledger.delivered, ledger.shed) == (6, len(kept), 6 - len(kept))


def test_answers_that_nobody_fetches_block_or_are_dropped() -> None:
    found = database()
    plan = found.sql("SELECT x FROM s").physical
    blocked = Graph(MemorySources(), entry_rows=2, answer_rows=2, answer_policy=Policy.BLOCK)
    blocked.install("q", plan)
    outcomes = []
    for x in range(9):
        outcomes.append(blocked.push("s", batch(found, "s", (x, x))))
        blocked.run()
    assert Outcome.FULL in outcomes
    with pytest.raises(ConfigurationError, match="answers wait"):
        blocked.snapshot("q")
    taken = outcomes.count(Outcome.ACCEPTED)
    answers = []
    for _ in range(9):
        answers += rows_of(blocked.answers("q"))
        blocked.run()
    assert answers == [(x,) for x in range(taken)]
    dropped = Graph(MemorySources(), answer_rows=2)
    dropped.install("q", plan)
    for x in range(5):
        dropped.push("s", batch(found, "s", (x, x)))
        dropped.run()
    assert rows_of(dropped.answers("q")) == [(3,), (4,)]


def test_a_batch_that_fills_the_queue_is_not_lost() -> None:
    found = database()
    graph = Graph(MemorySources(), entry_rows=3)
    graph.install("q", found.sql("SELECT x FROM s").physical)
    for x in range(0, 20, 2):
        assert graph.push("s", batch(found, "s", (x, x), (x + 1, x + 1))) is Outcome.ACCEPTED
    graph.run()
    assert rows_of(graph.answers("q")) == [(x,) for x in range(20)]


def test_late_and_filtered_are_in_the_books() -> None:
    found = database()
    graph = Graph(MemorySources())
    graph.install("q", found.sql("SELECT x FROM s WHERE x > 2").physical)
    graph.install(
        "w", found.sql("SELECT SUM(x) AS n FROM (SELECT x FROM s WHERE x > 2) [RANGE 3 SECONDS]").physical
    )
    graph.push("s", batch(found, "s", (5, 1), (6, 3), (2, 9)))
    graph.push("s", Heartbeat(8 * SECOND))
    graph.push("s", batch(found, "s", (7, 4)))
    graph.run()
    for name in ("q", "w"):
        ledger = graph.ledger(name)
        assert (ledger.read, ledger.delivered, ledger.filtered, ledger.late) == (4, 1, 1, 2)
        assert graph.watermark(name) == 8 * SECOND


def test_who_is_installed_later_sees_what_comes_later() -> None:
    found = database()
    plan = found.sql("SELECT COUNT(*) AS n FROM s [RANGE 1 SECOND SLIDE 1 SECOND]").physical
    graph = Graph(MemorySources())
    graph.install("early", plan)
    graph.push("s", batch(found, "s", (1, 1), (1, 2)))
    graph.install("late", plan)  # what was pushed waits still, but was pushed before
    graph.push("s", batch(found, "s", (3, 1)))
    graph.end("s")
    graph.run()
    assert [n for _, n in rows_of(graph.answers("early"))] == [2, 0, 1]
    assert [n for _, n in rows_of(graph.answers("late"))] == [1]


def test_entries_of_one_start_reach_only_its_queries() -> None:
    found = database()
    plan = found.sql("SELECT x FROM s").physical
    graph = Graph(MemorySources())
    graph.install("live", plan, start="now")
    graph.install("behind", plan, start=17)
    graph.push("s", batch(found, "s", (1, 1)), start=17)
    graph.push("s", batch(found, "s", (2, 2)))
    graph.run()
    assert rows_of(graph.answers("live")) == [(2,)]
    assert rows_of(graph.answers("behind")) == [(1,), (2,)]


def test_equal_sub_plans_are_run_once() -> None:
    found = database()
    one = found.sql(
        "SELECT n + 1 AS m FROM (RSTREAM SELECT COUNT(*) AS n FROM s [RANGE 2 SECONDS]) AS a"
    ).physical
    two = found.sql(
        "SELECT n * 2 AS m FROM (RSTREAM SELECT COUNT(*) AS n FROM s [RANGE 2 SECONDS]) AS a"
    ).physical
    alone, both = Graph(MemorySources()), Graph(MemorySources())
    alone.install("one", one, start=0)
    both.install("one", one, start=0)
    both.install("two", two, start=0)
    assert both.size <= alone.size + 2
    for graph in (alone, both):
        graph.push("s", batch(found, "s", (1, 1), (2, 1)))
        graph.end("s")
        graph.run()
    assert rows_of(alone.answers("one")) == rows_of(both.answers("one")) == [(2,), (3,)]
    assert rows_of(both.answers("two")) == [(2,), (4,)]


@pytest.mark.postgres
def test_a_table_of_postgresql_is_pulled(postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url.replace("+psycopg", "")) as connection:
        connection.execute("CREATE TABLE fjord_t (k BIGINT, label TEXT)")
        connection.execute("INSERT INTO fjord_t VALUES (1, 'red'), (2, 'blue')")
    joined(database(f"CREATE TABLE t (k INT, label STRING) STORED AT '{postgres_url}' AS fjord_t;"))
