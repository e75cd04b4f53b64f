"""Joins of windows that share their rows answer as each would alone: across snapshots, errors, the end of the streams,
and queries that come and go."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import nilometer
from nilometer.dataflow import Batch, Entry, Heartbeat, MemorySources, Run
from nilometer.dataflow.graph import Graph
from nilometer.dataflow.group import fits
from nilometer.dataflow.join_queries import join_query
from nilometer.engine.data import frame_of
from nilometer.errors import DataError, ResourceError
from nilometer.operators import limits
from nilometer.operators.window_matches import Reach, nested
from nilometer.plan.reference import same_answer
from nilometer.types import SECOND

SCHEMA = """
CREATE STREAM s (k INT, n INT) PUSHED DELAY 3 SECONDS;
CREATE STREAM t (k INT, n INT) PUSHED;
CREATE STREAM felt (k INT, n INT) SENSED EVERY 2 SECONDS;
"""

EMPTY: dict[str, Any] = {"s": (), "t": (), "felt": ()}


@st.composite
def windows(draw: Any) -> tuple[str, str]:
    def window() -> str:
        length, slide = draw(st.sampled_from((1, 2, 3, 5, 8, 20))), draw(st.sampled_from((1, 1, 1, 2, 5)))
        return f"[RANGE {length} SECONDS SLIDE {slide} SECONDS]"

    left = window()
    if draw(st.integers(0, 5)) == 5:
        return left, "[FROM NOW - 4 SECONDS TO NOW - 2 SECONDS SLIDE 1 SECOND]"
    return left, left if draw(st.booleans()) else window()


@st.composite
def families(draw: Any) -> list[str]:
    """Joins that differ in their windows, and some in what they say about the rows."""
    other = draw(st.sampled_from(("s", "s", "t")))
    on = draw(st.sampled_from(("a.k = b.k", "a.k = b.k", "a.k = b.k AND a.n < b.n", "a.n + 1 < b.n")))
    items = st.sampled_from(("a.k, a.n AS x, b.n AS y", "a.k, a.n AS x, b.n AS y", "a.n + b.n AS total"))
    return [
        f"SELECT {draw(items)} FROM s {left} a, {other} {right} b WHERE {on}"
        for left, right in draw(st.lists(windows(), min_size=2, max_size=6))
    ]


readings = st.lists(
    st.fixed_dictionaries(
        {
            "stream": st.sampled_from(("s", "s", "t")),
            "time": st.integers(0, 60).map(lambda half: half * SECOND // 2),
            "id": st.integers(1, 2),
            "k": st.one_of(st.none(), st.integers(0, 2)),
            "n": st.one_of(st.none(), st.integers(-5, 5)),
        }
    ),
    min_size=1,
    max_size=40,
)


@pytest.fixture(scope="module")
def database() -> nilometer.Database:
    found = nilometer.connect()
    found.execute(SCHEMA)
    return found


def entries_of(
    database: nilometer.Database, listed: list[Any], size: int, sort: bool
) -> list[tuple[str, Entry]]:
    if sort:
        listed = sorted(listed, key=lambda row: row["time"])
    entries: list[tuple[str, Entry]] = []
    for at in range(0, len(listed), size):
        for name in ("s", "t"):
            rows = [
                {key: value for key, value in row.items() if key != "stream"}
                for row in listed[at : at + size]
                if row["stream"] == name
            ]
            if rows:
                entries.append((name, Batch(frame_of(rows, database.catalog.stream(name)))))
    if sort:
        middle = listed[len(listed) // 2]["time"]
        entries.append(("t", Heartbeat(max(middle, listed[-1]["time"]))))
    return entries


def judge(database: nilometer.Database, sql: str, seen: list[Any], found: list[Any], end: bool) -> None:
    logs = {name: [entry for stream, entry in seen if stream == name] for name in EMPTY}
    run = Run(database.sql(sql).physical, MemorySources(logs, {}, EMPTY), 5, finished=end)
    difference = same_answer(run.collect().rows(), found)
    assert difference is None, f"{difference}\n{sql}"


@given(
    queries=families(),
    rows=readings,
    size=st.integers(1, 12),
    sort=st.booleans(),
    again=st.integers(0, 12),
    came=st.lists(st.integers(0, 6), min_size=6, max_size=6),
    end=st.booleans(),
)
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40, print_blob=True)
def test_each_join_answers_as_if_it_were_alone(
    database: nilometer.Database,
    queries: list[str],
    rows: list[Any],
    size: int,
    sort: bool,
    again: int,
    came: list[int],
    end: bool,
) -> None:
    for sql in queries:
        note(sql)
    plans = [database.sql(sql).physical for sql in queries]
    assert all(join_query(plan) is not None for plan in plans)
    sources = MemorySources({name: [] for name in EMPTY}, {}, EMPTY)
    graph = Graph(sources)
    entries = entries_of(database, rows, size, sort)
    found: list[list[Any]] = [[] for _ in queries]
    # Half of the queries come at a random moment, the others at the beginning; the last one goes in between.
    begins = [0 if number % 2 else min(came[number], len(entries)) for number in range(len(plans))]
    goes = len(entries) // 2
    gone = len(plans) - 1 if begins[-1] < goes else None

    def fetch() -> None:
        graph.run()
        for name in graph.queries:
            for frame in graph.answers(name):
                found[int(name[1:])] += frame.rows()

    for place, (stream, entry) in enumerate([*entries, ("s", None)]):
        if place == again:
            fetch()
            running = graph.queries
            panes = graph.snapshots(running)
            graph = Graph(sources)
            for name in running:
                plan = plans[int(name[1:])]
                assert fits(panes[name], plan, sources)
                graph.install(name, plan)
                graph.restore(name, panes[name])
        if gone is not None and place == goes:
            fetch()
            graph.remove(f"q{gone}")
        for number, begin in enumerate(begins):
            if begin == place:
                graph.install(f"q{number}", plans[number])
        if entry is not None:
            graph.push(stream, entry)
        if place % 2:
            fetch()
    if end:
        graph.end("s")
        graph.end("t")
    fetch()
    for number, sql in enumerate(queries):
        last = goes if number == gone else len(entries)
        judge(database, sql, entries[begins[number] : last], found[number], end and number != gone)
        if number != gone:
            assert graph.ledger(f"q{number}").balanced


def fill(database: nilometer.Database, graph: Graph, rows: list[dict[str, int]]) -> None:
    graph.push("s", Batch(frame_of(rows, database.catalog.stream("s"))))
    graph.run()


def self_join(seconds: int) -> str:
    window = f"[RANGE {seconds} SECONDS SLIDE 1 SECOND]"
    return f"SELECT a.n AS x, b.n AS y FROM s {window} a, s {window} b WHERE a.k = b.k"


def test_different_ranges_are_one_store_and_parts_of_one_frame(database: nilometer.Database) -> None:
    graph = Graph(MemorySources({"s": []}, {}, {"s": ()}), answer_rows=2**63 - 1)
    for number in range(1, 6):
        graph.install(f"q{number}", database.sql(self_join(number)).physical)
    fill(database, graph, [{"time": at * SECOND, "id": 1, "k": 1, "n": at} for at in range(1, 12)])
    panes = graph.snapshots(graph.queries)
    assert len({id(own["000 MATCHES"]) for own in panes.values()}) == 1
    told = graph.analysis("q3")
    assert "rows of the widest windows, shared with 4 other queries" in told
    assert told.count("done by the operator above") == 2
    graph.remove("q5")
    assert "shared with 3 other queries" in graph.analysis("q1")


def test_an_overflow_stops_one_join_only(database: nilometer.Database) -> None:
    graph = Graph(MemorySources({"s": []}, {}, {"s": ()}))
    for seconds in (1, 5):
        windows = f"s [RANGE 1 SECOND SLIDE 1 SECOND] a, s [RANGE {seconds} SECONDS SLIDE 1 SECOND] b"
        sql = f"SELECT a.n + b.n AS total FROM {windows} WHERE a.k < b.k"
        graph.install(f"q{seconds}", database.sql(sql).physical)
    rows = [
        {"time": SECOND, "id": 1, "k": 5, "n": 2**62 + 2**61},
        {"time": 3 * SECOND, "id": 1, "k": 1, "n": 2**62 + 2**61},
        {"time": 3 * SECOND, "id": 1, "k": 2, "n": 1 - 2**62},
        {"time": 20 * SECOND, "id": 1, "k": 1, "n": 2},
    ]
    fill(database, graph, rows)
    assert [row[1] for frame in graph.answers("q1") for row in frame.rows()] == [2**61 + 1]
    assert isinstance(graph.failure("q5").error, DataError)  # type: ignore[union-attr]


def test_the_join_that_reaches_furthest_back_stops_first(
    database: nilometer.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = Graph(MemorySources({"s": []}, {}, {"s": ()}))
    for seconds in (1, 50):
        graph.install(f"q{seconds}", database.sql(self_join(seconds)).physical)
    monkeypatch.setattr(limits, "ROWS_KEPT", 30)
    for at in range(1, 60):
        fill(database, graph, [{"time": at * SECOND, "id": 1, "k": 1, "n": at}])
    assert graph.failure("q1") is None
    assert isinstance(graph.failure("q50").error, ResourceError)  # type: ignore[union-attr]
    assert sum(frame.height for frame in graph.answers("q1")) == 55


def test_a_sensed_stream_shares_too(database: nilometer.Database) -> None:
    sql = "SELECT a.n AS x, b.n AS y FROM felt [NOW] a, felt [RANGE {} SECONDS] b WHERE a.k = b.k"
    plans = [database.sql(sql.format(seconds)).physical for seconds in (4, 10)]
    assert {join_query(plan).family for plan in plans if join_query(plan) is not None} == {
        join_query(plans[0]).family  # type: ignore[union-attr]
    }
    rows = [{"time": at * SECOND, "id": 1, "k": 1, "n": at} for at in range(0, 40, 2)]
    entry = Batch(frame_of(rows, database.catalog.stream("felt")))
    graph = Graph(MemorySources({"felt": []}, {}, {"felt": ()}))
    for number, plan in enumerate(plans):
        graph.install(f"q{number}", plan)
    graph.push("felt", entry)
    graph.run()
    for number, plan in enumerate(plans):
        expected = Run(plan, MemorySources({"felt": [entry]}, {}, {"felt": ()}), 5, finished=False).collect()
        given = [row for frame in graph.answers(f"q{number}") for row in frame.rows()]
        assert same_answer(expected.rows(), given) is None
        assert given


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), max_size=12))
def test_chains_are_nested_and_have_every_window_once(pairs: list[tuple[int, int]]) -> None:
    chains = nested(Reach(*pair) for pair in pairs)
    assert sorted(reach for chain in chains for reach in chain) == sorted({Reach(*pair) for pair in pairs})
    for chain in chains:
        assert all(a.left <= b.left and a.right <= b.right for a, b in pairwise(chain))
