"""Summaries of sensors through the whole live path: log, replay, restart, and queries that cannot take them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from nilometer.dataflow import Batch, Entry, Heartbeat, MemorySources, Run
from nilometer.engine import Database, connect
from nilometer.ingest.readers import read_frame
from nilometer.live.live_query import LiveQuery
from nilometer.live.outside import Outside
from nilometer.live.starts import BEGINNING
from nilometer.live.station import Station
from nilometer.log import LogDirectory
from nilometer.plan.reference import same_answer
from nilometer.simulated.generators import Generators, simulated_field
from nilometer.types import MINUTE

OPTIONS = {"sensors": "5", "seed": "7", "start": "2026-01-01T08:00:00Z", "every": "60s"}
URL = "generate://plume?" + "&".join(f"{name}={value}" for name, value in OPTIONS.items()) + "&speed=1"
SCHEMA = f"""
CREATE STREAM air (concentration FLOAT) SENSED EVERY 1 MINUTE FROM '{URL}' KEY (id, time);
CREATE SENSOR 1 OF air; CREATE SENSOR 2 OF air; CREATE SENSOR 3 OF air; CREATE SENSOR 4 OF air; CREATE SENSOR 5 OF air;
"""
MEANS = """SELECT id, AVG(concentration) AS mean, MAX(concentration) AS top, COMPLETENESS() AS whole
FROM air [RANGE 20 MINUTES SLIDE 10 MINUTES] GROUP BY id"""


class Field:
    """A data directory, a field of sensors, and a clock that only the test moves."""

    def __init__(self, folder: Path) -> None:
        (folder / "schema.sql").write_text(SCHEMA)
        self.folder = folder
        self.database: Database = connect(folder)
        self.generators = Generators()
        self.sensors = self.generators.at(URL)
        self.now = self.sensors.start
        self.rows: dict[str, list[tuple[Any, ...]]] = {}

    def station(self) -> Station:
        outside = Outside(clock=lambda: self.now, generators=self.generators)
        return Station(self.database, self.folder, outside=outside)

    def pass_minutes(self, station: Station, minutes: int) -> None:
        for _ in range(minutes):
            self.settle(station)
            self.now += MINUTE
        self.settle(station)

    def settle(self, station: Station) -> None:
        quiet = 0
        while quiet < 3:
            quiet = 0 if station.step() else quiet + 1
            for live in station.queries.values():
                self.take(live)

    def take(self, live: LiveQuery) -> None:
        for answer in live.take():
            self.rows.setdefault(live.name, []).extend(answer.rows)

    def expected(self, text: str, before: int | None) -> list[tuple[Any, ...]]:
        """The answers over every reading that the sensors take, up to a watermark."""
        free = simulated_field("plume", OPTIONS)
        frames = []
        while free.now < self.sensors.now:
            frames.append(free.advance(self.sensors.now)[0])
        stream = self.database.catalog.stream("air")
        log: list[Entry] = [Batch(read_frame(pl.concat(frames), stream).rows), Heartbeat(free.now + MINUTE)]
        sources = MemorySources({"air": log}, {}, {"air": self.database.catalog.sensors("air")})
        rows = Run(self.database.sql(text).physical, sources, finished=False).collect().rows()
        return [row for row in rows if before is None or row[0] < before]


def test_answers_are_those_over_all_readings_and_a_replay_gives_them_again(tmp_path: Path) -> None:
    field = Field(tmp_path)
    with field.station() as station:
        live = station.install(field.database.sql(MEANS), "means")
        field.pass_minutes(station, 65)
        known = field.expected(MEANS, live.watermark)
        assert len(known) == 5 * 7
        assert same_answer(field.rows["means"], known) is None
        assert live.ledger.balanced
        assert live.ledger.read == live.ledger.delivered > 5 * 60
        assert field.sensors.sensors.summaries.sent == 5 * 6
        # Ten minutes that no summary fits: the query is told what it cannot have.
        odd = "SELECT COUNT(*) AS n, COMPLETENESS() AS whole FROM air [RANGE 7 MINUTES SLIDE 7 MINUTES]"
        other = station.install(field.database.sql(odd), "odd", start=BEGINNING)
        field.pass_minutes(station, 1)
        assert any(row[2] is not None and row[2] < 1 for row in field.rows["odd"])
        assert other.ledger.balanced
        # The query reads the stream twice, once for COMPLETENESS, and each reading counts each time.
        assert other.ledger.filtered == 2 * 5 * 60
    again = connect(tmp_path).sql(MEANS).run("gateway").rows
    assert same_answer([row for row in again if row[0] <= known[-1][0]], known) is None
    books = LogDirectory(tmp_path).log("air").note
    assert books is not None
    assert books["ledger"]["received"] == books["ledger"]["appended"]


def test_a_standing_query_goes_on_in_the_middle_of_a_pane(tmp_path: Path) -> None:
    field = Field(tmp_path)
    with field.station() as station:
        station.install(field.database.sql(MEANS), "means", durable=True)
        field.pass_minutes(station, 37)
    with field.station() as station:
        live = station.install(field.database.sql(MEANS), "means", durable=True)
        field.pass_minutes(station, 36)
        known = field.expected(MEANS, live.watermark)
        assert len(known) >= 5 * 7
        assert same_answer(field.rows["means"], known) is None


def test_readings_and_summaries_by_turns(tmp_path: Path) -> None:
    """A query for readings comes and goes, in the middle of panes. It gets every reading while it runs."""
    field = Field(tmp_path)
    with field.station() as station:
        means = station.install(field.database.sql(MEANS), "means")
        field.pass_minutes(station, 13)
        for minutes in (4, 9, 15):
            station.install(field.database.sql("SELECT time, id, concentration FROM air"), f"all {minutes}")
            field.pass_minutes(station, minutes)
            rows = field.rows[f"all {minutes}"]
            assert len(rows) == len(set(rows)) == 5 * minutes
            station.remove(f"all {minutes}")
            field.pass_minutes(station, 7)
        known = field.expected(MEANS, means.watermark)
        assert len(known) >= 5 * 6
        assert same_answer(field.rows["means"], known) is None
