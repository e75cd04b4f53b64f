"""1, 10, 100 and 1,000 standing queries in one pipeline, as `nilometer run --on spark` runs them.

Every query is a filter of its own (`id = k AND v > c`), so that a reading is in the answer of at most one. First all queries are
installed, and answer for the first readings. Then as many readings are pushed, in ten offers, and the time until all are
logged, answered and committed is measured, after one turn to warm up: that is the cost of running so many queries.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from nilometer.laboratory.benchmarks.spark import data
from nilometer.laboratory.benchmarks.spark.comparison import Bench
from nilometer.laboratory.benchmarks.spark.report import ManyQueries, Target
from nilometer.types import SECOND

COUNTS = (1, 10, 100, 1_000)
READINGS = 10_767
"""Those of issue 19, over which 10 queries took 77 s."""
BATCH = READINGS // 10
TURNS = 4
LIMIT = 1.5
TICKS = os.sysconf("SC_CLK_TCK")


def many_queries(bench: Bench, counts: Iterable[int] = COUNTS) -> tuple[ManyQueries, ...]:
    """One pipeline after the other."""
    return tuple(_measured(bench, count) for count in counts)


def targets(found: Iterable[ManyQueries]) -> tuple[Target, ...]:
    """The cost of the most queries over that of one."""
    by_count = {each.queries: each for each in found}
    if 1 not in by_count or len(by_count) < 2:
        return ()
    most = by_count[max(by_count)]
    one = by_count[1]
    return (
        Target(
            f"{most.queries:,} filters, seconds over those of one",
            most.seconds / one.seconds,
            LIMIT,
            at_most=True,
        ),
        Target(
            f"{most.queries:,} filters, processor time over that of one",
            most.cpu / one.cpu,
            LIMIT,
            at_most=True,
        ),
    )


def _measured(bench: Bench, count: int) -> ManyQueries:
    import nilometer
    from nilometer.ingest.adapters.push import Offer, Pushes
    from nilometer.ingest.payloads import Decoded, Format
    from nilometer.live.outside import Outside
    from nilometer.live.roster import Roster
    from nilometer.live.station import Station
    from nilometer.log import LogDirectory

    bench.say(f"{count:,} filters in one pipeline, {READINGS:,} readings")
    place = bench.place / "many"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    stream = "CREATE STREAM readings (v FLOAT, w FLOAT) PUSHED DELAY 2 SECONDS;\n"
    queries = "".join(
        f"CREATE QUERY q{n} STARTING AT BEGINNING AS SELECT time, id, v FROM readings WHERE id = {n} AND v > {n % 50};\n"
        for n in range(count)
    )
    (place / "schema.sql").write_text(stream + queries)
    database = nilometer.connect(place)
    log = LogDirectory(place).log(database.catalog.stream("readings"))
    frame = data.readings(READINGS, min(1_000, READINGS // 10))[:-1]

    columns = [column.name for column in database.catalog.stream("readings").columns]
    expected = [0]

    pushes = Pushes()

    def append(turn: int) -> None:
        """Push the readings, in ten offers."""
        later = frame.select(columns).with_columns(pl.col("time") + turn * (READINGS // 1_000 + 2) * SECOND)
        adapter = pushes.find("readings")
        assert adapter is not None, "a stream that is not open"
        for piece in later.iter_slices(BATCH):
            adapter.put(Offer([], Format.JSON, "bench", time.time_ns() // 1000, piece.height, Decoded(piece)))
        expected[0] += later.height

    began = time.perf_counter()
    with Station(database, place, outside=Outside(pushes=pushes)) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        append(0)
        processes = len(list(_children(os.getpid())))

        def answered() -> bool:
            end = log.end
            if end.position < expected[0] or station.reports.offsets("q0").get("readings") != end:
                return False
            return all(station.reports.offsets(name).get("readings") == end for name in station.queries)

        station.run(answered)
        installed = time.perf_counter() - began
        seconds, cpu = [], []
        for turn in range(1, TURNS + 1):
            append(turn)
            started, used = time.perf_counter(), _cpu()
            station.run(answered)
            seconds.append(time.perf_counter() - started)
            cpu.append(_cpu() - used)
        memory = sum(_resident(pid) for pid in (os.getpid(), *_children(os.getpid()))) / 1e6
        lives = list(station.queries.values())
    rows = sum(live.rows for live in lives)
    # The first turn warms up.
    return ManyQueries(count, installed, sorted(seconds[1:])[1], sorted(cpu[1:])[1], memory, processes, rows)


# ---- this process, Java and all Python processes under it ------------------------------------------------------------


def _children(pid: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _parent(int(entry.name)) == pid:
            yield int(entry.name)
            yield from _children(int(entry.name))


def _fields(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _parent(pid: int) -> int:
    fields = _fields(pid)
    return int(fields[1]) if fields else -1


def _cpu() -> float:
    """The processor seconds that they have used."""
    used = 0
    for pid in (os.getpid(), *_children(os.getpid())):
        fields = _fields(pid)
        used += int(fields[11]) + int(fields[12]) if fields else 0
    return used / TICKS


def _resident(pid: int) -> int:
    fields = _fields(pid)
    return int(fields[21]) * os.sysconf("SC_PAGE_SIZE") if fields else 0
