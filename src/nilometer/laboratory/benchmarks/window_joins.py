"""W-joins of three and four streams on one core: the table alone, the operator, and the gateway from SQL to
the answer.

Each stream has a quarter (or third) of the readings, 10,000 per second in total, of 10,000 random things. The
windows between every two streams are 2 and 10 s. The peer is the tree of windowed XJoins. All must give the
same N-tuples, which is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
import polars as pl

from nilometer.engine import Database, Query, connect
from nilometer.kernels.arrays import Integers
from nilometer.laboratory.baselines import Arrivals, XJoinTree, XJoinTreeSpec
from nilometer.laboratory.benchmarks.result import Measurement
from nilometer.laboratory.window_joins import Joining, KernelJoin, OperatorJoin, in_arrival_numbers
from nilometer.operators.window_join.plan import Form
from nilometer.types import SECOND

STREAMS, WINDOWS = (3, 4), (2 * SECOND, 10 * SECOND)
RATE, THINGS = 10_000, 10_000
BATCH = 20_000


def window_joins(
    rows: int, rate: int = RATE, things: int = THINGS, repeats: int = 3
) -> tuple[Measurement, ...]:
    """The seconds of each, the best of several runs. The peer is XJoin, on the same readings."""
    return tuple(
        measured
        for streams in STREAMS
        for window in WINDOWS
        for measured in _measured(readings(rows, streams, rate, things), streams, window, repeats)
    )


def readings(rows: int, streams: int, rate: int, things: int, seed: int = 5) -> Arrivals:
    """Readings in time order."""
    chance = np.random.default_rng(seed)
    times = np.cumsum(chance.exponential(SECOND / rate, rows)).astype(np.int64)
    return Arrivals(
        times, chance.integers(0, streams, rows), chance.integers(0, things, rows), np.arange(rows)
    )


def _measured(given: Arrivals, streams: int, window: int, repeats: int) -> list[Measurement]:
    setting = f"{streams}-way, {window // SECOND} s"
    fed: dict[str, Callable[[], Joining]] = {
        "table": lambda: KernelJoin(streams, window, hashed=True),
        "operator": lambda: OperatorJoin(streams, window, Form.HW),
        "XJoin": lambda: XJoinTree(XJoinTreeSpec(streams, window)),
    }
    best: dict[str, float] = {}
    found: dict[str, Integers] = {}
    for name, make in fed.items():
        _fed(make(), given[:BATCH])  # compiles
        runs = [_fed(make(), given) for _ in range(repeats)]
        best[name] = min(seconds for seconds, _ in runs)
        found[name] = in_arrival_numbers(make(), runs[0][1], given)
    asked = query(database(given, streams), streams, window)
    asked.run("gateway")
    runs = [_asked(asked, streams) for _ in range(repeats)]
    best["gateway"], found["gateway"] = min(seconds for seconds, _ in runs), runs[0][1]
    return [
        Measurement(
            f"{name}, {setting}",
            best[name],
            best["XJoin"],
            len(given),
            len(found[name]),
            bool(np.array_equal(found[name], found["XJoin"])),
        )
        for name in ("table", "operator", "gateway")
    ]


def _fed(join: Joining, given: Arrivals) -> tuple[float, Integers]:
    found = []
    started = perf_counter()
    for at in range(0, len(given), BATCH):
        found.append(join.feed(given[at : at + BATCH]))
    return perf_counter() - started, np.concatenate(found)


def database(given: Arrivals, streams: int) -> Database:
    """Streams s0, s1, ... of (thing, number), each with its readings."""
    found = connect()
    for port in range(streams):
        found.execute(f"CREATE STREAM s{port} (thing INT, number INT) PUSHED")
        mine = given.sources == port
        frame = pl.DataFrame(
            {
                "time": given.times[mine],
                "id": given.values[mine],
                "thing": given.values[mine],
                "number": given.rows[mine],
            }
        )
        found.append(f"s{port}", frame.with_columns(pl.from_epoch("time", "us").dt.replace_time_zone("UTC")))
    return found


def query(found: Database, streams: int, window: int) -> Query:
    """All N-tuples of one thing within the window, by their numbers."""
    columns = ", ".join(f"s{port}.number AS n{port}" for port in range(streams))
    equal = " AND ".join(f"s{port}.thing = s{port + 1}.thing" for port in range(streams - 1))
    sources = ", ".join(f"s{port}" for port in range(streams))
    return found.sql(f"SELECT {columns} FROM {sources} WINDOW = {window // SECOND} SECONDS WHERE {equal}")


def _asked(asked: Query, streams: int) -> tuple[float, Integers]:
    started = perf_counter()
    answer = asked.run("gateway").given
    seconds = perf_counter() - started
    assert isinstance(answer, pl.DataFrame)
    rows = np.column_stack([answer[f"n{port}"].to_numpy() for port in range(streams)])
    return seconds, rows[np.lexsort(rows.T)]
