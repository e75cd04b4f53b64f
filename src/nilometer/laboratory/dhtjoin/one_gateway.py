"""DHTJoin's q1 at the paper's defaults on one gateway, beside arithmetic with counts per key (dhtjoin.txt, sections 1, 6).

    SELECT SUM(A.size) FROM A [RANGE 50 SECONDS ...], B [...], C [...] WHERE A.dest = B.dest AND B.dest = C.dest

Flat, the join has some 66 million results in 300 s. The law: at each tick the answer is the sum over all keys of
sizes(A) x count(B) x count(C), which numpy computes from the readings.
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass

import numpy as np
import polars as pl

import nilometer

BEGIN = np.datetime64("2026-03-01T06:00:00", "us")
SECOND = np.timedelta64(1, "s")
STREAMS = ("a", "b", "c")


@dataclass(frozen=True)
class Answered:
    """What q1 took: evaluations, how many of them differ from the arithmetic, seconds, and the process's peak."""

    ticks: int
    different: int
    joined: int
    seconds: float
    megabytes: float


def one_gateway(rate: int = 30, seconds: int = 300, window: int = 50, keys: int = 1000) -> Answered:
    """Ask q1 of three streams with so many tuples a second each; keys have Zipf's law with 0.9."""
    random = np.random.default_rng(7)
    shares = 1.0 / np.arange(1, keys + 1) ** 0.9
    database, readings = nilometer.connect(), []
    for name in STREAMS:
        count = rate * seconds
        frame = pl.DataFrame(
            {
                "time": BEGIN + (np.sort(random.random(count)) * seconds * 1e6).astype("timedelta64[us]"),
                "id": np.ones(count, dtype=np.int64),
                "dest": random.choice(keys, count, p=shares / shares.sum()),
                "size": random.integers(1, 1500, count),
            }
        )
        database.execute(f"CREATE STREAM {name} (id INT, dest INT, size INT) PUSHED")
        database.append(name, frame)
        readings.append(frame)
    windows = ", ".join(f"{one} [RANGE {window} SECONDS SLIDE 1 SECOND]" for one in STREAMS)
    text = f"SELECT SUM(a.size) AS total FROM {windows} WHERE a.dest = b.dest AND b.dest = c.dest"
    begun = time.perf_counter()
    answers = database.sql(text).polars()
    took = time.perf_counter() - begun
    ticks = answers["tick"].dt.replace_time_zone(None).to_numpy()
    expected, joined = zip(*(_by_key(readings, tick, window, keys) for tick in ticks), strict=True)
    different = sum(mine != (theirs or None) for mine, theirs in zip(answers["total"], expected, strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Answered(answers.height, different, max(joined), took, peak)


def _by_key(readings: list[pl.DataFrame], at: np.datetime64, window: int, keys: int) -> tuple[int, int]:
    """The sum of A's sizes over the joined rows at a tick, and how many rows these are."""
    per_key = []
    for place, frame in enumerate(readings):
        times = frame["time"].to_numpy()
        first, last = np.searchsorted(times, (at - window * SECOND, at), side="right")
        dest = frame["dest"].to_numpy()[first:last]
        counts = np.bincount(dest, minlength=keys)
        if place == 0:
            per_key.append(
                np.bincount(dest, frame["size"].to_numpy()[first:last], minlength=keys).astype(int)
            )
        per_key.append(counts)
    sizes, a, b, c = per_key
    return int((sizes * b * c).sum()), int((a * b * c).sum())
