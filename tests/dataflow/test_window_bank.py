"""Windows that share slices answer as each would alone, across snapshots, errors and the end of the stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import nilometer
from nilometer.dataflow import Batch, Entry, Heartbeat, MemorySources, Run
from nilometer.dataflow.graph import Graph
from nilometer.dataflow.group import fits
from nilometer.dataflow.window_queries import window_query
from nilometer.engine.data import frame_of
from nilometer.errors import DataError, NilometerError
from nilometer.plan.reference import same_answer
from nilometer.types import SECOND

SCHEMA = "CREATE STREAM s (k INT, x FLOAT, n INT) PUSHED DELAY 3 SECONDS;"

ranges = st.sampled_from((1, 2, 3, 5, 7, 10, 16, 40, 90))
slides = st.sampled_from((1, 1, 2, 5, 10))
selected = st.sampled_from(
    (
        "k, COUNT(*) AS c, SUM(x) AS total",
        "k, COUNT(*) AS c, SUM(x) AS total",
        "k, MIN(n) AS least, MAX(x) AS most",
        "k, AVG(x) + 1 AS mean",
        "SUM(n) AS total, COUNT(x) AS known",
    )
)


@st.composite
def windows(draw: Any) -> str:
    items, length, slide = draw(selected), draw(ranges), draw(slides)
    group = " GROUP BY k" if items.startswith("k,") else ""
    having = " HAVING COUNT(*) > 1" if group and draw(st.booleans()) else ""
    where = draw(st.sampled_from(("", "", " WHERE x > 0")))
    return f"SELECT {items} FROM s [RANGE {length} SECONDS SLIDE {slide} SECONDS]{where}{group}{having}"


rows = st.lists(
    st.fixed_dictionaries(
        {
            "time": st.integers(0, 200).map(lambda half: half * SECOND // 2),
            "id": st.integers(1, 2),
            "k": st.one_of(st.none(), st.integers(0, 2)),
            "x": st.one_of(st.none(), st.integers(-40, 40).map(lambda tenth: tenth / 8)),
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


def entries_of(database: nilometer.Database, readings: list[Any], size: int, sort: bool) -> list[Entry]:
    stream = database.catalog.stream("s")
    listed = sorted(readings, key=lambda row: row["time"]) if sort else readings
    cut: list[Entry] = [Batch(frame_of(listed[at : at + size], stream)) for at in range(0, len(listed), size)]
    if sort:
        cut.insert(len(cut) // 2, Heartbeat(listed[len(listed) // 2]["time"]))
    return cut


def judge(database: nilometer.Database, sql: str, seen: Sequence[Entry], found: list[Any], end: bool) -> None:
    plan = database.sql(sql).physical
    expected = Run(plan, MemorySources({"s": list(seen)}, {}, {"s": ()}), 5, finished=end).collect()
    difference = same_answer(expected.rows(), found)
    assert difference is None, f"{difference}\n{sql}"


@given(
    queries=st.lists(windows(), min_size=2, max_size=6),
    readings=rows,
    size=st.integers(1, 12),
    sort=st.booleans(),
    again=st.integers(0, 12),
    end=st.booleans(),
)
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=25, print_blob=True)
def test_each_window_answers_as_if_it_were_alone(
    database: nilometer.Database,
    queries: list[str],
    readings: list[Any],
    size: int,
    sort: bool,
    again: int,
    end: bool,
) -> None:
    for sql in queries:
        note(sql)
    plans = [database.sql(sql).physical for sql in queries]
    assert all(window_query(plan) is not None for plan in plans)
    sources = MemorySources({"s": []}, {}, {"s": ()})
    graph = Graph(sources)
    found: list[list[Any]] = [[] for _ in queries]
    for number, plan in enumerate(plans):
        graph.install(f"q{number}", plan)

    def fetch() -> None:
        graph.run()
        for number in range(len(plans)):
            for frame in graph.answers(f"q{number}"):
                found[number] += frame.rows()

    entries = entries_of(database, readings, size, sort)
    for place, entry in enumerate(entries):
        if place == again:
            fetch()
            panes = graph.snapshots(f"q{number}" for number in range(len(plans)))
            graph = Graph(sources)
            for number, plan in enumerate(plans):
                assert fits(panes[f"q{number}"], plan, sources)
                graph.install(f"q{number}", plan)
                graph.restore(f"q{number}", panes[f"q{number}"])
        graph.push("s", entry)
        if place % 2:
            fetch()
    if end:
        graph.end("s")
    fetch()
    for number, sql in enumerate(queries):
        judge(database, sql, entries, found[number], end)
        assert graph.ledger(f"q{number}").balanced


def test_different_ranges_are_one_store(database: nilometer.Database) -> None:
    graph = Graph(MemorySources({"s": []}, {}, {"s": ()}))
    for number in range(1, 6):
        sql = f"SELECT k, AVG(x) AS m FROM s [RANGE {number} SECONDS SLIDE 1 SECOND] GROUP BY k"
        graph.install(f"q{number}", database.sql(sql).physical)
    graph.push(
        "s",
        Batch(frame_of([{"time": SECOND, "id": 1, "k": 1, "x": 1.0, "n": 1}], database.catalog.stream("s"))),
    )
    graph.run()
    panes = graph.snapshots(graph.queries)
    assert len({id(own["000 SLICES"]) for own in panes.values()}) == 1
    assert "shared with 4 other queries" in graph.analysis("q3")
    graph.remove("q3")
    assert "shared with 3 other queries" in graph.analysis("q1")


def test_an_overflow_stops_one_window_only(database: nilometer.Database) -> None:
    graph = Graph(MemorySources({"s": []}, {}, {"s": ()}))
    sums = "SELECT SUM(n) AS total FROM s [RANGE {} SECONDS SLIDE 1 SECOND]"
    for number in (1, 10):
        graph.install(f"q{number}", database.sql(sums.format(number)).physical)
    large = [{"time": at * SECOND, "id": 1, "k": 1, "x": 1.0, "n": 2**62 + 2**61} for at in range(1, 8)]
    graph.push("s", Batch(frame_of(large, database.catalog.stream("s"))))
    graph.run()
    narrow = [row for frame in graph.answers("q1") for row in frame.rows()]
    assert {total for _, total in narrow} == {2**62 + 2**61}
    with pytest.raises(NilometerError):
        graph.answers("q10")
    assert graph.failure("q1") is None
    assert isinstance(graph.failure("q10").error, DataError)  # type: ignore[union-attr]


def test_filters_of_different_moments_come_together(database: nilometer.Database) -> None:
    graph = Graph(MemorySources({"s": []}, {}, {"s": ()}))
    stream = database.catalog.stream("s")

    def push(second: int) -> None:
        row = {"time": second * SECOND, "id": 1, "k": second, "x": 1.0, "n": 1}
        graph.push("s", Batch(frame_of([row], stream)))
        graph.run()

    for number in range(3):
        graph.install(f"q{number}", database.sql(f"SELECT k FROM s WHERE k >= {number}").physical)
        push(10 + number)
    assert "one filter bank with 2 other queries" in graph.analysis("q0")
    push(20)
    assert [graph.ledger(f"q{number}").read for number in range(3)] == [4, 3, 2]
    assert all(graph.ledger(f"q{number}").balanced for number in range(3))
    graph.remove("q0")
    assert [sum(frame.height for frame in graph.answers(name)) for name in graph.queries] == [3, 2]
