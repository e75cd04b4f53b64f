"""`nilometer bench operators`: the gateway on one core against DuckDB on one thread, from the same Parquet
files.

Both read the file and return a whole columnar answer. DuckDB's is a batch over finished data; ours is by
event time, with lateness decided row by row. Each task runs once to warm up, then the best of `REPEATS` runs
counts. The answers are compared.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.errors import ResourceError
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.laboratory.benchmarks.single_core import on_one_core

if TYPE_CHECKING:
    import polars as pl

REPEATS = 9
START = 1_767_225_600  # 2026-01-01T00:00:00Z, in seconds
SLIDING = (12, 60, 1000)
_LONG = 60

SCHEMA = """
CREATE STREAM readings (v FLOAT, w FLOAT) PUSHED;
CREATE STREAM ask (x FLOAT) PUSHED;
CREATE STREAM answer (y FLOAT) PUSHED;
"""


def operators(rows: int, sensors: int) -> Result:
    """Run all tasks on one core."""
    return on_one_core(__name__, rows, sensors)


def measure(rows: int, sensors: int) -> Result:
    """The part that runs in its own process."""
    try:
        import duckdb
    except ImportError:
        raise ResourceError(
            "DuckDB is not installed", hint="./nilo installs it; or pip install duckdb"
        ) from None
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        seconds = max(2, rows // sensors)
        _write_data(directory, seconds, sensors)
        peer = duckdb.connect()
        peer.execute("SET threads = 1")
        measurements = [_one(directory, peer, *task) for task in _tasks(directory, seconds, sensors)]
    by_task = {m.task: m for m in measurements}
    flat = (
        by_task[f"sliding AVG, range/slide {SLIDING[-1]}"].ours
        / by_task[f"sliding AVG, range/slide {SLIDING[0]}"].ours
    )
    targets = (
        Target("filter, times DuckDB", by_task["filter"].ratio or 0.0, 2.0),
        Target("grouped tumbling AVG, times DuckDB", by_task["grouped tumbling AVG"].ratio or 0.0, 2.0),
        Target(f"sliding AVG, cost at {SLIDING[-1]} over cost at {SLIDING[0]}", flat, 1.3),
    )
    setting = (
        f"{seconds * sensors:,} readings of {sensors:,} sensors, one core, from Parquet, best of {REPEATS}"
    )
    return Result("operators", "DuckDB", setting, tuple(measurements), targets)


def _write_data(directory: Path, seconds: int, sensors: int) -> None:
    import numpy as np
    import polars as pl

    random = np.random.default_rng(7)
    count = seconds * sensors
    stamps = (START + np.repeat(np.arange(seconds), sensors)) * 1_000_000
    values = random.integers(-6400, 6400, count) / 64  # exact sums, whatever the order
    frame = pl.DataFrame(
        {
            "time": stamps,
            "id": np.tile(np.arange(sensors), seconds),
            "v": values,
            "w": random.random(count),
        }
    )
    frame.write_parquet(directory / "readings.parquet")
    for name, column in (("ask", "x"), ("answer", "y")):
        length = min(200_000, count)
        times = np.sort(random.integers(0, seconds * 1_000_000, length)) + START * 1_000_000
        pl.DataFrame(
            {
                "time": times,
                "id": random.integers(0, sensors, length),
                column: random.integers(0, 6400, length) / 64,
            }
        ).write_parquet(directory / f"{name}.parquet")
    (directory / "schema.sql").write_text(SCHEMA)


Task = tuple[str, str, str, int]


def _tasks(directory: Path, seconds: int, sensors: int) -> list[Task]:
    readings = f"'{directory / 'readings.parquet'}'"
    tasks: list[Task] = [
        (
            "filter",
            "SELECT time, id, v FROM readings WHERE w < 0.1 AND v > 0",
            f"SELECT time, id, v FROM {readings} WHERE w < 0.1 AND v > 0",
            seconds * sensors,
        ),
        (
            "grouped tumbling AVG",
            "SELECT id, AVG(v) AS mean FROM readings [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY id",
            f"SELECT (time + 9999999) // 10000000 * 10000000 AS tick, id, AVG(v) AS mean FROM {readings} GROUP BY ALL",
            seconds * sensors,
        ),
    ]
    for length in SLIDING:
        tasks.append(
            (
                f"sliding AVG, range/slide {length}",
                f"SELECT id, AVG(v) AS mean FROM readings [RANGE {length} SECONDS SLIDE 1 SECOND] GROUP BY id",
                f"SELECT time AS tick, id, AVG(v) OVER (PARTITION BY id ORDER BY time "
                f"RANGE BETWEEN {length * 1_000_000 - 1} PRECEDING AND CURRENT ROW) AS mean FROM {readings}",
                seconds * sensors,
            )
        )
    before = f"RANGE BETWEEN {_LONG * 1_000_000 - 1} PRECEDING"
    by_time = "PARTITION BY id ORDER BY time"
    window = f"[RANGE {_LONG} SECONDS SLIDE 1 SECOND] GROUP BY id"
    tasks += [
        (
            f"sliding CORR, range/slide {_LONG}",
            f"SELECT id, CORR(v, w) AS c FROM readings {window}",
            f"SELECT time AS tick, id, CASE WHEN isnan(c) THEN NULL ELSE c END AS c FROM (SELECT time, id, "
            f"CORR(v, w) OVER ({by_time} {before} AND CURRENT ROW) AS c FROM {readings})",
            seconds * sensors,
        ),
        (
            f"sliding TWA, range/slide {_LONG}",
            f"SELECT id, TWA(v) AS mean FROM readings {window}",
            f"SELECT time AS tick, id, COALESCE(SUM(v * (next - time)) OVER ({by_time} {before} AND 1 PRECEDING) / "
            f"NULLIF(time - MIN(time) OVER ({by_time} {before} AND CURRENT ROW), 0), v) AS mean "
            f"FROM (SELECT *, LEAD(time) OVER ({by_time}) AS next FROM {readings})",
            seconds * sensors,
        ),
    ]
    asks, answers = f"'{directory / 'ask.parquet'}'", f"'{directory / 'answer.parquet'}'"
    tasks.append(
        (
            "as-of join",
            "SELECT ask.time AS time, ask.id AS id, ask.x AS x, answer.y AS y FROM ask ASOF JOIN answer ON ask.id = answer.id",
            f"SELECT a.time AS time, a.id AS id, a.x AS x, b.y AS y FROM {asks} a ASOF LEFT JOIN "
            f"(SELECT * FROM {answers}) b ON a.id = b.id AND a.time >= b.time",
            2 * min(200_000, seconds * sensors),
        )
    )
    return tasks


def _one(directory: Path, peer: Any, task: str, ours: str, theirs: str, rows_in: int) -> Measurement:
    import polars as pl

    import nilometer

    # After the end of its data a sliding window goes on until it is empty, and DuckDB's does not. So neither ends.
    sliding = task.startswith("sliding")

    def run_ours() -> pl.DataFrame:
        # A new database each time, so that the file is read again; TIME stays in microseconds, as in DuckDB.
        given = nilometer.connect(directory).sql(ours).run("gateway", finished=not sliding).given
        assert isinstance(given, pl.DataFrame)
        return given

    def run_theirs() -> pl.DataFrame:
        return pl.from_arrow(peer.sql(theirs).to_arrow_table())  # type: ignore[return-value]

    (mine, other), (my_seconds, their_seconds) = _best_of_each(run_ours, run_theirs)
    if sliding:
        last = pl.read_parquet(directory / "readings.parquet")["time"].max()
        other = other.filter(pl.col("tick") < last)
    return Measurement(task, my_seconds, their_seconds, rows_in, mine.height, _equal(mine, other))


def _best_of_each(*runs: Callable[[], pl.DataFrame]) -> tuple[list[pl.DataFrame], list[float]]:
    """Run each once to warm up, then in turn, so that a busy spell of the machine affects all of them."""
    frames = [run() for run in runs]
    best = [float("inf")] * len(runs)
    for _ in range(REPEATS):
        for place, run in enumerate(runs):
            started = time.perf_counter()
            frames[place] = run()
            best[place] = min(best[place], time.perf_counter() - started)
    return frames, best


def _equal(ours: pl.DataFrame, theirs: pl.DataFrame) -> bool:
    import numpy as np
    import polars as pl

    if ours.height != theirs.height or set(ours.columns) != set(theirs.columns):
        return False
    order = ours.columns
    one = ours.select(order).sort(order)
    other = theirs.select(pl.col(name).cast(ours.schema[name]) for name in order).sort(order)
    for name in order:
        a, b = one[name], other[name]
        if not bool((a.is_null() == b.is_null()).all()):
            return False
        if ours.schema[name] == pl.Float64:
            if not np.allclose(a.fill_null(0).to_numpy(), b.fill_null(0).to_numpy(), rtol=1e-9, atol=1e-9):
                return False
        elif not a.equals(b):
            return False
    return True
