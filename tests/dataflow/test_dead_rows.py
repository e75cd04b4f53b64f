"""Rows without a value are set aside, the query goes on, and how the log is cut into batches changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

import nilometer
from nilometer.dataflow import Batch
from nilometer.dataflow.graph import Graph
from nilometer.engine.data import frame_of
from nilometer.engine.gateway import DatabaseSources
from nilometer.errors import DataError
from nilometer.plan.reference import Feed, evaluate
from nilometer.types import INT_MAXIMUM, SECOND

MOST = INT_MAXIMUM
ROWS: list[dict[str, Any]] = [
    {"time": 1 * SECOND, "id": 1, "n": 5},
    {"time": 2 * SECOND, "id": 2, "n": MOST},
    {"time": 3 * SECOND, "id": 1, "n": 7},
    {"time": 4 * SECOND, "id": 2, "n": 1},
    {"time": 5 * SECOND, "id": 2, "n": None},
    {"time": 6 * SECOND, "id": 1, "n": -3},
    {"time": 12 * SECOND, "id": 2, "n": 9},
]
WINDOW = "[RANGE 5 SECONDS SLIDE 5 SECONDS]"

QUERIES: dict[str, tuple[str, list[Any] | None, dict[str, int]]] = {
    "projection": (
        "SELECT id, n * 2 AS m FROM s",
        [(1, 10), (1, 14), (2, 2), (2, None), (1, -6), (2, 18)],
        {"failed": 1},
    ),
    "condition": ("SELECT id, n FROM s WHERE n * 2 > 12", [(1, 7), (2, 9)], {"failed": 1, "filtered": 4}),
    "guarded": ("SELECT id, n FROM s WHERE n < 100 AND n * 2 > 12", [(1, 7), (2, 9)], {"filtered": 5}),
    "sum": (f"SELECT SUM(n) AS m FROM s {WINDOW}", [(10 * SECOND, -3)], {"errors": 1}),
    "groups": (
        f"SELECT id, SUM(n) AS m FROM s {WINDOW} GROUP BY id",
        [(5 * SECOND, 1, 12), (10 * SECOND, 1, -3)],
        {"errors": 1},
    ),
    "argument": (
        f"SELECT COUNT(*) AS c, SUM(n * 2) AS m FROM s {WINDOW}",
        [(5 * SECOND, 4, 26), (10 * SECOND, 1, -6)],
        {"failed": 1},
    ),
    "key": (
        f"SELECT n * 2 AS k, COUNT(*) AS c FROM s {WINDOW} GROUP BY n * 2",
        [
            (5 * SECOND, 2, 1),
            (5 * SECOND, 10, 1),
            (5 * SECOND, 14, 1),
            (5 * SECOND, None, 1),
            (10 * SECOND, -6, 1),
        ],
        {"failed": 1},
    ),
    "holistic": (
        f"SELECT MEDIAN(n * 2) AS m, SUM(n) AS t FROM s {WINDOW} WHERE id = 2",
        [(5 * SECOND, 2.0, 1), (10 * SECOND, None, None)],
        {"failed": 1, "filtered": 3},
    ),
    "holistic sum": (
        f"SELECT MEDIAN(n) AS m, SUM(n) AS t FROM s {WINDOW}",
        [(10 * SECOND, -3.0, -3)],
        {"errors": 1},
    ),
    "behind the window": (
        f"SELECT MAX(n) + 1 AS m FROM s {WINDOW}",
        [(10 * SECOND, -2)],
        {"errors": 1},
    ),
    "having": (
        f"SELECT id, MAX(n) AS m FROM s {WINDOW} GROUP BY id HAVING MAX(n) + 1 > 0",
        [(5 * SECOND, 1, 7)],
        {"errors": 1},
    ),
    "rows": ("SELECT SUM(n) AS m FROM s [ROWS 2 SLIDE 1 ROWS]", None, {"errors": 2}),
    "cast": (
        "SELECT CAST(CAST(n AS STRING) || 'x' AS INT) AS m FROM s WHERE n = 7",
        [],
        {"failed": 1, "filtered": 6},
    ),
}


def run(text: str, size: int, *, skips: bool, restart: bool = False) -> tuple[list[Any], Any, list[Any]]:
    database = nilometer.connect()
    database.execute("CREATE STREAM s (n INT) PUSHED DELAY 1 SECOND")
    query = database.sql(text)
    sources = DatabaseSources(database, query.physical)
    graph = Graph(sources)
    graph.install("q", query.physical, skips=skips)
    rows: list[Any] = []
    letters: list[Any] = []
    stream = database.catalog.stream("s")
    for at in range(0, len(ROWS), size):
        graph.push("s", Batch(frame_of(ROWS[at : at + size], stream)))
        graph.run()
        rows += [row for frame in graph.answers("q") for row in frame.rows()]
        letters += graph.letters("q")
        if restart:
            panes = graph.snapshot("q")
            graph = Graph(sources)
            graph.install("q", query.physical, skips=skips)
            graph.restore("q", panes)
    return rows, graph.ledger("q"), letters


def meant(text: str) -> list[Any]:
    """What the reference evaluator answers so far."""
    database = nilometer.connect()
    database.execute("CREATE STREAM s (n INT) PUSHED DELAY 1 SECOND")
    plan = database.sql(text).logical
    return list(evaluate(plan, {"s": Feed(tuple(ROWS))}, finished=False, skipping=DataError).rows)


def sorted_rows(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=repr)


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize(("size", "restart"), [(99, False), (1, False), (2, True)])
def test_rows_without_a_value_are_set_aside(name: str, size: int, restart: bool) -> None:
    text, expected, counts = QUERIES[name]
    rows, ledger, letters = run(text, size, skips=True, restart=restart)
    assert sorted_rows(rows) == sorted_rows(meant(text))
    if expected is not None:
        assert sorted_rows(rows) == sorted_rows(expected)
    assert ledger.balanced, ledger
    assert ledger.read == len(ROWS)
    found = {key: ledger.as_dict()[key] for key in counts}
    assert found == counts, ledger
    assert sum(letter.count for letter in letters) == ledger.dead
    assert all(letter.rows.height == letter.count for letter in letters)
    assert all(
        "overflow" in letter.reason or "is not" in letter.reason or "CAST" in str(letter.error)
        for letter in letters
    )


@pytest.mark.parametrize(
    "name", [name for name, (_, _, counts) in QUERIES.items() if {"failed", "errors"} & counts.keys()]
)
def test_a_query_that_does_not_skip_stops(name: str) -> None:
    with pytest.raises(DataError):
        run(QUERIES[name][0], 2, skips=False)
    with pytest.raises(DataError):  # at once: nothing of that round is answered
        run(QUERIES[name][0], 99, skips=False)


def test_queries_with_a_common_stage_decide_for_themselves() -> None:
    database = nilometer.connect()
    database.execute("CREATE STREAM s (n INT) PUSHED DELAY 1 SECOND")
    query = database.sql(f"SELECT SUM(n * 2) AS m FROM s {WINDOW}")
    graph = Graph(DatabaseSources(database, query.physical))
    graph.install("skips", query.physical, skips=True)
    graph.install("stops", query.physical)
    graph.push("s", Batch(frame_of(ROWS, database.catalog.stream("s"))))
    graph.run()
    with pytest.raises(DataError, match="integer overflow"):
        graph.answers("stops")
    assert [row for frame in graph.answers("skips") for row in frame.rows()] == [
        (5 * SECOND, 26),
        (10 * SECOND, -6),
    ]
    (letter,) = graph.letters("skips")
    assert (letter.rows["@position"].to_list(), letter.rows["@id"].to_list()) == ([1], [2])
