"""`nilometer bench demand`: the messages that sensors need not send, on a simulated field, with equal answers.

The same world runs twice. Once a station asks its queries and tells the sensors what they need. Once the sensors send
every reading, and the same queries are answered from these. The answers must be equal. Messages are readings, summaries
and statuses of the sensors (heartbeats and acknowledgements), and commands to them.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from nilometer.dataflow import Batch, Entry, Heartbeat, MemorySources, Run
from nilometer.engine import Database, connect
from nilometer.ingest.readers import read_frame
from nilometer.laboratory.benchmarks.result import Measurement, Result
from nilometer.live.outside import Outside
from nilometer.live.station import Station
from nilometer.plan.reference import same_answer
from nilometer.simulated.field import SimulatedField
from nilometer.simulated.generators import Generators, simulated_field
from nilometer.types import HOUR, MINUTE

URL = "generate://plume?sensors={sensors}&seed=7&start=2026-01-01T08:00:00Z&every=60s&speed=1"
SCHEMA = "CREATE STREAM air (concentration FLOAT) SENSED EVERY 1 MINUTE FROM '{url}' KEY (id, time);"
HOURS = 12

FIELDS: dict[str, tuple[str, ...]] = {
    "every reading": ("SELECT time, id, concentration FROM air",),
    "a filter": ("SELECT time, id, concentration FROM air WHERE concentration > 60",),
    "intervals of 7 and 60 minutes": (
        "SELECT id, concentration FROM air [NOW SLIDE 7 MINUTES]",
        "SELECT id, concentration FROM air [NOW SLIDE 60 MINUTES]",
    ),
    "means of 10 minutes": (
        "SELECT id, AVG(concentration) AS mean FROM air [RANGE 10 MINUTES SLIDE 10 MINUTES] GROUP BY id",
    ),
    "three aggregates, one summary": (
        "SELECT AVG(concentration) AS mean FROM air [RANGE 30 MINUTES SLIDE 10 MINUTES]",
        "SELECT id, MAX(concentration) AS top FROM air [RANGE 1 HOUR SLIDE 1 HOUR] GROUP BY id",
        "SELECT COUNT(*) AS n, MIN(concentration) AS least FROM air [RANGE 20 MINUTES SLIDE 10 MINUTES]",
    ),
    "hourly peaks of what passes a filter": (
        "SELECT id, MAX(concentration) AS top FROM air [RANGE 1 HOUR SLIDE 1 HOUR]"
        " WHERE concentration > 35 GROUP BY id",
    ),
    "who reported in each hour, on change": (
        "SELECT id, MAX(id) AS one FROM air [RANGE 1 HOUR SLIDE 1 HOUR] GROUP BY id",
    ),
    "means, and one query for readings": (
        "SELECT id, AVG(concentration) AS mean FROM air [RANGE 10 MINUTES SLIDE 10 MINUTES] GROUP BY id",
        "SELECT time, id, concentration FROM air WHERE concentration > 60",
    ),
}
"""Queries that run together."""


@dataclass(frozen=True)
class Traffic:
    """The messages of a run."""

    readings: int
    summaries: int
    statuses: int
    commands: int

    @property
    def total(self) -> int:
        """All messages."""
        return self.readings + self.summaries + self.statuses + self.commands


def demand(rows: int, sensors: int) -> Result:
    """Run the benchmark; `rows` has no meaning here."""
    del rows
    return measure(min(sensors, 100), HOURS)


def measure(sensors: int, hours: int) -> Result:
    """The benchmark on a field of so many sensors for so many hours."""
    measurements, lines = [], []
    free = sensors * hours * 60
    for name, queries in FIELDS.items():
        began = time.perf_counter()
        traffic, equal, answered = _compared(queries, sensors, hours * HOUR)
        measurements.append(
            Measurement(name, time.perf_counter() - began, None, sensors * hours * 60, answered, equal)
        )
        saved = 1 - traffic.total / free
        lines.append(
            f"{name:38} {traffic.readings:>9,} {traffic.summaries:>10,} {traffic.statuses:>9,} {traffic.commands:>9,}"
            f" {traffic.total:>9,} {saved:>7.1%}  {'equal' if equal else 'DIFFERENT'}"
        )
    head = f"{'messages':38} {'readings':>9} {'summaries':>10} {'statuses':>9} {'commands':>9} {'all':>9} {'saved':>7}  answers"
    setting = f"{sensors} sensors, a reading a minute, {hours} hours; without demand {free:,} messages"
    return Result("demand", "peer", setting, tuple(measurements), (), (head, *lines))


def _compared(queries: tuple[str, ...], sensors: int, span: int) -> tuple[Traffic, bool, int]:
    """The messages of queries that run together, whether their answers are right, and how many rows they have."""
    url = URL.format(sensors=sensors)
    generators = Generators()
    with tempfile.TemporaryDirectory(dir=_scratch()) as folder:
        (Path(folder) / "schema.sql").write_text(SCHEMA.format(url=url))
        database = connect(folder)
        field = generators.at(url)
        end = field.start + span - MINUTE
        clock = [field.start]
        outside = Outside(clock=lambda: clock[0], generators=generators)
        commands = 0
        with Station(database, folder, outside=outside) as station:
            told = field.command

            def counted(sensor: int | str, command: Any) -> bool:
                nonlocal commands
                commands += 1
                return told(sensor, command)

            field.command = counted  # type: ignore[method-assign]
            live = [station.install(database.sql(text)) for text in queries]
            found: list[list[tuple[Any, ...]]] = [[] for _ in live]
            while True:
                # A minute is over when nothing happens any more.
                quiet = 0
                while quiet < 3:
                    quiet = 0 if station.step() else quiet + 1
                    _take(live, found)
                if clock[0] >= end:
                    break
                clock[0] += MINUTE
            reached = [query.watermark for query in live]
            traffic = Traffic(
                int(field.sensors.sent.sum()), field.sensors.summaries.sent, field.statuses, commands
            )
        expected = _expected(database, queries, simulated_field("plume", _options(url)), end)
    equal = True
    for text, got, whole, mark in zip(queries, found, expected, reached, strict=True):
        ticked = "[" in text
        assert mark is not None
        known = [row for row in whole if not ticked or row[0] < mark]
        equal = equal and bool(got) and same_answer(got, known) is None
    return traffic, equal, sum(map(len, found))


def _take(live: list[Any], found: list[list[tuple[Any, ...]]]) -> None:
    for query, rows in zip(live, found, strict=True):
        for answer in query.take():
            rows.extend(answer.rows)


def _options(url: str) -> dict[str, str]:
    given = dict(pair.split("=", 1) for pair in url.split("?")[1].split("&"))
    return {name: value for name, value in given.items() if name != "speed"}


def _expected(
    database: Database, queries: tuple[str, ...], field: SimulatedField, end: int
) -> list[list[tuple[Any, ...]]]:
    """The answers over every reading that the sensors take."""
    frames: list[pl.DataFrame] = []
    while field.now < end:
        frames.append(field.advance(end)[0])
    stream = replace(database.catalog.stream("air"), url=None)
    log: list[Entry] = [Batch(read_frame(pl.concat(frames), stream).rows), Heartbeat(end + MINUTE)]
    answers = []
    for text in queries:
        plan = database.sql(text).physical
        answers.append(Run(plan, MemorySources({"air": log}), finished=False).collect().rows())
    return answers


def _scratch() -> str | None:
    """Memory, where there is some: the disk is not what is measured."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
