"""Tables that are read anew: every row meets the version that its tick belongs to, on the gateway as in the reference."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

import polars as pl

from dataflow.judge import SENSORS, STREAMS, Logs, sources
from nilometer.catalog import Catalog
from nilometer.catalog.extents import Table
from nilometer.dataflow import Run, TableVersion
from nilometer.language import parse
from nilometer.optimizer import OptimizerContext, choose, optimize
from nilometer.plan import logical, physical
from nilometer.plan.bind import bind
from nilometer.plan.reference import Feed, evaluate, same_answer
from nilometer.plan.reference import TableVersion as ReferenceVersion
from nilometer.types import FLOAT, HOUR, INT, SECOND, STRING, Column

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
SEEDS = range(800 if LONG else 48)
TABLES = {
    "t": Table(
        "t",
        (Column("k", INT), Column("label", STRING), Column("weight", FLOAT)),
        "t.csv",
        refresh=HOUR,
    ),
    "u": Table("u", (Column("k", INT), Column("most", INT)), "u.csv", refresh=HOUR),
}
SCHEMAS = {
    "t": {"k": pl.Int64, "label": pl.String, "weight": pl.Float64},
    "u": {"k": pl.Int64, "most": pl.Int64},
}
QUERIES = [
    "SELECT A.time AS at, A.x AS x, T.label AS label FROM a A, t T WHERE A.id = T.k",
    "SELECT A.x AS x, T.weight AS w FROM t T, a A WHERE A.x > T.weight",
    "SELECT A.x AS x FROM a A WHERE A.id NOT IN (SELECT T.k FROM t T WHERE T.k IS NOT NULL)",
    "SELECT A.id AS id, COUNT(*) AS n FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] A, t T WHERE A.id = T.k GROUP BY A.id",
    "SELECT COUNT(*) AS n FROM t T, a [NOW] A",
    # A table of two tables, and one of no columns; an aggregate of a table.
    "SELECT A.x AS x, T.label AS label FROM a A, t T, u U WHERE A.id = T.k AND T.k = U.k AND A.x <= U.most",
    "SELECT A.time AS at, A.v AS v FROM a A WHERE A.v > (SELECT AVG(T.weight) FROM t T)",
    "SELECT A.x AS x FROM a [NOW] A WHERE A.x < (SELECT MAX(U.most) FROM u U WHERE U.k = A.id)",
    "SELECT A.x AS x, Q.k AS k FROM a A, (SELECT T.k AS k FROM t T UNION SELECT U.k AS k FROM u U) Q WHERE A.id = Q.k",
    # Windows of other ticks: a table meets their join, wherever FROM names it.
    "SELECT A.x AS x, B.x AS y, T.label AS label FROM a [RANGE 4 SECONDS SLIDE 4 SECONDS] A, t T, b [NOW] B"
    " WHERE A.id = B.id AND B.id = T.k",
    "ISTREAM SELECT S.id AS id, T.label AS label FROM s [NOW] S, t T WHERE S.id = T.k",
    # What waits above the join, and below it.
    "SELECT A.time AS at, LAG(A.x) AS before, T.label AS label FROM a A, t T WHERE A.id = T.k",
    "SELECT Q.at AS at, T.label AS label FROM (SELECT A.time AS at, A.id AS id, LAG(A.x) AS x FROM a A) Q, t T WHERE Q.id = T.k",
    "SELECT Q.time AS at, U.most AS most FROM (SELECT S.id AS id, time FROM s S, b B WINDOW = 3 SECONDS WHERE S.id = B.id) Q, u U"
    " WHERE Q.id = U.k",
    "SELECT Q.id AS id, Q.state AS state, T.label AS label FROM SILENT(s FOR 3 SECONDS) Q, t T WHERE Q.id = T.k",
    "SELECT T.label AS label, U.most AS most FROM t T, u U WHERE T.k = U.k",
]


@cache
def catalog() -> Catalog:
    known = Catalog()
    for stream in STREAMS.values():
        known.add_stream(stream)
    for table in TABLES.values():
        known.add_table(table)
    known.add_sensors(list(SENSORS))
    return known


@cache
def bound(sql: str) -> logical.Node:
    return bind(parse(sql), catalog(), {}, sql)  # type: ignore[arg-type]


@cache
def plans(sql: str) -> tuple[physical.Node, ...]:
    plan = bound(sql)
    optimized = optimize(plan, OptimizerContext(catalog())).plan
    return tuple(dict.fromkeys((choose(plan), choose(optimized))))


@dataclass(frozen=True)
class World:
    """Logs, tables as they were first, and what became of them, by tick."""

    logs: Logs
    first: dict[str, Any]
    versions: dict[int, tuple[str, Any]]

    def judged(self, sql: str) -> tuple[Any, ...]:
        """What the reference answers."""
        feeds = {name: Feed(tuple(items)) for name, items in self.logs.items()}
        later = [ReferenceVersion(at, {name: rows}) for at, (name, rows) in self.versions.items()]
        return evaluate(bound(sql), feeds, self.first, {"s": SENSORS}, versions=later).rows


def world(seed: int) -> World:
    """Of a seed rather than drawn: small examples hold nothing that meets."""
    random = Random(seed)
    versions = {
        random.randrange(24) * SECOND // 2: (name := random.choice(("t", "t", "u")), _rows(random, name))
        for _ in range(random.randrange(5))
    }
    logs = {name: _log(random) for name in STREAMS}
    return World(logs, {name: _rows(random, name) for name in TABLES}, versions)


def _log(random: Random) -> list[Any]:
    items: list[Any] = []
    now = random.randrange(4)
    for _ in range(random.randrange(10, 20)):
        now = max(0, now + random.choice((0, 1, 1, 2, 2, 3, -1, -2)))
        if not random.randrange(12):
            items.append(now * SECOND // 2)
            continue
        items.append(
            {
                "time": now * SECOND // 2,
                "id": random.choice((1, 1, 2, 2, 3, None)),
                "x": random.choice((0, 1, 2, 3, -7, None)),
                "v": random.choice((0.0, 0.25, 1.5, -2.0, 64.015625, None)),
                "name": random.choice(("red", "blue", "", None)),
            }
        )
    return items


def _rows(random: Random, name: str) -> list[dict[str, Any]]:
    def row() -> dict[str, Any]:
        key = {"k": random.choice((1, 1, 2, 2, 3, None))}
        if name == "u":
            return key | {"most": random.randrange(-2, 4)}
        return key | {
            "label": random.choice(("red", "blue", "green", None)),
            "weight": random.choice((0.5, 1.25, None)),
        }

    return [row() for _ in range(random.choice((0, 2, 3, 3, 4, 4)))]


def frame(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMAS[name], orient="row")


def answers(
    plan: physical.Node,
    logs: Logs,
    first: dict[str, Any],
    versions: dict[int, tuple[str, Any]],
    batch_rows: int,
    restarted: bool,
) -> list[tuple[Any, ...]]:
    found = sources(logs)
    found = type(found)(
        found.streams, {name: frame(name, rows) for name, rows in first.items()}, found.declared
    )
    given = [TableVersion(at, {name: frame(name, rows)}) for at, (name, rows) in versions.items()]
    run = Run(plan, found, batch_rows, versions=given)
    if not restarted:
        return run.collect().rows()
    rows: list[tuple[Any, ...]] = []
    while not run.over:
        rows += run.step().rows()
        fresh = Run(plan, found, batch_rows, versions=given)
        fresh.restore(run.snapshot())
        run = fresh
    return rows


def test_rows_meet_the_version_of_their_tick() -> None:
    found: Counter[str] = Counter()
    moved = 0
    for seed in SEEDS:
        turn, number = divmod(seed, len(QUERIES))
        sql, here = QUERIES[number], world(seed)
        expected = here.judged(sql)
        found[sql] += len(expected)
        moved += same_answer(expected, replace(here, versions={}).judged(sql)) is not None
        for plan in plans(sql):
            given = answers(plan, here.logs, here.first, here.versions, (3, 100, 1)[turn % 3], turn % 2 == 0)
            difference = same_answer(expected, given)
            assert difference is None, f"{difference}\nseed {seed}: {sql}"
    # Or nothing has been tried.
    assert set(+found) == set(QUERIES)
    assert moved > len(SEEDS) // 4


def test_the_versions_matter() -> None:
    """Three readings, two versions: each meets its own, the late comer too."""
    readings = [{"time": at * SECOND, "id": 1, "x": at, "v": None, "name": None} for at in (1, 5, 4, 6)]
    logs = {name: readings if name == "a" else [] for name in STREAMS}
    first = {"t": [{"k": 1, "label": "old", "weight": None}], "u": []}
    versions = {5 * SECOND: ("t", [{"k": 1, "label": "new", "weight": None}])}
    expected = [(1, "old"), (4, "old"), (5, "new"), (6, "new")]
    sql = "SELECT A.x AS x, T.label AS label FROM a A, t T WHERE A.id = T.k"
    for plan in plans(sql):
        assert sorted(answers(plan, logs, first, versions, 1, False)) == expected


def test_explain_shows_the_refresh() -> None:
    from nilometer.plan.explain import explain_text, parse_physical_plan, parse_plan

    sql = QUERIES[0]
    assert "STORED [t AS T; k, label, weight; REFRESH EVERY 1 HOUR]" in explain_text(bound(sql))
    assert parse_plan(explain_text(bound(sql)), catalog()) == bound(sql)
    plan = plans(sql)[-1]
    assert "REFRESH EVERY 1 HOUR" in explain_text(plan)
    assert parse_physical_plan(explain_text(plan), catalog()) == plan


def test_a_table_meets_the_join_of_windows_at_its_tick() -> None:
    """`b` is evaluated at 6 and 12, `a` at 4, 8 and 12: at 8 the window of 6 meets the table as it is at 8, whatever the order in FROM
    and although the table is smaller than the other window."""
    reading = {"id": 1, "x": 1, "v": None, "name": None}
    logs = {name: [] for name in STREAMS}
    logs |= {"a": [reading | {"time": at * SECOND} for at in (3, 7, 12)]}
    logs |= {"b": [reading | {"time": at * SECOND} for at in (6, 12)]}
    first = {"t": [{"k": 1, "label": "old", "weight": None}], "u": []}
    versions = {7 * SECOND: ("t", [{"k": 1, "label": "new", "weight": None}])}
    expected = [(6, "old"), (8, "new"), (8, "new"), (12, "new"), (12, "new"), (12, "new")]
    for order in ("{a}, t T, {b}", "t T, {a}, {b}", "{b}, t T, {a}", "{a}, {b}, t T"):
        extents = order.format(a="a [RANGE 4 HOURS SLIDE 4 SECONDS] A", b="b [NOW] B")
        sql = f"SELECT T.label AS label FROM {extents} WHERE A.id = T.k AND B.id = A.id AND T.k = B.id"
        feeds = {name: Feed(tuple(items)) for name, items in logs.items()}
        judged = [ReferenceVersion(at, {name: rows}) for at, (name, rows) in versions.items()]
        found = evaluate(bound(sql), feeds, first, versions=judged)
        # After 12 the streams have ended, and A holds its tuples for four hours.
        rows = [(tick // SECOND, label) for tick, label in found.rows]
        assert [row for row in rows if row[0] <= 12] == expected
        for plan in plans(sql):
            assert answers(plan, logs, first, versions, 1, False) == [*found.rows]
