"""`nilometer bench queries`: many standing queries over one stream, durable, in one process.

Readings come in batches of a tenth of a second at 10,000 a second, by a clock that the benchmark turns, as fast as the
queries take them. Each query commits its answers; after ten seconds of readings all states are saved. A reading is in
the answers of about one query, whatever the number of queries. The peer is one runtime for each query, each with its
own log and its own copy of the readings: up to a hundred are run, one after the other, over fewer readings, and every
answer is compared. Of a thousand queries and more, some are run alone over the same readings, and compared.

`sustained` is 10,000 filters of four kinds on the real clock. `rules` repeats the two settings of which eKuiper
publishes figures. Each part is a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import ctypes
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
from nilometer.errors import ConfigurationError
from nilometer.ingest.adapters import Adapter, ReadResult, Status
from nilometer.ingest.adapters.adapter import Clock
from nilometer.ingest.adapters.wake import Wake
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.laboratory.benchmarks.single_core import on_one_core
from nilometer.live.outside import Outside
from nilometer.live.standing import result_files
from nilometer.live.station import Station
from nilometer.log import Offset
from nilometer.log.results.shared_results import SharedResults
from nilometer.types import MILLISECOND, SECOND

RATE = 10_000
TENTHS = 10
"""Batches a second."""
BATCH = RATE // TENTHS
START = 1_767_225_600_000_000
SCHEMA = "CREATE STREAM cars (speed FLOAT, lane INT, kind STRING) PUSHED FROM 'bench://cars';"
COUNTS = (1, 10, 100, 1_000, 10_000)
MOST_ROWS = 11 * RATE
"""Eleven seconds of readings contain a checkpoint of all queries."""
PEER_ROWS = 2 * RATE
MOST_RUNTIMES = 100
"""Up to this many queries are also run with one runtime each."""
SAMPLE = 3
"""Of more queries, so many are run alone and compared."""
FEWEST = 100
"""A filter passes at most one reading in this many."""
LASTING = 20
"""The seconds that `sustained` and `rules` last."""
SUSTAINED, RULES = "sustained", "rules"


@dataclass(frozen=True)
class Measured:
    """One run: processor and wall seconds for the readings, seconds to install, fsyncs, files, MiB that the queries take
    and of the whole process, answered rows, the longest time that a batch waited, and the answers of some queries by
    their numbers."""

    cpu: float
    wall: float
    install: float
    fsyncs: int
    files: int
    memory: float
    resident: float
    answers: int
    longest: float
    found: dict[int, pl.DataFrame]

    def note(self, what: str, rows: int) -> str:
        """The run in a line."""
        return (
            f"{what:<33} {rows / self.wall:>9,.0f} readings/s  CPU {self.cpu:7.2f} s  {self.memory:6.0f} MiB"
            f"  {self.fsyncs:>4} fsyncs  {self.files:>3} files  {self.answers:>9,} rows"
            f"  installed in {self.install:6.2f} s"
        )


def queries(rows: int, sensors: int, only: Sequence[str] = ()) -> Result:
    """Run the benchmark, or only some parts of it, with at most this many readings for each number of queries."""
    unknown = [name for name in only if name not in PARTS]
    if unknown:
        raise ConfigurationError(f"no part '{unknown[0]}'", hint=f"there are: {', '.join(PARTS)}")
    parts = [on_one_core(__name__, rows, sensors, part) for part in only or PARTS]
    first = parts[0]
    return Result(
        first.name,
        first.peer,
        first.setting,
        tuple(one for part in parts for one in part.measurements),
        tuple(one for part in parts for one in part.targets),
        tuple(one for part in parts for one in part.notes),
    )


def measure(rows: int, _sensors: int, part: str, counts: Sequence[int] = COUNTS) -> Result:
    """A part, which runs in its own process."""
    most = max(BATCH, min(rows, MOST_ROWS) // BATCH * BATCH)
    setting = f"{most:,} readings in batches of {BATCH:,}, durable, one core"
    found: Found = [], [], []
    if part == SUSTAINED:
        _sustained(found, max(counts))
    elif part == RULES:
        _rules(found)
    else:
        _kind(found, PARTS[part], most, counts)
    return Result("queries", "one each", setting, *map(tuple, found))  # type: ignore[arg-type]


Found = tuple[list[Measurement], list[Target], list[str]]


def _tell(found: Found, note: str) -> None:
    found[2].append(note)
    print(note, file=sys.stderr, flush=True)


def _kind(found: Found, name: str, rows: int, counts: Sequence[int]) -> None:
    """The numbers of queries of one kind, and one runtime each."""
    text, (measurements, targets, _) = QUERIES[name], found
    run(1, text, BATCH)  # compiles the kernels
    seen: dict[int, Measured] = {}
    for count in [count for count in counts if count <= MOST[name]]:
        some = tuple(sorted({count * at // SAMPLE for at in range(SAMPLE)}))
        seen[count] = one = run(count, text, rows, wanted=some)
        same = None
        if count > MOST_RUNTIMES:
            same = all(_equal(one.found[at], run(1, text, rows, at, count, (at,)).found[at]) for at in some)
        measurements.append(Measurement(f"{count:,} {name}", one.cpu, None, rows, one.answers, same))
        _tell(found, one.note(f"{count:,} {name}", rows))
        if 1 < count <= MOST_RUNTIMES:
            _beside(found, name, count, min(rows, PEER_ROWS))
    largest = max(seen)
    per_second = rows / RATE
    targets.append(
        Target(
            f"{largest:,} {name}: CPU seconds for a second of readings", seen[largest].cpu / per_second, 0.75
        )
    )
    targets.append(
        Target(f"{largest:,} {name}: seconds by the clock for one", seen[largest].wall / per_second, 0.75)
    )
    if {100, 1_000} <= set(seen):
        each = (seen[1_000].cpu - seen[100].cpu) / 900
        targets.append(
            Target(f"{name}: the thousandth query's cost over the first's", each / seen[1].cpu, 0.01)
        )
        each = (seen[1_000].install - seen[100].install) / 900
        hundred = seen[100].install / 100
        targets.append(
            Target(f"{name}: installing the thousandth over one of the first hundred", each / hundred, 1.2)
        )
        ratio = seen[largest].fsyncs / seen[100].fsyncs
        targets.append(Target(f"{name}: fsyncs with {largest:,} over those with 100", ratio, 1.1))
        more = seen[largest].files - seen[1].files
        targets.append(Target(f"{name}: files with {largest:,} more than with 1", more, 8))
    if largest > MOST_RUNTIMES:
        kilobytes = (seen[largest].memory - seen[1].memory) * 1024 / largest
        targets.append(Target(f"{largest:,} {name}: KiB of memory for each", kilobytes, 100))


def _beside(found: Found, name: str, count: int, rows: int) -> None:
    """The same queries together, and in one runtime each, with all answers compared."""
    text, every = QUERIES[name], tuple(range(count))
    together = run(count, text, rows, wanted=every)
    alone = [run(1, text, rows, number, count, (number,)) for number in every]
    same = all(_equal(together.found[at], one.found[at]) for at, one in zip(every, alone, strict=True))
    cpu = sum(one.cpu for one in alone)
    found[0].append(
        Measurement(f"{count:,} {name} beside one each", together.cpu, cpu, rows, together.answers, same)
    )
    if count == MOST_RUNTIMES:
        found[1].append(Target(f"{count} {name}: CPU over that of one runtime each", together.cpu / cpu, 0.1))


def _equal(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Whether two answers have the same rows. Rows of one tick have no order."""
    return one.sort(one.columns).equals(other.sort(other.columns))


def _sustained(found: Found, count: int) -> None:
    """Filters of four kinds on the real clock."""
    kinds = [comparison, conjunction, in_list, string]

    def text(number: int, of: int) -> str:
        return kinds[number % len(kinds)](number, of)

    run(len(kinds), text, BATCH)
    rows = LASTING * RATE
    one = run(count, text, rows, paced=True)
    what = f"{count:,} filters, {RATE:,} readings/s, {LASTING} s"
    found[0].append(Measurement(what, one.wall, None, rows, one.answers, None, None, one.cpu))
    found[1].append(
        Target(f"{what}: the longest wait of a batch for its answers, in seconds", one.longest, 1.0)
    )
    found[1].append(Target(f"{what}: CPU seconds for a second", one.cpu / LASTING, 0.75))
    _tell(found, one.note(f"{count:,} filters on the real clock", rows))


def _rules(found: Found) -> None:
    """eKuiper's settings: its readme says 50 % of two cores and 95 MB for 300 rules, each given 500 messages a second, of
    which it takes a tenth; and 25 % and 400 to 500 KB a rule for 8,000 rules with 800 messages a second in all."""
    run(1, comparison, BATCH)
    for count, rate, text, share, most in (
        (300, 500, tenth, 0.5, 95 / 300),
        (8_000, 800, comparison, 0.25, 0.4),
    ):
        rows = LASTING * rate
        one = run(count, text, rows, batch=rate // TENTHS)
        what = f"{count:,} rules, each of them given {rate} messages/s"
        found[0].append(Measurement(what, one.cpu, None, rows, one.answers, None))
        found[1].append(Target(f"{what}: part of two cores (eKuiper: {share})", one.cpu / LASTING / 2, share))
        found[1].append(
            Target(f"{what}: MiB of the process a rule (eKuiper: {most:.2f})", one.resident / count, most)
        )
        _tell(found, one.note(what, rows))
    _tell(
        found,
        "eKuiper's figures are from its readme, on two cores of AWS, and were not measured here. Its 8,000 rules have 800"
        " messages/s in all, a tenth of one for each; here each rule is given all 800.",
    )


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


def tenth(number: int, count: int) -> str:
    """A range that one reading in ten is in, another for each query."""
    low = 0.9 * number / count
    return f"SELECT speed FROM cars WHERE speed >= {low!r} AND speed < {low + 0.1!r}"


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
PARTS = {
    "comparisons": "comparisons",
    "conjunctions": "conjunctions",
    "lists": "IN lists",
    "strings": "strings",
    "windows": "windows of different RANGE",
    "joins": "joins of different windows",
    SUSTAINED: SUSTAINED,
    RULES: RULES,
}
"""The parts, by the names that `--only` takes."""


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


def batches_of(rows: int, batch: int = BATCH) -> list[pl.DataFrame]:
    """The readings, a tenth of a second in each frame."""
    random = np.random.default_rng(1)
    found = []
    for number in range(rows // batch):
        times = START + number * 100 * MILLISECOND + np.arange(batch) * (100 * MILLISECOND // batch)
        kinds = pl.Series(random.integers(0, 10_000, batch)).cast(pl.String).str.zfill(5)
        columns = {
            "time": times,
            "id": random.integers(0, 1_000, batch),
            "speed": random.random(batch),
            "lane": random.integers(0, 100, batch),
            "kind": "kind-" + kinds,
        }
        found.append(pl.DataFrame(columns))
    return found


def run(
    count: int,
    text: Callable[[int, int], str],
    rows: int,
    first: int = 0,
    of: int | None = None,
    wanted: Sequence[int] = (),
    *,
    batch: int = BATCH,
    paced: bool = False,
) -> Measured:
    """Let this many queries take the readings: those from the `first` on, of so many. Return the answers of the `wanted`
    ones. `paced`: a batch comes every tenth of a second by the real clock."""
    waiting: list[pl.DataFrame] = []
    now = START
    batches = batches_of(rows, batch)
    longest = 0.0
    with tempfile.TemporaryDirectory(prefix="nilometer-bench-") as place:
        folder = Path(place)
        (folder / "schema.sql").write_text(SCHEMA)
        database = connect(folder)
        outside = Outside(clock=lambda: now, adapter_of=lambda stream, clock: Tap(stream, clock, waiting))
        gc.collect()  # the queries of the run before must not be garbage of this one
        _give_back()
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
                for at, frame in enumerate(batches, 1):
                    due = wall + at / TENTHS
                    if paced:
                        time.sleep(max(0.0, due - time.perf_counter()))
                    now += 100 * MILLISECOND
                    waiting.append(frame)
                    while waiting:
                        station.step()
                    longest = max(longest, time.perf_counter() - due)
                now += SECOND
                station.step()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            resident = _memory()
            answers = sum(live.rows for live in station.queries.values())
            files = sum(path.is_file() for path in (folder / ".nilometer").rglob("*"))
        found = {number: _answers(folder, f"q{number}") for number in wanted}
    return Measured(
        cpu, wall, install, syncs.count, files, resident - before, resident, answers, longest, found
    )


def _answers(folder: Path, name: str) -> pl.DataFrame:
    """The durable rows of a query."""
    frames = [
        entry.rows
        for place in result_files(folder, name)
        if isinstance(place, SharedResults)
        for entry in place.found(Offset())
        if entry.rows.height
    ]
    return pl.concat(frames) if frames else pl.DataFrame()


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


def _give_back() -> None:
    """Let the system have the memory that is free, so that the next run's is seen."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _memory() -> float:
    """The resident memory in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
