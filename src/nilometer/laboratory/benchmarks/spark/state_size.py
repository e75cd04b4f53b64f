"""The size of the state over a long run: it must be that of the window, not of the stream.

A hundred micro-batches of a sliding window; what is taken is what Spark's state store says after each.
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
"""As many as Spark remembers the progress of."""
GROWTH = 1.5
"""From the middle of the run to its end, at most: a store compacts when it likes."""


def state_size(bench: Bench) -> tuple[StateSize, ...]:
    """Both sides of the 60 s / 5 s window."""
    from nilometer.spark.peers.micro_batches import Folder
    from nilometer.spark.peers.queries import QUERIES
    from nilometer.spark.peers.run import run

    workload = named("hop60x5")
    rows = max(1, bench.rows // BATCHES)
    sensors = max(
        1, min(bench.sensors, rows // 5)
    )  # at least five seconds a micro-batch, and many windows in all
    bench.say(
        f"state of {workload.name}: {BATCHES} micro-batches of {rows:,} readings of {sensors:,} sensors"
    )
    frame = data.readings(rows * BATCHES, sensors)
    written = write({"readings": frame}, rows, bench.place / "state")
    folders = {"readings": Folder(written.files("readings"), columns_for_spark(frame), data.DELAY)}
    place = bench.place / "state-runs"
    mine = ours.run(bench.session, written.place, workload.question, rows, place / "ours")
    stock = run(bench.session, QUERIES[workload.peer], folders, place / "stock")
    shutil.rmtree(place)
    return (StateSize(workload.title, _megabytes(mine.progress), _megabytes(stock.progress)),)


def targets(states: Iterable[StateSize]) -> tuple[Target, ...]:
    """Flat: no more at the end than in the middle, but for the store's own breathing."""
    found = []
    for state in states:
        half = len(state.ours) // 2
        middle, end = max(state.ours[half // 2 : half], default=0.0), max(state.ours[half:], default=0.0)
        found.append(
            Target(
                f"state of {state.workload}, second half over the first",
                end / (middle or 1.0),
                GROWTH,
                at_most=True,
            )
        )
    return tuple(found)


def _megabytes(progress: Iterable[Mapping[str, Any]]) -> tuple[float, ...]:
    return tuple(
        sum(float(operator["memoryUsedBytes"]) for operator in each["stateOperators"]) / 1e6
        for each in progress
        if each["numInputRows"]
    )
