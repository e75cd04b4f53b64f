"""Random queries that come, go, are stopped and killed while random streams run: each answers what the log it has read says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import nilometer
from ingest.manager.streams import Hand, Spring, Well
from log.logs import scratch
from nilometer.catalog.extents import Stream
from nilometer.dataflow import Entry, MemorySources, Run
from nilometer.engine import Database
from nilometer.engine.data import frame_of
from nilometer.errors import DataError
from nilometer.ingest.adapters import Adapter, ReadResult, Status
from nilometer.ingest.adapters.adapter import Clock
from nilometer.live.live_query import LiveQuery
from nilometer.live.outside import Outside
from nilometer.live.standing import result_log
from nilometer.live.starts import BEGINNING, NOW
from nilometer.live.station import Station
from nilometer.live.station_settings import StationSettings
from nilometer.log import LogDirectory, LogSettings, Offset
from nilometer.plan.reference import same_answer
from nilometer.types import SECOND
from properties.random_queries import BASE, SCHEMA, STREAMS, TABLE_ROWS, cases

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
RELAXED = settings(
    deadline=None, suppress_health_check=list(HealthCheck), max_examples=600 if LONG else 30, print_blob=True
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    path = tmp_path_factory.mktemp("table") / "t.parquet"
    pl.DataFrame(TABLE_ROWS, schema={"k": pl.Int64, "label": pl.String, "weight": pl.Float64}).write_parquet(
        path
    )
    found = nilometer.connect()
    found.execute(SCHEMA + f"CREATE TABLE t (k INT, label STRING, weight FLOAT) STORED AT '{path}';")
    return found


@dataclass
class Watched:
    """A query that runs, where it began, and what it has answered."""

    sql: str
    live: LiveQuery
    start: Mapping[str, Offset]
    rows: list[Any]

    def fetch(self) -> None:
        try:
            for answer in self.live.take():
                self.rows += answer.rows
        except DataError:
            assert self.live.failure is not None


class Field:
    """Stations over three wells, one after the other, and the judge."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database = database
        self.folder = folder
        self.clock = Hand(BASE)
        self.wells = {name: Well() for name in STREAMS}
        self.watched: dict[str, Watched] = {}
        self.durable: dict[str, tuple[str, Mapping[str, Offset]]] = {}
        self.answered = self.restored = 0
        self.station = self.begin()

    def begin(self) -> Station:
        station = Station(
            self.database,
            self.folder,
            StationSettings(logging=LogSettings(segment_bytes=2_000)),
            Outside(clock=self.clock, adapter_of=self.adapter),
        )
        for name, (sql, _) in self.durable.items():
            station.install(self.database.sql(sql), name, durable=True)
        return station

    def adapter(self, stream: Stream, clock: Clock) -> Adapter:
        return Spring(stream, clock, self.wells[stream.name.lower()])

    def pour(self, name: str, entries: list[Any]) -> None:
        """Readings, and heartbeats behind what was read before them."""
        rows = [entry for entry in entries if not isinstance(entry, int)]
        if rows:
            well = self.wells[name]
            well.results.append(
                ReadResult(Status.NEW_VALUE, frame_of(rows, self.database.catalog.stream(name)))
            )
            well.wake.set()
        for entry in entries:
            if isinstance(entry, int):
                self.station.manager.heartbeat(name, entry)

    def step(self) -> None:
        self.clock.now += SECOND // 3
        self.station.step()
        for live in self.station.queries.values():
            assert live.failure is not None or live.ledger.balanced
        for watched in self.watched.values():
            watched.fetch()

    def install(self, number: int, sql: str, how: str) -> None:
        name = f"{how}{number}"
        query = self.database.sql(sql)
        start = NOW if how == "now" else BEGINNING
        live = self.station.install(query, name, start=start, durable=how == "durable")
        offsets = dict(live.offsets)
        if how == "durable":
            self.durable[name] = (sql, offsets)
        else:
            self.watched[name] = Watched(sql, live, offsets, [])

    def remove(self, name: str) -> None:
        """Stop a query; a durable one goes on later."""
        if name in self.durable:
            self.station.remove(name)
            self.judge_durable(name)
            self.station.install(self.database.sql(self.durable[name][0]), name, durable=True)
            return
        watched = self.watched.pop(name)
        end = dict(watched.live.offsets)
        self.station.remove(name)
        watched.fetch()
        watched.fetch()
        self.judge(watched, end)

    def restart(self, how: str) -> None:
        """In order, or killed."""
        for name in list(self.watched):
            self.remove(name)
        if how == "close":
            self.station.close()
        else:
            self.station.abandon()
            for well in self.wells.values():
                done = {id(each) for each in well.acknowledged}
                well.results = [each for each in well.results if id(each) not in done]
        for name in self.durable:
            self.judge_durable(name)
            self.restored += 1
        self.station = self.begin()

    # ---- the judge -----------------------------------------------------------------------------------------------------

    def entries(self, name: str, start: Offset, end: Offset | None) -> list[Entry]:
        """What stands in the log between two places."""
        found = []
        for entry in LogDirectory(self.folder).log(self.database.catalog.stream(name)).read(start):
            at = Offset(entry.after.number - 1, entry.position)
            if end is not None and at >= end:
                break
            if end is not None and entry.after > end and entry.rows is not None:
                entry = replace(entry, rows=entry.rows[: end.position - entry.position])
            found.append(entry.entry())
        return found

    def expected(
        self, sql: str, start: Mapping[str, Offset], end: Mapping[str, Offset] | None, *, finished: bool
    ) -> list[Any]:
        catalog = self.database.catalog
        logs = {
            name: self.entries(name, at, None if end is None else end[name]) for name, at in start.items()
        }
        sensors = {stream.name: catalog.sensors(stream.name) for stream in catalog.streams()}
        table = self.database.data.table(catalog.extent("t"), catalog)
        sources = MemorySources({name: logs.get(name, []) for name in STREAMS}, {"t": table}, sensors)
        return Run(self.database.sql(sql).physical, sources, 4, finished=finished).collect().rows()

    def judge(
        self, watched: Watched, end: Mapping[str, Offset] | None = None, *, finished: bool = False
    ) -> None:
        try:
            expected = self.expected(watched.sql, watched.start, end, finished=finished)
        except DataError:
            assert watched.live.failure is not None
            return
        assert watched.live.failure is None, watched.live.failure
        self.answered += len(expected)
        difference = same_answer(expected, watched.rows)
        assert difference is None, f"{difference}\n{watched.sql}"

    def judge_durable(self, name: str) -> None:
        """Its result log holds the answers up to its last commit, each once."""
        sql, start = self.durable[name]
        results = result_log(self.folder, name)
        assert results.last is not None
        assert results.last.ledger.balanced
        expected = self.expected(sql, start, results.last.offsets, finished=False)
        given = [row for frame in results.answers() for row in frame.rows()]
        self.answered += len(expected)
        difference = same_answer(expected, given)
        assert difference is None, f"{name}: {difference}\n{sql}"


STATEFUL = [
    "SELECT r.id AS k, COUNT(*) AS n, AVG(r.v) AS m FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] r GROUP BY r.id",
    "SELECT SUM(r.x) AS t, MAX(r.time) AS last FROM s [RANGE 6 SECONDS SLIDE 2 SECONDS] r",
    "SELECT r.time AS t, LAG(r.x, 2) AS l FROM b AS r",
    "SELECT r.x AS n, q.x AS m, time AS at FROM a AS r, b AS q WINDOW = 3 SECONDS WHERE r.id = q.id",
    "ISTREAM SELECT r.id AS i, r.x AS x FROM a [RANGE 5 ROWS] r",
    "SELECT r.id AS i, q.x AS y FROM a [RANGE 3 SECONDS SLIDE 1 SECOND] r, s [RANGE 3 SECONDS SLIDE 1 SECOND] q"
    " WHERE r.id = q.id",
    "SELECT r.time AS t, q.time AS found FROM a AS r ASOF JOIN b AS q ON r.id = q.id",
]
DEEDS = st.sampled_from(
    ["go on"] * 4 + ["remove", "close", "abandon", "now", "beginning", "durable", "durable"]
)


def log_of(random: Random, rows: int) -> list[Any]:
    """A stream's readings: rising times, with ties, jumps back, NULLs, and now and then a heartbeat."""
    entries: list[Any] = []
    now = 0
    for _ in range(rows):
        now = max(0, now + random.choice((0, 1, 1, 2, 2, 3, -1, -3)) * SECOND // 2)
        if not random.randrange(12):
            entries.append(BASE + now)
            continue
        entries.append(
            {
                "time": BASE + now,
                "id": random.choice((1, 1, 2, 2, 3, None)),
                "x": random.choice((None, -2, 0, 1, 2, 3)),
                "v": random.choice((None, random.randrange(-256, 256) / 64)),
                "name": random.choice(("red", "blue", "", None)),
                "ok": random.choice((True, False, None)),
            }
        )
    return entries


@st.composite
def stories(draw: Any) -> tuple[list[str], int, list[tuple[str, int]]]:
    """Queries, a seed for the readings and how they are cut, and what happens."""
    some = st.one_of(st.sampled_from(STATEFUL), cases().map(lambda case: case.sql))
    queries = [draw(st.sampled_from(STATEFUL)), *draw(st.lists(some, min_size=1, max_size=3))]
    deeds = draw(st.lists(st.tuples(DEEDS, st.integers(0, 9)), min_size=6, max_size=16))
    return queries, draw(st.integers(0, 1 << 30)), deeds


@pytest.mark.slow
def test_live_equals_replay(database: Database) -> None:
    answered = restored = 0

    @given(story=stories())
    @RELAXED
    def check(story: tuple[list[str], int, list[tuple[str, int]]]) -> None:
        nonlocal answered, restored
        with scratch() as folder:
            field = Field(database, Path(folder))
            live_through(field, *story)
        answered += field.answered
        restored += field.restored

    check()
    # Or nothing has been tried.
    assert answered > 1_000
    assert restored > 50


def live_through(field: Field, queries: list[str], seed: int, deeds: list[tuple[str, int]]) -> None:
    for sql in queries:
        note(sql)
    random = Random(seed)
    logs = {name: log_of(random, 40) for name in STREAMS}

    def go_on() -> None:
        """Some readings come; now and then they are not dealt with at once."""
        for _ in range(random.randrange(1, 4)):
            name, size = random.choice(STREAMS), random.randrange(1, 8)
            field.pour(name, logs[name][:size])
            logs[name] = logs[name][size:]
        for _ in range(random.randrange(4)):
            field.step()

    field.install(0, queries[0], "durable")
    for number, (deed, which) in enumerate(deeds, start=1):
        go_on()
        running = [*field.watched, *field.durable]
        match deed:
            case "go on":
                pass
            case "remove":
                field.remove(running[which % len(running)])
            case "close" | "abandon":
                field.restart(deed)
            case _:
                field.install(number, queries[which % len(queries)], deed)
    while any(logs.values()):
        go_on()
    for well in field.wells.values():
        well.over = True
        well.wake.set()
    while not all(watched.live.finished for watched in field.watched.values()):
        field.step()
    for _ in range(40):  # an end is read once a turn
        field.step()
    for watched in field.watched.values():
        watched.fetch()
        field.judge(watched, finished=True)
    field.station.close()
    for name in field.durable:
        field.judge_durable(name)
