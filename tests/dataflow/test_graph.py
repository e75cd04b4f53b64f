"""Queries folded into one graph, coming and going at random, against `Run` over what each of them saw."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import nilometer
from nilometer.dataflow import Batch, Entry, Heartbeat, MemorySources, Run
from nilometer.dataflow.graph import Graph
from nilometer.dataflow.schedulers import RoundRobin, Scheduler, Status, Unit
from nilometer.engine.data import frame_of
from nilometer.engine.gateway import DatabaseSources
from nilometer.errors import ConfigurationError, DataError
from nilometer.plan import physical
from nilometer.plan.reference import same_answer
from properties.random_queries import SCHEMA, STREAMS, TABLE_ROWS, Case, cases

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
RELAXED = settings(
    deadline=None, suppress_health_check=list(HealthCheck), max_examples=4500 if LONG else 60, print_blob=True
)


class Shuffled:
    """Steps any unit that may work, again and again."""

    def __init__(self) -> None:
        self._random = random.Random(7)

    def run(self, units: Sequence[Unit]) -> None:
        waiting = list(units)
        while waiting:
            unit = self._random.choice(waiting)
            if unit.step() is Status.WORKED:
                waiting = list(units)  # its output may be the input that another unit waited for
            else:
                waiting.remove(unit)


SCHEDULERS: dict[str, Callable[[], Scheduler]] = {"round robin": RoundRobin, "shuffled": Shuffled}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> nilometer.Database:
    path = tmp_path_factory.mktemp("table") / "t.parquet"
    pl.DataFrame(TABLE_ROWS, schema={"k": pl.Int64, "label": pl.String, "weight": pl.Float64}).write_parquet(
        path
    )
    found = nilometer.connect()
    found.execute(SCHEMA + f"CREATE TABLE t (k INT, label STRING, weight FLOAT) STORED AT '{path}';")
    return found


@dataclass
class Watched:
    """A query, what was pushed while it was there, and what it answered."""

    sql: str
    plan: physical.Node
    seen: dict[str, list[Entry]] = field(default_factory=lambda: {name: [] for name in STREAMS})
    rows: list[Any] = field(default_factory=list)
    failed: bool = False

    def fetch(self, graph: Graph, name: str) -> None:
        try:
            for frame in graph.answers(name):
                self.rows += frame.rows()
        except DataError:
            self.failed = True

    def judge(self, database: nilometer.Database, finished: bool) -> None:
        declared = {
            stream.name: database.catalog.sensors(stream.name) for stream in database.catalog.streams()
        }
        table = database.data.table(database.catalog.extent("t"), database.catalog)
        sources = MemorySources(self.seen, {"t": table}, declared)
        try:
            expected = Run(self.plan, sources, 5, finished=finished).collect()
        except DataError:
            assert self.failed, self.sql
            return
        assert not self.failed, self.sql
        difference = same_answer(expected.rows(), self.rows)
        assert difference is None, f"{difference}\n{self.sql}"


def entries_of(database: nilometer.Database, case: Case, sizes: list[int]) -> list[tuple[str, Entry]]:
    """The logs of all streams, cut into batches and shuffled together as the sizes say."""
    queues = {name: list(case.logs[name]) for name in STREAMS}
    result: list[tuple[str, Entry]] = []
    turn = 0
    while any(queues.values()):
        name = STREAMS[turn % len(STREAMS)]
        size = sizes[turn % len(sizes)]
        turn += 1
        taken, queues[name] = queues[name][:size], queues[name][size:]
        stream = database.catalog.stream(name)
        rows: list[Any] = []
        for entry in [*taken, None]:
            if isinstance(entry, dict):
                rows.append(entry)
                continue
            if rows:
                result.append((name, Batch(frame_of(rows, stream))))
                rows = []
            if entry is not None:
                result.append((name, Heartbeat(entry)))
    return result


@st.composite
def stories(draw: Any) -> tuple[list[Case], list[int], list[tuple[str, int]]]:
    """Queries (some of them twice), the sizes of batches, and what happens before which entry."""
    queries = draw(st.lists(cases(), min_size=1, max_size=4))
    if draw(st.booleans()):
        queries.append(queries[0])
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    deeds = st.sampled_from(("install", "install", "remove", "run", "restore", "restart"))
    story = draw(st.lists(st.tuples(deeds, st.integers(0, 12)), max_size=8))
    return queries, sizes, story


@given(name=st.sampled_from(list(SCHEDULERS)), story=stories())
@RELAXED
def test_each_query_answers_as_if_it_were_alone(
    database: nilometer.Database, name: str, story: tuple[list[Case], list[int], list[tuple[str, int]]]
) -> None:
    queries, sizes, deeds = story
    scheduler: Scheduler = SCHEDULERS[name]()
    plans = [(case.sql, database.sql(case.sql).physical) for case in queries]
    for sql, _ in plans:
        note(sql)
    sources = DatabaseSources(database, plans[0][1])
    graph = Graph(sources, scheduler=scheduler)
    live: dict[str, Watched] = {}
    waiting = list(enumerate(plans))

    def install() -> None:
        if waiting:
            number, (sql, plan) = waiting.pop(0)
            live[f"q{number}"] = Watched(sql, plan)
            graph.install(f"q{number}", plan)

    def take_out(which: str) -> None:
        graph.run()
        watched = live.pop(which)
        watched.fetch(graph, which)
        watched.fetch(graph, which)
        graph.remove(which)
        watched.judge(database, False)

    def move(old: Graph, new: Graph, which: str) -> None:
        try:
            panes = old.snapshot(which)
        except DataError:
            live[which].fetch(old, which)
            live[which].failed = True
            old.remove(which)
            live.pop(which).judge(database, False)
            return
        if old is new:
            new.remove(which)
        new.install(which, live[which].plan)
        new.restore(which, panes)

    entries = entries_of(database, queries[0], sizes)
    install()
    install()
    for place, (stream, entry) in enumerate(entries):
        for deed, moment in deeds:
            if moment != place:
                continue
            match deed:
                case "install":
                    install()
                case "remove" if live:
                    take_out(next(iter(live)))
                case "run":
                    graph.run()
                case "restore" if live:
                    move(graph, graph, next(iter(live)))
                case "restart":
                    other = Graph(sources, scheduler=SCHEDULERS[name]())
                    for which in list(live):
                        move(graph, other, which)
                    graph = other
        graph.push(stream, entry)
        for watched in live.values():
            watched.seen[stream].append(entry)
        for which in live:
            assert graph.ledger(which).balanced
    for stream in STREAMS:
        graph.end(stream)
    graph.run()
    for which, watched in live.items():
        watched.fetch(graph, which)
        watched.fetch(graph, which)  # what made it fail comes after its rows
        watched.judge(database, True)
        assert graph.ledger(which).balanced


def test_what_is_not_there_is_said(database: nilometer.Database) -> None:
    graph = Graph(DatabaseSources(database, database.sql("SELECT * FROM a").physical))
    plan = database.sql("SELECT x FROM a").physical
    graph.install("one", plan)
    with pytest.raises(ConfigurationError, match="already"):
        graph.install("one", plan)
    with pytest.raises(ConfigurationError, match="no query 'two'"):
        graph.answers("two")
    with pytest.raises(ConfigurationError, match="does not read 's'"):
        graph.stream_watermark("one", "s")
