"""End-to-end latency at a rate: from the append of the reading that completes an answer until the answer is
committed.

A separate process appends readings as they are made (live_writer.py) while the query runs. A filter's answer
is complete with the reading itself. A window's answer is complete with the first reading whose time is past
its end, because then no more can come into it (DELAY is 0). Stock Spark is measured in the same way, from
files. The first seconds are left out. Percentiles are over answers: rows of the filter, evaluations of the
window.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.laboratory.benchmarks.spark import data
from nilometer.laboratory.benchmarks.spark.comparison import Bench
from nilometer.laboratory.benchmarks.spark.live_writer import APPENDED, in_a_process
from nilometer.laboratory.benchmarks.spark.micro_batches import columns_for_spark, schema
from nilometer.laboratory.benchmarks.spark.ours import Answered, OurQuery
from nilometer.laboratory.benchmarks.spark.report import Latency, Target
from nilometer.laboratory.benchmarks.spark.workloads import Workload, named
from nilometer.types import SECOND

RATES = (1_000, 10_000, 100_000)
LIMITS = (150.0, 400.0)
"""The most milliseconds of p50 and p99 at the highest rate, of the window."""
SECONDS, WARMING = 30.0, 8.0
QUESTIONS = ("filter", "hop60x1")
ROWS = 1_000_000
"""The most rows of a micro-batch."""

Committed = list[tuple[int, pl.Series]]
"""Pairs of a commit time, in microseconds since 1970, and the times or ticks of the committed answers."""


def latency(
    bench: Bench, rates: Iterable[int] = RATES, seconds: float = SECONDS, warming: float = WARMING
) -> tuple[Latency, ...]:
    """Measure both sides, one after the other."""
    found = []
    for rate in rates:
        for name in QUESTIONS:
            workload = named(name)
            bench.say(
                f"latency of {name} at {rate:,} readings/s: {seconds:g} s of ours, {seconds:g} s of stock Spark"
            )
            mine = _ours(bench, workload, rate, seconds, warming)
            stock = _stock(bench, workload, rate, seconds, warming)
            found.append(Latency(workload.title, rate, mine, stock))
    return tuple(found)


def latency_targets(found: Iterable[Latency]) -> tuple[Target, ...]:
    """The percentiles at the highest rate."""
    return tuple(
        Target(
            f"latency of {each.workload} at {each.rate:,} readings/s, {name} ms", value, limit, at_most=True
        )
        for each in found
        if each.rate == RATES[-1] and each.workload != named("filter").title
        for name, value, limit in zip(("p50", "p99"), each.ours, LIMITS, strict=True)
    )


def _ours(bench: Bench, workload: Workload, rate: int, seconds: float, warming: float) -> tuple[float, float]:
    place = _directory(bench)
    committed: Committed = []
    column = "tick" if workload.name != "filter" else "time"

    def watch(batch: Answered) -> None:
        committed.append((time.time_ns() // 1000, _times(batch.rows, column)))

    query = OurQuery(bench.session, place, workload.question, ROWS, place / "run", watch=watch)
    query.start()
    try:
        _write(query, bench, place, "log", rate, seconds)
    finally:
        query.stop()
    return percentiles(appended_in(place), committed, workload.name != "filter", warming)


def _stock(
    bench: Bench, workload: Workload, rate: int, seconds: float, warming: float
) -> tuple[float, float]:
    from nilometer.laboratory.benchmarks.spark.peers.live import LiveStock
    from nilometer.laboratory.benchmarks.spark.peers.micro_batches import Folder
    from nilometer.laboratory.benchmarks.spark.peers.queries import QUERIES

    place = _directory(bench)
    (place / "files" / "readings").mkdir(parents=True)
    folder = Folder(place / "files" / "readings", columns_for_spark(data.readings(10, 1)), 0, files=None)
    query = LiveStock(bench.session, QUERIES[workload.peer], {"readings": folder}, place / "run")
    query.start()
    try:
        _write(query, bench, place, "files", rate, seconds)
    finally:
        query.stop()
    column = "tick" if workload.name != "filter" else "time"
    committed = [(at, _times([frame], column)) for at, frame in query.committed()]
    return percentiles(appended_in(place), committed, workload.name != "filter", warming)


def percentiles(
    appended: npt.NDArray[np.int64], committed: Committed, windows: bool, warming: float
) -> tuple[float, float]:
    """p50 and p99 in milliseconds. `appended` are pairs of a greatest time and the time when it was durable.

    >>> appended = np.array([[10_000, 20_000], [30_000, 40_000]])
    >>> percentiles(appended, [(45_000, pl.Series([9_000, 25_000]))], windows=False, warming=0)
    (15.0, 24.8)
    """
    greatest, durable = appended[:, 0], appended[:, 1]
    latencies: list[npt.NDArray[np.int64]] = []
    for at, times in committed:
        asked = (times.unique() if windows else times).to_numpy()
        # A window is complete with a time beyond its end, a row with its own time.
        places = np.searchsorted(greatest, asked, side="right" if windows else "left")
        settled = durable[places[places < len(durable)]]
        latencies.append((at - settled)[settled >= durable[0] + int(warming * SECOND)])
    whole = np.concatenate(latencies) / 1000 if latencies else np.array([])
    if not len(whole):
        return float("nan"), float("nan")
    low, high = np.percentile(whole, [50, 99])
    return round(float(low), 3), round(float(high), 3)


def _times(frames: Iterable[pl.DataFrame], column: str) -> pl.Series:
    found = [frame[column] for frame in frames]
    return pl.concat(found) if found else pl.Series(column, [], dtype=pl.Int64)


def _directory(bench: Bench) -> Path:
    place = bench.place / "latency"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "schema.sql").write_text(schema({"readings": data.readings(10, 1)}, delay=0))
    return place


class _Live(Protocol):
    def catch_up(self) -> None: ...


def _write(query: _Live, bench: Bench, place: Path, form: str, rate: int, seconds: float) -> None:
    """Write readings live. A second of readings comes first, so that workers and stores have started when the
    measurement begins."""
    for length in (1.0, seconds):
        in_a_process(place, form, rate, length, bench.sensors)
        query.catch_up()


def appended_in(place: Path) -> npt.NDArray[np.int64]:
    """The appends that the last live writer recorded: pairs of a greatest time and the time when it was
    durable."""
    return np.array(json.loads((place / APPENDED).read_text()), dtype=np.int64)
