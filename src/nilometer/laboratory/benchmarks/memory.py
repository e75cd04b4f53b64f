"""`nilometer bench memory`: the resident memory of a gateway, each task in a process of its own.

    key     10 standing queries over a pushed stream with a KEY, and 3 readings for each of `--rows`
    many    100 standing queries over 20 sensors for each of `--sensors` (1,000: 20,000), which send once a second

The peak is the kernel's own (VmHWM). A turn is one second of the sensors: the gateway lags if turns take longer on
average, or if one takes so long that its queue does not empty in time. Times are of the processor, on one thread, so
that other programs on the machine do not count. The peer of a task is its sensors: the seconds that they send.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import nilometer
from nilometer.catalog.extents import Stream
from nilometer.engine import Database
from nilometer.errors import ResourceError
from nilometer.ingest.adapters.adapter import Adapter, Clock, ReadResult, Status
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.laboratory.benchmarks.single_core import ONE_THREAD
from nilometer.live.outside import Outside
from nilometer.live.station import Station
from nilometer.types import SECOND

STREAM = (
    "CREATE STREAM air (id INT, x FLOAT) PUSHED FROM 'flood://' DELAY 1 SECOND{key} EXPECT EVERY 1 SECOND"
)
BEGIN = 1_767_225_600 * SECOND
KEY_QUERIES, MANY_QUERIES = 10, 100
KEY_LIMIT, MANY_LIMIT = 600.0, 1_000.0
"""In megabytes."""
TURNS = 30
LAG = 1.0
"""In seconds of the processor: a turn is one second of the sensors."""


class Flood(Adapter):
    """Sensors that all send once a turn, in event time."""

    def __init__(self, stream: Stream, clock: Clock, sensors: int, turns: int) -> None:
        super().__init__(stream, clock)
        self._ids = np.arange(sensors, dtype=np.int64)
        self._values = np.random.default_rng(7).random(sensors) * 100
        self._left = turns
        self.turn = 0

    def open(self) -> None:
        """Nothing to open."""

    def read(self) -> ReadResult:
        if not self._left:
            return self.nothing(Status.END)
        self._left -= 1
        self.turn += 1
        times = np.full(len(self._ids), BEGIN + self.turn * SECOND, dtype=np.int64)
        values = (self._values + self.turn) % 100
        rows = pl.DataFrame({"time": times, "id": self._ids, "x": values}, schema=self._none.schema)
        return ReadResult(Status.NEW_VALUE, rows, arrived=BEGIN + self.turn * SECOND)


def questions(count: int) -> list[str]:
    """Standing queries as people have them: windows of several lengths, by sensor and over all, and filters."""
    found = []
    for number in range(count):
        seconds = (5, 10, 15, 20, 30)[number // 4 % 5]
        found.append(
            (
                f"SELECT id, AVG(x) AS mean FROM air [RANGE {seconds} SECONDS SLIDE {seconds} SECONDS] "
                f"GROUP BY id HAVING AVG(x) > {90 + number % 9}",
                f"SELECT COUNT(*) AS n, MAX(x) AS top FROM air [RANGE {seconds} SECONDS SLIDE 5 SECONDS] WHERE x > {number % 50}",
                f"SELECT time, id, x FROM air WHERE x > {99 + number / 200}",
                f"SELECT id, MIN(x) AS low, MAX(x) AS top FROM air [RANGE {2 * seconds} SECONDS SLIDE {seconds} SECONDS] "
                f"WHERE id < {100 * (number + 1)} GROUP BY id HAVING MAX(x) > 98",
            )[number % 4]
        )
    return found


def flooded(key: str, queries: int, sensors: int, turns: int) -> dict[str, float]:
    """Run standing queries in this process. Returns seconds, the slowest turn, rows answered, and megabytes."""
    database: Database = nilometer.connect()
    database.execute(STREAM.format(key=key))
    took: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        source: list[Flood] = []

        def adapter_of(stream: Stream, clock: Clock) -> Adapter:
            source.append(Flood(stream, clock, sensors, turns))
            return source[0]

        outside = Outside(
            clock=lambda: BEGIN + (source[0].turn if source else 0) * SECOND, adapter_of=adapter_of
        )
        with Station(database, Path(folder), outside=outside) as station:
            before = peak()
            for number, text in enumerate(questions(queries)):
                station.install(database.sql(text), f"q{number}", durable=True)
            while not station.finished:
                began = time.process_time()
                station.step()
                took.append(time.process_time() - began)
                for live in station.queries.values():
                    live.take()
            failed = [str(live.failure) for live in station.queries.values() if live.failure is not None]
            assert not failed, failed[0]
            rows = sum(live.rows for live in station.queries.values())
            balanced = station.manager.status("air").ledger.balanced
    return {
        "seconds": sum(took),
        "slowest": max(took),
        "rows": rows,
        "megabytes": peak(),
        "before": before,
        "balanced": balanced,
    }


def peak() -> float:
    """The greatest resident memory that this process has had, in megabytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def memory(rows: int, sensors: int) -> Result:
    """Run both tasks."""
    whole = 3 * rows
    key = _apart(" KEY (id, time)", KEY_QUERIES, min(20_000, whole // 10), max(10, whole // 20_000))
    fleet = 20 * sensors
    many = _apart("", MANY_QUERIES, fleet, TURNS)
    return Result(
        "memory",
        "sensors",
        f"{KEY_QUERIES} queries on a KEY, then {MANY_QUERIES} queries x {fleet:,} sensors; every query is standing",
        (
            _measured(f"key: {KEY_QUERIES} queries", key, min(20_000, whole // 10), max(10, whole // 20_000)),
            _measured(f"many: {MANY_QUERIES} queries", many, fleet, TURNS),
        ),
        (
            Target(
                f"megabytes at the peak of 'key' ({key['before']:.0f} before it began)",
                key["megabytes"],
                KEY_LIMIT,
            ),
            Target(
                f"megabytes at the peak of 'many' ({many['before']:.0f} before it began)",
                many["megabytes"],
                MANY_LIMIT,
            ),
            Target(
                "seconds that 'many' takes for one second of its sensors, on average",
                many["seconds"] / TURNS,
                1.0,
            ),
            Target("seconds of its slowest turn, which is how far it lags", many["slowest"], LAG),
        ),
    )


def _measured(task: str, found: dict[str, float], sensors: int, turns: int) -> Measurement:
    return Measurement(
        task, found["seconds"], float(turns), sensors * turns, int(found["rows"]), bool(found["balanced"])
    )


def _apart(key: str, queries: int, sensors: int, turns: int) -> dict[str, float]:
    code = (
        "import importlib, json, sys\n"
        "flooded = importlib.import_module(sys.argv[1]).flooded\n"
        "print(json.dumps(flooded(*json.loads(sys.argv[2]))))\n"
    )
    command = [sys.executable, "-c", code, __name__, json.dumps([key, queries, sensors, turns])]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ResourceError("the benchmark's own process failed", detail=done.stderr.strip()[-500:])
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
