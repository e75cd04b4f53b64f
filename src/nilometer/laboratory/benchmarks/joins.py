"""`nilometer bench joins`: the variable-arity join against the joins it replaces, on one core and the same
readings, with equal answers.

Sensors report with exponential gaps of 1 s on average, values follow Zipf's law, and the window is 10 s:
SNJoin's setting (section 7.2). For every reading each join gives the number of earlier readings of other
sensors with its value. The outer MJoin and the tree of hash-merge joins probe every other stream for every
reading, so they get fewer readings; ours is measured on these too, and on all. The joins on Spark follow
(spark/joins.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import polars as pl

from nilometer.engine import connect
from nilometer.kernels.arrays import Integers
from nilometer.kernels.occurrence_table import OccurrenceTable
from nilometer.laboratory.baselines import Arrivals, HashMergeTree, HashMergeTreeSpec, MJoin, MJoinSpec
from nilometer.laboratory.benchmarks.join_sizes import held_over, sizes
from nilometer.laboratory.benchmarks.registry import check
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.laboratory.benchmarks.single_core import on_one_core
from nilometer.laboratory.benchmarks.spark.joins import BATCH, joins_on_spark
from nilometer.laboratory.benchmarks.spark.joins import PARTS as SPARK_PARTS
from nilometer.laboratory.benchmarks.window_joins import window_joins
from nilometer.types import HOUR, SECOND

Found = TypeVar("Found")

REPEATS = 5
WINDOW = 10 * SECOND
VALUES, SKEW = 1_000, 1.5
RATE = 2_000
"""The total readings per second where the number of sensors varies, so that the window always holds as
many."""
FLEETS = (200, 2_000, 20_000)
AT_ONCE = 50_000
FEW = 50
"""The factor by which the peers get fewer readings."""


CORE = "core"
PARTS = (CORE, *SPARK_PARTS)


def joins(
    rows: int, sensors: int, only: Sequence[str] = (), quick: bool = False, say: Callable[[str], None] = print
) -> Result:
    """Run the parts of these names (PARTS), or all: first those on one core, then those on Spark."""
    for name in only:
        check(PARTS, name, "part of bench joins")
    wanted = only or PARTS
    found = Result("joins", "peer", "", (), ())
    if CORE in wanted:
        say("the table of all streams, and its peers, on one core")
        found = on_one_core(__name__, rows // 20 if quick else rows, sensors)
    if set(wanted) & set(SPARK_PARTS):
        more = joins_on_spark(rows, wanted, quick, say)
        measurements, targets = found.measurements + more.measurements, found.targets + more.targets
        setting = f"{found.setting}; on Spark {BATCH:,} a micro-batch".removeprefix("; ")
        found = replace(found, setting=setting, measurements=measurements, targets=targets)
    return found


def measure(rows: int, sensors: int, seconds: int = HOUR // SECOND) -> Result:
    """The part that runs in its own process. `seconds` is the length of the stream over which memory is
    watched."""
    fleets = {fleet: readings(rows, fleet, RATE) for fleet in FLEETS}
    whole = readings(rows, sensors, sensors)
    some = whole[: max(1_000, rows // FEW)]
    counts, kernel = _best(lambda: _partners(whole))
    few, ours = _best(lambda: _partners(some))
    costs = {fleet: _best(lambda given=given: _partners(given))[1] for fleet, given in fleets.items()}  # type: ignore[misc]
    answered, operator = _best(lambda: _asked(whole))
    measurements = [
        Measurement(f"table, {sensors:,} sensors", kernel, None, rows, int((counts > 0).sum()), None),
        *(
            Measurement(f"table, {fleet:,} sensors, the same window", cost, None, rows, rows, None)
            for fleet, cost in costs.items()
        ),
        Measurement(
            "SIMILAR ... COUNTS at the gateway", operator, None, rows, len(answered), _same(counts, answered)
        ),
    ]
    slower = {}
    for name, run in (("outer MJoin", _mjoin), ("tree of HMJs", _tree)):
        run(some[:2_000], sensors)  # compiles
        found, taken = _timed(lambda run=run: run(some, sensors))  # type: ignore[misc]
        slower[name] = ours / taken
        equal = bool((found == few).all())
        measurements.append(
            Measurement(f"table against {name}", ours, taken, len(some), int((few > 0).sum()), equal)
        )
    targets = (
        Target("a reading by the table, microseconds", 1e6 * kernel / rows, 0.5),
        Target("cost at 20,000 sensors over cost at 200", costs[FLEETS[-1]] / costs[FLEETS[0]], 1.3),
        *(Target(f"time, of the {name}'s", ratio, 0.1) for name, ratio in slower.items()),
    )
    setting = f"{rows:,} readings of {sensors:,} sensors, values by Zipf {SKEW}, 10 s, one core, best of {REPEATS}, peers once"
    measurements += window_joins(rows // 5)
    notes, still = _sizes(sensors, seconds)
    return Result("joins", "peer", setting, tuple(measurements), (*targets, still), notes)


def _sizes(sensors: int, seconds: int) -> tuple[tuple[str, ...], Target]:
    """The sizes of answers for each fleet, with one reading per second and sensor, and the state over an
    hour."""
    fleets = [sizes(readings(12 * fleet, fleet, fleet), fleet, WINDOW).line() for fleet in FLEETS]
    held = held_over(readings(seconds * sensors, sensors, sensors), seconds, WINDOW)
    most = max(held, key=lambda each: each.table)
    early, late = held[0], held[-1]
    over = (
        f"{sensors:,} sensors for {seconds // 60} minutes, a reading a second: SIMILAR holds {early.occurrences:,} readings in {early.table / 1e6:.1f} MB "
        f"and writes {early.state / 1e6:.1f} MB of state after the first minute, {late.occurrences:,} in {late.table / 1e6:.1f} MB and "
        f"{late.state / 1e6:.1f} MB after the last; at most {most.table / 1e6:.1f} MB"
    )
    growth = Target(
        "what is held in any minute, over the first", max(each.state for each in held) / early.state, 1.5
    )
    return (*fleets, over), growth


def readings(rows: int, sensors: int, rate: int) -> Arrivals:
    """Readings in the order of (time, id)."""
    chance = np.random.default_rng(11)
    times = np.cumsum(chance.exponential(SECOND / rate, rows)).astype(np.int64)
    weights = 1 / np.arange(1, VALUES + 1) ** SKEW
    ids = chance.integers(0, sensors, rows)
    return Arrivals(
        times,
        ids[np.lexsort((ids, times))],
        chance.choice(VALUES, size=rows, p=weights / weights.sum()).astype(np.float64),
        np.arange(rows),
    )


def _partners(given: Arrivals) -> Integers:
    """Our kernel: in batches, as they would come."""
    table = OccurrenceTable(WINDOW)
    numbers = given.keys.view(np.uint64)
    found = []
    for start in range(0, len(given), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        found.append(table.probe(given.times[part], numbers[part], given.sources[part]).partners)
    return np.concatenate(found)


def _asked(given: Arrivals) -> pl.DataFrame:
    """The query in our language, from a frame to a frame."""
    database = connect()
    database.execute("CREATE STREAM readings (v FLOAT) PUSHED")
    frame = pl.DataFrame({"time": given.times, "id": given.sources, "v": given.values})
    database.append("readings", frame.with_columns(pl.from_epoch("time", "us").dt.replace_time_zone("UTC")))
    answer = database.sql("SELECT * FROM SIMILAR(readings, v COUNTS) [RANGE 10 SECONDS]").run("gateway").given
    assert isinstance(answer, pl.DataFrame)
    return answer


def _same(counts: Integers, answered: pl.DataFrame) -> bool:
    return sorted(counts[counts > 0].tolist()) == sorted(answered["matches"].to_list())


def _mjoin(given: Arrivals, streams: int) -> Integers:
    join = MJoin(MJoinSpec(streams, WINDOW, outer=True, build=False))
    return np.concatenate(
        [join.feed(given[at : at + AT_ONCE]).listed for at in range(0, len(given), AT_ONCE)]
    )


def _tree(given: Arrivals, streams: int) -> Integers:
    join = HashMergeTree(HashMergeTreeSpec(streams, WINDOW, build=False))
    return np.concatenate(
        [join.feed(given[at : at + AT_ONCE]).listed for at in range(0, len(given), AT_ONCE)]
    )


def _timed(run: Callable[[], Found]) -> tuple[Found, float]:
    started = time.perf_counter()
    found = run()
    return found, time.perf_counter() - started


def _best(run: Callable[[], Found]) -> tuple[Found, float]:
    """The result, and the seconds of the best of several runs; the first one compiles."""
    run()
    runs = [_timed(run) for _ in range(REPEATS)]
    return runs[0][0], min(seconds for _, seconds in runs)
