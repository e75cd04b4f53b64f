"""The size of the state over a long run: it must depend on the window, not on the length of the stream.

It runs a hundred micro-batches of a sliding window, which take 24 hours of the sensors' time. Our size is the bytes of all
panes, and that of the files on disk after each save. Stock Spark's is the number of rows in its store (it counts no bytes but those of caches) times the size
of a row of this window there: 48 bytes of key, 24 of value.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from typing import Any

from nilometer.laboratory.benchmarks.spark import data, ours
from nilometer.laboratory.benchmarks.spark.comparison import Bench
from nilometer.laboratory.benchmarks.spark.micro_batches import columns_for_spark, write
from nilometer.laboratory.benchmarks.spark.report import StateSize, Target
from nilometer.laboratory.benchmarks.spark.workloads import named

BATCHES = 100
"""The number of micro-batches for which Spark keeps the progress."""
HOURS = 24
SENSORS = 200
FULL = 1_000_000
QUICK_SENSORS = 10
"""A quick run has fewer sensors, and the same hours."""
STOCK_ROW = 72
GROWTH = 1.2
"""The most growth from the first half of the run (without its beginning) to the second."""


def state_size(bench: Bench) -> tuple[StateSize, ...]:
    """Both sides of the 60 s / 5 s window."""
    from nilometer.laboratory.benchmarks.spark.peers.micro_batches import Folder
    from nilometer.laboratory.benchmarks.spark.peers.queries import QUERIES
    from nilometer.laboratory.benchmarks.spark.peers.run import run
    from nilometer.laboratory.benchmarks.spark.peers.settings import StockSettings

    counting = StockSettings(more={"spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "true"})
    workload = named("hop60x5")
    sensors = SENSORS if bench.rows >= FULL else QUICK_SENSORS
    rows = HOURS * 3_600 * sensors // BATCHES
    bench.say(
        f"state of {workload.name}: {BATCHES} micro-batches of {rows:,} readings of {sensors:,} sensors"
    )
    frame = data.readings(rows * BATCHES, sensors)
    written = write({"readings": frame}, rows, bench.place / "state")
    folders = {"readings": Folder(written.files("readings"), columns_for_spark(frame), data.DELAY)}
    place = bench.place / "state-runs"
    held: list[float] = []
    disk: list[float] = []

    def watch(batch: ours.Answered) -> None:
        held.append(batch.state_bytes / 1e6)
        disk.append(batch.disk_bytes / 1e6)

    ours.run(bench.session, written.place, workload.question, rows, place / "ours", watch, states=True)
    stock = run(bench.session, QUERIES[workload.peer], folders, place / "stock", counting)
    shutil.rmtree(place)
    # The last micro-batch has the sentinel, after which the state is empty.
    spark = _megabytes(stock.progress)[:-1]
    return (StateSize(workload.title, tuple(held[:-1]), spark, tuple(disk[:-1]), HOURS),)


def targets(states: Iterable[StateSize]) -> tuple[Target, ...]:
    """The size must be flat: no more at the end than in the middle, except for how micro-batches fall on
    windows."""
    found = []
    for state in states:
        for where, sizes in (("", state.ours), (" on disk", state.disk)):
            half = len(sizes) // 2
            middle, end = max(sizes[half // 2 : half], default=0.0), max(sizes[half:], default=0.0)
            claim = (
                f"state of {state.workload}{where} over {state.hours:.3g} hours, second half over the first"
            )
            found.append(Target(claim, end / (middle or 1.0), GROWTH, at_most=True))
    return tuple(found)


def _megabytes(progress: Iterable[Mapping[str, Any]]) -> tuple[float, ...]:
    return tuple(
        sum(int(operator["numRowsTotal"]) for operator in each["stateOperators"]) * STOCK_ROW / 1e6
        for each in progress
        if each["numInputRows"]
    )
