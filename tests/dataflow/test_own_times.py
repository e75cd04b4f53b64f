"""Whose work it is: the time of what no other query has a part in, by which a dear query is set apart (live/apart.py)."""

from __future__ import annotations

import pytest

import nilometer
from nilometer.dataflow import Batch, MemorySources
from nilometer.dataflow.graph import Graph
from nilometer.engine.data import frame_of
from nilometer.types import SECOND

DATABASE = nilometer.connect()
DATABASE.execute("CREATE STREAM s (k INT, x INT) PUSHED;")
STREAM = DATABASE.catalog.stream("s")
JOIN = (
    "SELECT a.k, a.x AS x, b.x AS y FROM s [RANGE {0} SECONDS SLIDE 1 SECOND] a,"
    " s [RANGE {0} SECONDS SLIDE 1 SECOND] b WHERE a.k = b.k"
)
WINDOW = "SELECT k, SUM(x) AS total FROM s [RANGE {0} SECONDS SLIDE 1 SECOND] GROUP BY k"
HIGH, ODD = "SELECT x FROM s WHERE x > {0}", "SELECT x FROM s WHERE x * x > {0}"


def graph_of(*queries: str) -> Graph:
    graph = Graph(MemorySources())
    for number, sql in enumerate(queries):
        graph.install(f"q{number}", DATABASE.sql(sql).physical)
    return graph


def push(graph: Graph, second: int) -> None:
    rows = [{"time": second * SECOND, "id": 1, "k": k, "x": second + k} for k in range(5)]
    graph.push("s", Batch(frame_of(rows, STREAM)))
    graph.run()
    for name in graph.queries:
        graph.answers(name)


def times(graph: Graph, seconds: range = range(10)) -> dict[str, int]:
    for second in seconds:
        push(graph, second)
    return dict(graph.own_times(None))


@pytest.mark.parametrize("sql", [JOIN, WINDOW], ids=["join", "window"])
def test_a_query_that_shares_its_rows_with_nobody_has_their_time(sql: str) -> None:
    graph = graph_of(sql.format(5), HIGH.format(3), HIGH.format(4))
    own = times(graph)
    assert own["q0"] > 0
    assert (own["q1"], own["q2"]) == (0, 0)
    work = graph.work("q0").nanoseconds
    assert own["q0"] == pytest.approx(work, rel=0.01)


@pytest.mark.parametrize("sql", [JOIN, WINDOW, HIGH], ids=["join", "window", "filter"])
def test_what_several_share_is_nobodys(sql: str) -> None:
    assert times(graph_of(sql.format(5), sql.format(7))) == {"q0": 0, "q1": 0}


@pytest.mark.parametrize("sql", [JOIN, WINDOW, HIGH, ODD], ids=["join", "window", "filter", "computed"])
def test_equal_queries_have_no_work_of_their_own(sql: str) -> None:
    graph = graph_of(sql.format(5), sql.format(5))
    assert times(graph) == {"q0": 0, "q1": 0}
    graph.remove("q1")
    assert times(graph, range(10, 20))["q0"] > 0


def test_a_filter_that_must_be_computed_has_its_time() -> None:
    own = times(graph_of(HIGH.format(3), ODD.format(3), HIGH.format(4)))
    assert own["q1"] > 0
    assert (own["q0"], own["q2"]) == (0, 0)


@pytest.mark.parametrize("sql", [JOIN, WINDOW, HIGH], ids=["join", "window", "filter"])
def test_what_was_shared_is_not_owned_later(sql: str) -> None:
    """Else the work of the past would look like that of the last moment."""
    graph = graph_of(sql.format(5), sql.format(7))
    times(graph)
    graph.remove("q1")
    assert graph.own_times(None)["q0"] == 0
    assert times(graph, range(10, 20))["q0"] > 0
