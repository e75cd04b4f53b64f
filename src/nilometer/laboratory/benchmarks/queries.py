"""`nilometer bench queries`: many standing queries over one stream, durable, in one process.

Readings come in batches of a tenth of a second at 10,000 a second, by a clock that the benchmark turns, as fast as the
queries take them. Each query commits its answers; after ten seconds of readings all states are saved. A reading is in
the answers of about one query, whatever the number of queries. The peer is one runtime for each query, each with its
own log and its own copy of the readings. It is run for up to ten queries, over fewer readings.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.engine import connect
from nilometer.ingest.adapters import Adapter, ReadResult, Status
from nilometer.ingest.adapters.adapter import Clock
from nilometer.ingest.adapters.wake import Wake
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.laboratory.benchmarks.single_core import on_one_core
from nilometer.live.outside import Outside
from nilometer.live.station import Station
from nilometer.types import MILLISECOND, SECOND

RATE = 10_000
BATCH = RATE // 10
START = 1_767_225_600_000_000
SCHEMA = "CREATE STREAM cars (speed FLOAT, lane INT, kind STRING) PUSHED FROM 'bench://cars';"
COUNTS = (1, 10, 100, 1_000, 10_000)
MOST_ROWS = 20 * RATE
PEER_ROWS = RATE
MOST_RUNTIMES = 10
"""Up to this many queries are also run with one runtime each: a hundred take minutes."""
FEWEST = 100
"""A filter passes at most one reading in this many."""


@dataclass(frozen=True)
class Measured:
    """One run: processor and wall seconds for the readings, seconds to install, fsyncs, files, MiB, answers."""

    cpu: float
    wall: float
    install: float
    fsyncs: int
    files: int
    memory: float
    answers: int

    def note(self, what: str, rows: int) -> str:
        """The run in a line."""
        return (
            f"{what:<33} {rows / self.wall:>9,.0f} readings/s  CPU {self.cpu:7.2f} s  {self.memory:6.0f} MiB"
            f"  {self.fsyncs:>4} fsyncs  {self.files:>3} files  {self.answers:>9,} rows"
            f"  installed in {self.install:6.2f} s"
        )


def queries(rows: int, sensors: int) -> Result:
    """Run the benchmark with this many readings for each number of queries."""
    return on_one_core(__name__, rows, sensors)


def measure(
    rows: int, _sensors: int, counts: Sequence[int] = COUNTS, kinds: Sequence[str] | None = None
) -> Result:
    """The part that runs in its own process."""
    most = max(BATCH, min(rows, MOST_ROWS) // BATCH * BATCH)
    measurements, targets, notes = [], [], []
    for name, text in QUERIES.items():
        if kinds is not None and name not in kinds:
            continue
        rows = most
        run(1, text, BATCH)  # compiles the kernels
        found = {}
        for count in [count for count in counts if count <= MOST[name]]:
            found[count] = one = run(count, text, rows)
            peer, peer_rows = None, min(rows, PEER_ROWS)
            if count <= MOST_RUNTIMES:
                peer = sum(run(1, text, peer_rows, number, count).cpu for number in range(count))
            measurements.append(
                Measurement(f"{count:,} {name}", one.cpu, peer, rows, one.answers, None, peer_rows)
            )
            note = one.note(f"{count:,} {name}", rows)
            notes.append(note)
            print(note, file=sys.stderr, flush=True)
        largest = max(found)
        targets.append(
            Target(
                f"{largest:,} {name}: CPU seconds for a second of readings",
                found[largest].cpu / (rows / RATE),
                1.0,
            )
        )
        if {100, 1_000} <= set(found):
            each = (found[1_000].cpu - found[100].cpu) / 900
            targets.append(
                Target(f"{name}: the thousandth query's cost over the first's", each / found[1].cpu, 0.01)
            )
            each = (found[1_000].install - found[100].install) / 900
            first = found[100].install / 100
            targets.append(
                Target(f"{name}: installing the thousandth over one of the first hundred", each / first, 1.2)
            )
    notes.append(
        "eKuiper publishes 8,000 rules at 800 messages/s on two cores, and 300 rules x 500 messages/s."
    )
    setting = f"{most:,} readings in batches of {BATCH:,}, durable, one core"
    return Result("queries", "one each", setting, tuple(measurements), tuple(targets), tuple(notes))


# ---- the queries -----------------------------------------------------------------------------------------------------


def comparison(number: int, count: int) -> str:
    """A range that one reading in `count` is in."""
    width = 1.0 / max(count, FEWEST)
    return f"SELECT time, id, speed FROM cars WHERE speed >= {number * width!r} AND speed < {(number + 1) * width!r}"


def conjunction(number: int, count: int) -> str:
    """A comparison and an equality."""
    widest = 100 / max(count, FEWEST)
    least = 1.0 - widest * (1.0 - 0.5 * (number // 100) / (1 + count // 100))
    return f"SELECT time, id, speed FROM cars WHERE speed > {least!r} AND lane = {number % 100}"


def in_list(number: int, count: int) -> str:
    """A list of two values, and a range."""
    width = 50 / max(count, FEWEST)
    low = number // 50 * width % 1.0
    lanes = f"{number % 100}, {(number + 50) % 100}"
    return f"SELECT time, id, speed FROM cars WHERE lane IN ({lanes}) AND speed >= {low!r} AND speed < {low + width!r}"


def string(number: int, _count: int) -> str:
    """A string of 10,000."""
    return f"SELECT time, id, speed FROM cars WHERE kind = 'kind-{number:05d}'"


def window(number: int, _count: int) -> str:
    """An aggregate over a window of its own length."""
    return (
        f"SELECT lane, AVG(speed) AS mean FROM cars [RANGE {number + 1} SECONDS SLIDE 1 SECOND] GROUP BY lane"
    )


def join(number: int, _count: int) -> str:
    """A join of two windows of its own length."""
    length = f"[RANGE {number % 1_000 + 1} SECONDS SLIDE 1 SECOND]"
    return (
        f"SELECT a.id AS one, b.id AS other FROM cars {length} a, cars {length} b"
        " WHERE a.id = b.id AND a.lane = 1 AND b.lane = 2"
    )


QUERIES: dict[str, Callable[[int, int], str]] = {
    "comparisons": comparison,
    "conjunctions": conjunction,
    "IN lists": in_list,
    "strings": string,
    "windows of different RANGE": window,
    "joins of different windows": join,
}
MOST = dict.fromkeys(QUERIES, 10_000) | {
    "windows of different RANGE": 1_000,
    "joins of different windows": 1_000,
}
"""The largest number of queries of each kind."""


# ---- one run ---------------------------------------------------------------------------------------------------------


class Tap(Adapter):
    """Gives the batches that were put into it."""

    def __init__(self, stream: Stream, clock: Clock, batches: list[pl.DataFrame]) -> None:
        super().__init__(stream, clock)
        self.wake = Wake()
        self._batches = batches

    def open(self) -> None:
        """Nothing to open."""

    def read(self) -> ReadResult:
        """The next batch."""
        return (
            ReadResult(Status.NEW_VALUE, self._batches.pop(0))
            if self._batches
            else self.nothing(Status.NO_VALUE)
        )

    def close(self) -> None:
        """Nothing to close."""


def batches_of(rows: int) -> list[pl.DataFrame]:
    """The readings, a tenth of a second in each frame."""
    random = np.random.default_rng(1)
    found = []
    for number in range(rows // BATCH):
        times = START + number * 100 * MILLISECOND + np.arange(BATCH) * (100 * MILLISECOND // BATCH)
        kinds = pl.Series(random.integers(0, 10_000, BATCH)).cast(pl.String).str.zfill(5)
        columns = {
            "time": times,
            "id": random.integers(0, 1_000, BATCH),
            "speed": random.random(BATCH),
            "lane": random.integers(0, 100, BATCH),
            "kind": "kind-" + kinds,
        }
        found.append(pl.DataFrame(columns))
    return found


def run(
    count: int, text: Callable[[int, int], str], rows: int, first: int = 0, of: int | None = None
) -> Measured:
    """Let this many queries take the readings: those from the `first` on, of so many."""
    waiting: list[pl.DataFrame] = []
    now = START
    batches = batches_of(rows)
    with tempfile.TemporaryDirectory(prefix="nilometer-bench-") as place:
        folder = Path(place)
        (folder / "schema.sql").write_text(SCHEMA)
        database = connect(folder)
        outside = Outside(clock=lambda: now, adapter_of=lambda stream, clock: Tap(stream, clock, waiting))
        gc.collect()  # the queries of the run before must not be garbage of this one
        before = _memory()
        with Station(database, folder, None, outside) as station:
            began = time.process_time()
            with station.together():
                for number in range(first, first + count):
                    station.install(database.sql(text(number, of or count)), f"q{number}", durable=True)
            install = time.process_time() - began
            syncs = _Counted()
            cpu, wall = time.process_time(), time.perf_counter()
            with syncs:
                for batch in batches:
                    now += 100 * MILLISECOND
                    waiting.append(batch)
                    while waiting:
                        station.step()
                now += SECOND
                station.step()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            memory = _memory() - before
            answers = sum(live.rows for live in station.queries.values())
            files = sum(path.is_file() for path in (folder / ".nilometer").rglob("*"))
    return Measured(cpu, wall, install, syncs.count, files, memory, answers)


class _Counted:
    """Counts the calls of fsync."""

    def __init__(self) -> None:
        self.count = 0
        self._fsync = os.fsync

    def __enter__(self) -> None:
        def counted(handle: int) -> None:
            self.count += 1
            self._fsync(handle)

        os.fsync = counted  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        os.fsync = self._fsync


def _memory() -> float:
    """The resident memory in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
