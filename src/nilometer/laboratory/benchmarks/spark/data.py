"""Makes the readings of `bench spark`, in the order of their arrival, from seeds and sizes.

Sensors read at 1 Hz, each at its own phase of the second, in whole milliseconds (other engines have no finer
event time). No two of a thousand sensors have the same phase. The readings come out of order within
`DISORDER`, which is less than the stream's DELAY, so none is late. The first to arrive is the earliest.

The last reading is a *sentinel*, from a sensor that does not exist and long after the others. It moves the
watermark past every window of the rest on either side, so that all of them can be compared (its own are never
closed). Values are multiples of 1/64, so that sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from nilometer.types import MILLISECOND, SECOND

START = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z
DELAY = 2 * SECOND
DISORDER = 500 * MILLISECOND
AFTER = 1_000 * SECOND
"""The time from the last reading to the sentinel."""


def readings(rows: int, sensors: int, disorder: int = DISORDER, seed: int = 7) -> pl.DataFrame:
    """`rows` readings (time, id, v, w), including the sentinel."""
    frame = _fleet(rows, sensors, disorder, seed)
    random = np.random.default_rng((seed, 1))
    return frame.with_columns(
        pl.Series("v", random.integers(-6400, 6400, rows) / 64), pl.Series("w", random.random(rows))
    )


KEYED = {"a": "x", "b": "y", "c": "z", "d": "u"}
"""The streams that are joined, and the column of each."""


def keyed(
    rows: int, sensors: int, names: Sequence[str] = ("a", "b"), seed: int = 7
) -> dict[str, pl.DataFrame]:
    """Streams of the same sensors (time, id, and the stream's column) with `rows` readings each, and with
    sentinels that do not match."""
    found = {}
    for number, name in enumerate(names):
        frame = _fleet(rows, sensors, DISORDER, seed + 10 * (1 + number), sentinel=-1 - number)
        values = np.random.default_rng((seed, 2 + number)).integers(0, 6400, rows) / 64
        found[name] = frame.with_columns(pl.Series(KEYED[name], values))
    return found


def valued(rows: int, sensors: int, skew: float, values: int = 1_000, seed: int = 7) -> pl.DataFrame:
    """`rows` readings (time, id, v) in order, no two at the same time, as many per second as there are
    sensors, at exponential gaps (SNJoin section 7.2). The values are `values` different ones by Zipf's law.
    The last reading is a sentinel with a value of its own."""
    random = np.random.default_rng((seed, 4))
    gaps = np.maximum(1, random.exponential(SECOND / sensors, rows)).astype(np.int64)
    gaps[-1] = AFTER
    weights = 1 / np.arange(1, values + 1) ** skew
    chosen = random.choice(values, size=rows, p=weights / weights.sum()).astype(np.float64)
    chosen[-1] = -1.0
    return pl.DataFrame(
        {"time": START + np.cumsum(gaps), "id": random.integers(0, sensors, rows), "v": chosen}
    )


def _fleet(rows: int, sensors: int, disorder: int, seed: int, sentinel: int = -1) -> pl.DataFrame:
    random = np.random.default_rng((seed, 0))
    number = np.arange(rows - 1)
    phase = random.permutation(sensors) * 1_000 // sensors * MILLISECOND
    identifiers = number % sensors
    times = START + number // sensors * SECOND + phase[identifiers]
    arrivals = times + (random.integers(0, disorder, rows - 1) if disorder else 0)
    first = int(np.argmin(times))
    arrivals[first] = times[first]
    order = np.argsort(arrivals, kind="stable")
    if disorder == 0:
        order = np.argsort(times, kind="stable")
    last = (int(times.max()) + AFTER) // SECOND * SECOND
    return pl.DataFrame(
        {
            "time": np.append(times[order], last),
            "id": np.append(identifiers[order], sentinel).astype(np.int64),
        }
    )
