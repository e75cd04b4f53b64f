"""The floor: the cost of an almost empty micro-batch with durable checkpoints, for one and two stateful
stages.

Micro-batches of ten readings run one after the other as fast as Spark can. The first ones are left out: they
start workers and stores, and the JVM has not compiled its hot code yet.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from typing import Any

from nilometer.laboratory.benchmarks.spark import data, ours
from nilometer.laboratory.benchmarks.spark.comparison import Bench
from nilometer.laboratory.benchmarks.spark.micro_batches import columns_for_spark, write
from nilometer.laboratory.benchmarks.spark.report import Floor, Target

READINGS = 10
BATCHES, COUNTED = 180, 100
LIMITS = {1: 300.0, 2: 450.0}
PLANNED, IN_TASKS = 0.25, 0.4
"""The most of stock Spark's time."""
QUESTIONS = {
    1: "SELECT id, AVG(v) AS mean FROM readings [RANGE 60 SECONDS SLIDE 5 SECONDS] GROUP BY id",
    2: "SELECT MAX(j.rise) AS top FROM (SELECT id, DELTA(v) AS rise FROM readings) [RANGE 60 SECONDS SLIDE 5 SECONDS] j",
}
PEERS = {1: "hop60x5", 2: "two_stages"}


def floor(bench: Bench, batches: int = BATCHES) -> tuple[Floor, ...]:
    """Both sides, one stage and two."""
    from nilometer.laboratory.benchmarks.spark.peers.micro_batches import Folder
    from nilometer.laboratory.benchmarks.spark.peers.queries import QUERIES
    from nilometer.laboratory.benchmarks.spark.peers.run import run

    frame = data.readings(READINGS * batches, READINGS)
    written = write({"readings": frame}, READINGS, bench.place / "floor")
    folders = {"readings": Folder(written.files("readings"), columns_for_spark(frame), data.DELAY)}
    found = []
    for stages, question in QUESTIONS.items():
        bench.say(f"floor, {stages} stateful stages: {batches} micro-batches of {READINGS} readings")
        place = bench.place / f"floor-{stages}"
        mine = ours.run(bench.session, written.place, question, READINGS, place / "ours")
        tasks = ours.run(bench.session, written.place, question, READINGS, place / "tasks", parts=2)
        stock = run(bench.session, QUERIES[PEERS[stages]], folders, place / "stock")
        times = (_milliseconds(each.progress) for each in (mine, stock, tasks))
        found.append(Floor(stages, *times))
        shutil.rmtree(place)
    return tuple(found)


def targets(floors: Iterable[Floor]) -> tuple[Target, ...]:
    """The medians of our side, and for one stage how they compare to stock Spark's."""
    from statistics import median

    floors = tuple(floors)
    shares = [
        Target(f"{what}, p50 over stock Spark's", median(times) / median(each.stock), limit, at_most=True)
        for each in floors
        for what, times, limit in (
            ("an almost empty stateful micro-batch where Spark plans it", each.ours, PLANNED),
            ("the same in two tasks", each.tasks, IN_TASKS),
        )
        if each.stages == 1 and times and each.stock
    ]
    return *shares, *(
        Target(
            f"an almost empty micro-batch of {each.stages} stateful stage{'s' * (each.stages > 1)}, p50 ms",
            median(each.ours),
            LIMITS[each.stages],
            at_most=True,
        )
        for each in floors
    )


def _milliseconds(progress: Iterable[Mapping[str, Any]]) -> tuple[float, ...]:
    times = [float(each["durationMs"]["triggerExecution"]) for each in progress if each["numInputRows"]]
    return tuple(times[-COUNTED:])
