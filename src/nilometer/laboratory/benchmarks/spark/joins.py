"""The part of `bench joins` on Spark: counted partners, WINDOW joins of three and four streams, hot keys, and
a live epsilon join.

Stock Spark's self-join manages some hundred readings per second, so it gets only the first of the same
readings; both give the number of partners of each. Chained joins run on the same micro-batches
(comparison.py). For hot keys, our time with skewed keys is compared with our time with uniform ones.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import polars as pl

from nilometer.laboratory.benchmarks.result import Measurement, Target
from nilometer.laboratory.benchmarks.spark import data, ours
from nilometer.laboratory.benchmarks.spark.answers import before, difference
from nilometer.laboratory.benchmarks.spark.comparison import Bench, Say, compare
from nilometer.laboratory.benchmarks.spark.latency import appended_in, percentiles
from nilometer.laboratory.benchmarks.spark.live_writer import in_a_process
from nilometer.laboratory.benchmarks.spark.micro_batches import columns_for_spark, schema, write
from nilometer.laboratory.benchmarks.spark.report import STOCK
from nilometer.laboratory.benchmarks.spark.workloads import JOINS

PARTS = ("partners", "ways", "hot", "live")
BATCH, REPEATS, QUICK = 250_000, 3, 20
SENSORS = 2_000
SKEW = 1.5
PARTNERS = "SELECT time, id, matches FROM SIMILAR(readings, v COUNTS) [RANGE 10 SECONDS]"
JOINED = "SELECT time, A.id AS id FROM a A, b B WINDOW = 2 SECONDS WHERE A.v = B.v"
FEW = 50
"""The factor by which stock Spark's self-join gets fewer readings: of a million, as many as fill the window
once."""
LIVE_SENSORS = 20_000
LIVE_SECONDS, LIVE_WARMING = 40.0, 15.0
"""The window of 10 s is full when the measurement begins."""
NEAR = "SELECT time, id, arity, matches FROM SIMILAR(readings, v WITHIN 0.05 COUNTS) [RANGE 10 SECONDS]"


@dataclass(frozen=True)
class Joins:
    """The measurements on Spark."""

    measurements: tuple[Measurement, ...]
    targets: tuple[Target, ...]


def joins_on_spark(rows: int, only: Sequence[str] = PARTS, quick: bool = False, say: Say = print) -> Joins:
    """Run the parts of these names in one session."""
    from nilometer.spark.session import spark_session

    session = spark_session()
    with tempfile.TemporaryDirectory(prefix="nilometer-bench-", ignore_cleanup_errors=True) as folder:
        bench = Bench(session, Path(folder), rows, 1_000, BATCH, REPEATS, say)
        if quick:
            bench = replace(bench, rows=rows // QUICK, batch_rows=BATCH // QUICK, repeats=1)
        return _measured(bench, only)


def _measured(bench: Bench, only: Sequence[str]) -> Joins:
    parts: list[Measurement | Target] = []
    for name, part in zip(PARTS, (_partners, _many_ways, _hot_keys, _live), strict=True):
        if name in only:
            parts += part(bench)
    return Joins(
        tuple(part for part in parts if isinstance(part, Measurement)),
        tuple(part for part in parts if isinstance(part, Target)),
    )


# ---- partners --------------------------------------------------------------------------------------------------------


def _partners(bench: Bench) -> Iterator[Measurement | Target]:
    from nilometer.laboratory.benchmarks.spark.peers import run as stock
    from nilometer.laboratory.benchmarks.spark.peers.micro_batches import Folder
    from nilometer.laboratory.benchmarks.spark.peers.queries import QUERIES

    few = max(200, bench.rows // FEW)
    whole = data.valued(bench.rows, SENSORS, SKEW)
    some = pl.concat([whole.head(few - 1), whole.tail(1)])
    large, small, first = (bench.place / name for name in ("partners", "few-partners", "first-partners"))
    write({"readings": whole}, bench.batch_rows, large)
    write({"readings": some}, few, small)
    write({"readings": some.head(200)}, 200, first)
    mine = _seconds(bench, "partners, ours", large, PARTNERS)
    bench.say(f"partners, stock Spark: {few:,} readings, at some hundred a second")
    for directory in (first, small):  # the first warms up
        folder = Folder(directory / "files" / "readings", columns_for_spark(some), data.DELAY)
        theirs = stock.run(
            bench.session, QUERIES["partners"], {"readings": folder}, _fresh(bench.place / "stock")
        )
    bench.say(f"partners, stock Spark: {theirs.seconds:.1f} s")
    ours.run(bench.session, small, PARTNERS, few, _fresh(bench.place / "ours"))
    end = int(some["time"][-1])
    unlike = difference(
        before(ours.answers(bench.place / "ours"), end), before(stock.answers(bench.place / "stock"), end)
    )
    found = Measurement(
        "Spark: partners, Zipf 1.5, 10 s",
        mine.seconds,
        theirs.seconds,
        bench.rows,
        mine.rows_out,
        unlike is None,
        few,
    )
    yield found
    yield Target(
        f"partners on Spark, a reading's time of stock Spark's ({few / theirs.seconds:,.0f} readings/s)",
        found.ratio or 0.0,
        0.001,
    )


# ---- several streams -------------------------------------------------------------------------------------------------


def _many_ways(bench: Bench) -> Iterator[Measurement | Target]:
    for workload in JOINS:
        found = compare(bench, workload, repeats=1)
        for peer in found.peers:
            equal = peer not in found.different
            title = f"{workload.title}{'' if peer == STOCK else f', {peer}'}"
            yield Measurement(
                f"Spark: {title}", found.seconds(), found.seconds(peer), found.rows_in, found.rows_out, equal
            )
        assert workload.times is not None
        yield Target(
            f"{workload.title} on Spark, time of stock Spark's chained joins",
            found.seconds() / found.seconds(STOCK),
            1 / workload.times,
        )


# ---- hot keys --------------------------------------------------------------------------------------------------------


def _hot_keys(bench: Bench) -> Iterator[Measurement | Target]:
    """Zipf 1.5 against uniform. A skewed join has many times the results of a uniform one, so its cost is
    measured per row in or out."""
    counted, joined = {}, {}
    for name, skew in (("uniform", 0.0), ("Zipf 1.5", SKEW)):
        place = bench.place / f"partners-{skew}"
        write({"readings": data.valued(bench.rows, SENSORS, skew)}, bench.batch_rows, place)
        counted[name] = _seconds(bench, f"partners of values, {name}", place, PARTNERS)
        place = bench.place / f"pair-{skew}"
        rows = bench.rows // 100 if skew else bench.rows // 2
        frames = {
            stream: data.valued(rows, SENSORS, skew, seed=7 + number)
            for number, stream in enumerate(("a", "b"))
        }
        write(frames, bench.batch_rows // 2, place)
        joined[name] = _seconds(bench, f"join of values, {name}", place, JOINED)
    for title, found in (("partners", counted), ("WINDOW join", joined)):
        for name, one in found.items():
            yield Measurement(
                f"Spark: {title}, values {name}", one.seconds, None, one.rows_in, one.rows_out, None
            )
        costs = {
            name: one.seconds / (one.rows_in + (one.rows_out if title != "partners" else 0))
            for name, one in found.items()
        }
        what = "a reading" if title == "partners" else "a row in or out"
        yield Target(
            f"{title} on Spark: {what} by Zipf 1.5 over uniform", costs["Zipf 1.5"] / costs["uniform"], 1.5
        )


# ---- live ------------------------------------------------------------------------------------------------------------


def _live(bench: Bench) -> Iterator[Measurement | Target]:
    """20,000 sensors at 1 Hz, live: answered as fast as they are made, with the gateway's answers."""
    import nilometer

    seconds = LIVE_SECONDS if bench.repeats > 1 else LIVE_WARMING + 5
    bench.say(f"epsilon join of {LIVE_SENSORS:,} sensors at 1 Hz, live: {seconds:g} s")
    place = _fresh(bench.place / "live")
    place.mkdir()
    (place / "schema.sql").write_text(schema({"readings": data.readings(10, 1)}, delay=0))
    committed: list[tuple[int, pl.Series]] = []
    answered: list[int] = []

    def watch(batch: ours.Answered) -> None:
        times = [frame["time"] for frame in batch.rows]
        committed.append(
            (time.time_ns() // 1000, pl.concat(times) if times else pl.Series("time", [], pl.Int64))
        )
        answered.append(sum(map(len, times)))

    query = ours.OurQuery(bench.session, place, NEAR, None, place / "run", watch=watch)
    query.start()
    try:
        for length in (2.0, seconds):
            in_a_process(place, "log", LIVE_SENSORS, length, LIVE_SENSORS)
        written = time.perf_counter()
        query.catch_up()
        behind = time.perf_counter() - written
    finally:
        query.stop()
    appended = appended_in(place)
    p50, p99 = percentiles(appended, committed, True, LIVE_WARMING)
    gateway = nilometer.connect(place).sql(NEAR).run("gateway", finished=False).given
    assert isinstance(gateway, pl.DataFrame)
    answers = ours.answers(place / "run")
    unlike = difference(answers, gateway.select(answers.columns))
    rows = int(LIVE_SENSORS * (seconds + 2))
    yield Measurement(
        f"Spark: epsilon, {LIVE_SENSORS:,} at 1 Hz, live",
        seconds + 2 + behind,
        None,
        rows,
        sum(answered),
        unlike is None,
    )
    yield Target(
        f"epsilon join of {LIVE_SENSORS:,} sensors live, p99 of its answers, s (p50 {p50 / 1000:.2f})",
        p99 / 1000,
        2.0,
    )


# ---- runs ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _TimedRun:
    seconds: float
    rows_in: int
    rows_out: int


def _seconds(bench: Bench, title: str, directory: Path, question: str) -> _TimedRun:
    """The median of several runs, after one to warm up."""
    rows_out = 0

    def watch(batch: ours.Answered) -> None:
        nonlocal rows_out
        rows_out += sum(frame.height for frame in batch.rows)

    found = []
    for number in range(bench.repeats + 1):
        rows_out = 0
        run = ours.run(
            bench.session, directory, question, bench.batch_rows, _fresh(bench.place / "ours"), watch
        )
        if number:
            found.append(run.seconds)
        bench.say(f"{title}: {run.seconds:.2f} s")
    rows = sum(pl.scan_parquet(file).select(pl.len()).collect().item() for file in _files(directory))
    return _TimedRun(median(found), rows, rows_out)


def _files(directory: Path) -> list[Path]:
    return sorted((directory / "files").rglob("*.parquet"))


def _fresh(place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    return place
