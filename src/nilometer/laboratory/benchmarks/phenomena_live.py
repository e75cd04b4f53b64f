"""Phenomena live on Spark: from the append of the reading that completes an evaluation until its updates are committed.

20,000 sensors send once a second. A process of its own appends a tenth of them every tenth of a second, durably, while the
query runs. A disc of high readings, one hundredth of the field, moves, so that every second has updates. An evaluation is
complete with the first reading beyond it (DELAY is 0).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from nilometer.engine import connect
from nilometer.laboratory.benchmarks.result import Measurement, Target
from nilometer.laboratory.benchmarks.spark.latency import appended_in, percentiles
from nilometer.laboratory.benchmarks.spark.live_writer import APPENDED, STEP
from nilometer.laboratory.benchmarks.spark.ours import Answered, OurQuery
from nilometer.log import Fsync, LogDirectory, LogSettings
from nilometer.types import SECOND

SENSORS, SPACING, SHARE = 20_000, 10.0, 0.01
SECONDS, WARMING = 40.0, 10.0
LIMIT = 3.0
"""The most seconds from append to commit, in 99 of 100 evaluations."""
ROUND = 60
"""Seconds in which the disc crosses the field."""
QUESTION = (
    "SELECT time, id, kind, size FROM PHENOMENA(ON air.v ABOVE 35 RANGE 3 SECONDS SLIDE 1 SECOND STRENGTH 2 "
    f"NEIGHBOURS WITHIN {1.5 * SPACING:g} M MEMBERS 3)"
)


def live_on_spark(say: Callable[[str], None]) -> tuple[Measurement, Target, str]:
    """Measure for forty seconds, of which the first ten do not count."""
    from nilometer.spark.session import spark_session

    session = spark_session()
    committed: list[tuple[int, pl.Series]] = []

    def watch(batch: Answered) -> None:
        times = [frame["time"] for frame in batch.rows]
        found = pl.concat(times) if times else pl.Series("time", [], dtype=pl.Int64)
        committed.append((time.time_ns() // 1000, found))

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _declare(place)
        query = OurQuery(session, place, QUESTION, 1_000_000, place / "run", watch=watch)
        query.start()
        try:
            for length in (3.0, SECONDS):
                say(f"{SENSORS:,} sensors at 1 Hz live on Spark, {length:g} s")
                _in_a_process(place, length)
                query.catch_up()
        finally:
            query.stop()
        half, most = percentiles(appended_in(place), committed, windows=True, warming=WARMING)
    updates = sum(len(times) for _, times in committed)
    rows = int(SENSORS * SECONDS)
    task = Measurement(f"{SENSORS:,} sensors at 1 Hz live on Spark", SECONDS, None, rows, updates, None)
    target = Target("live on Spark, p99 from append to commit, in seconds", most / 1000, LIMIT)
    return (
        task,
        target,
        f"live on Spark: p50 {half / 1000:.2f} s, p99 {most / 1000:.2f} s from append to commit",
    )


def _declare(place: Path) -> None:
    """The stream and its sensors on a grid."""
    side = int(np.ceil(np.sqrt(SENSORS)))
    ids = np.arange(SENSORS)
    pl.DataFrame({"id": ids, "x": (ids % side) * SPACING, "y": (ids // side) * SPACING}).write_csv(
        place / "sensors.csv"
    )
    (place / "schema.sql").write_text(
        "CREATE STREAM air (id INT, v FLOAT) PUSHED EXPECT EVERY 1 SECOND COORDINATES 'm';\n"
        "COPY SENSORS OF air FROM 'sensors.csv' (id FROM id, location FROM (x, y));\n"
    )


def write_live(directory: Path, seconds: float) -> None:
    """Append a tenth of the sensors every tenth of a second, until the time is over."""
    stream = connect(directory).catalog.stream("air")
    log = LogDirectory(directory, LogSettings(fsync=Fsync.ALWAYS)).log(stream)
    random = np.random.default_rng(7)
    side = int(np.ceil(np.sqrt(SENSORS)))
    width, part = side * SPACING, SENSORS * STEP // SECOND
    appended: list[tuple[int, int]] = []
    begun = time.time_ns() // 1000
    due, turn = begun + STEP, 0
    while due <= begun + seconds * SECOND:
        if (now := time.time_ns() // 1000) < due:
            time.sleep((due - now) / SECOND)
        ids = np.arange(part) * (SECOND // STEP) + turn % (SECOND // STEP)
        times = due - STEP + (np.arange(part) + 1) * STEP // (part + 1)
        x, y = (ids % side) * SPACING, (ids // side) * SPACING
        middle = (0.2 + 0.6 * (times / SECOND % ROUND) / ROUND) * width
        inside = (x - middle) ** 2 + (y - width / 2) ** 2 < SHARE / np.pi * width**2
        values = np.where(inside, 60.0, 10.0) + random.normal(0.0, 2.0, part)
        log.append(pl.DataFrame({"time": times, "id": ids, "v": values}).select(list(log.columns)))
        appended.append((int(times[-1]), time.time_ns() // 1000))
        due, turn = due + STEP, turn + 1
    (directory / APPENDED).write_text(json.dumps(appended))


def _in_a_process(directory: Path, seconds: float) -> None:
    code = f"from pathlib import Path; from {__name__} import write_live; write_live(Path({str(directory)!r}), {seconds!r})"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=sys.stderr)
