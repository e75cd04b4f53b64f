"""`nilometer bench mining`: which share of one core each mining function takes for sensors that send every second.

Sensors send a noisy wave with a period of 20 seconds. The gateway gets the readings second by second, as it would live,
and every function has its defaults: an evaluation every second. Seconds are those of the processor, for the seconds of data
after the first two minutes, when all windows are full: a run over all data less one over the first two minutes. The first
run of each query warms up.

stumpy, scikit-learn and river stand beside them where they are installed (mining_peers.py): in the project's environment, or
in one that PYTHONPATH names. They follow a few sensors; the ratio is for as many readings. Where they do the same work, the
answers for these sensors are compared.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import polars as pl

from nilometer.engine import Database, connect
from nilometer.laboratory.benchmarks.mining_peers import EXAMPLE, Answers, installed, peers_of
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.laboratory.benchmarks.single_core import on_one_core
from nilometer.types import SECOND

SENSORS = 2_000
LIMIT = 0.5
"""The largest share of a core."""
WARM = 120
"""Seconds until all windows are full."""
LEAST_SECONDS = 30
FOLLOWED = 20
"""So many sensors a peer follows, unless it has one model of all."""

LEVELS = "LEVELS 5 BETWEEN -1 AND 1"
QUERIES = {
    "PERIODS": f"PERIODS(s, v {LEVELS} UP TO 48) [RANGE 2 MINUTES]",
    "PERIODS, SEGMENTS": f"PERIODS(s, v {LEVELS} UP TO 48 SEGMENTS) [RANGE 2 MINUTES]",
    "PATTERNS, MOST LETTERS 2": f"PATTERNS(s, v {LEVELS} PERIOD 20 MOST LETTERS 2) [RANGE 2 MINUTES]",
    "SUBSEQUENCES": f"SUBSEQUENCES(s, v {LEVELS} LENGTH 3 TO 4) [RANGE 20 SECONDS]",
    "MOTIFS": "MOTIFS(s, v LENGTH 20) [RANGE 2 MINUTES]",
    "DISCORDS": "DISCORDS(s, v LENGTH 20) [RANGE 2 MINUTES]",
    "SIMILAR_TO": f"SIMILAR_TO(s, v, {EXAMPLE} WITHIN 1)",
    "CLUSTERS": "CLUSTERS(s, v, w RADIUS 0.25)",
    "OUTLIERS": "OUTLIERS(s, v) [RANGE 2 MINUTES]",
}
COMPARED = {
    "MOTIFS": ("tick", "distance"),
    "DISCORDS": ("time", "distance"),
    "SIMILAR_TO": ("time", "distance"),
    "OUTLIERS": ("time", "value"),
}
"""The columns that have a row's moment and the number that a peer has, too."""


def mining(rows: int, sensors: int) -> Result:
    """Run all functions on one core. `sensors` is the default of the other benchmarks, unless it was given."""
    return on_one_core(__name__, rows, SENSORS if sensors == 1_000 else sensors)


def measure(rows: int, sensors: int) -> Result:
    """The processor's seconds for each function; the share is that of the simulated seconds."""
    seconds = max(LEAST_SECONDS, rows // sensors // 10)
    small, (whole, waves) = _waves(20, 40)[0], _waves(sensors, WARM + seconds)
    first = _database(waves[:WARM])
    found: list[Measurement] = []
    targets = []
    for name, text in QUERIES.items():
        _run(text, small, 20)
        before, _ = _run(text, first, sensors)
        took, answer = _run(text, whole, sensors)
        share = (took - before) / seconds
        targets.append(Target(f"share of a core, {name}", share, LIMIT))
        print(f"{name}: {share:.1%} of a core", file=sys.stderr, flush=True)
        found += _beside(name, took - before, answer, waves, seconds * sensors)
    missing = [library for library in ("stumpy", "sklearn", "river") if not installed(library)]
    return Result(
        "mining",
        "peer",
        f"{sensors:,} sensors, a reading and an evaluation every second, {seconds} seconds of data behind the first "
        f"{WARM}, one core",
        tuple(found),
        tuple(targets),
        (f"Not installed: {', '.join(missing)}.",) if missing else (),
    )


def _beside(
    name: str, took: float, answer: pl.DataFrame, waves: np.ndarray, readings: int
) -> list[Measurement]:
    """Our figure alone, or once beside each peer."""
    follow = waves if name == "CLUSTERS" else waves[:, :FOLLOWED]
    peers = peers_of(name, follow, WARM)
    if not peers:
        return [Measurement(name, took, None, readings, answer.height, None)]
    return [
        Measurement(
            f"{name}; {peer.name}",
            took,
            peer.seconds,
            readings,
            answer.height,
            None if peer.answers is None else _agrees(_answers(name, answer, len(waves)), peer.answers),
            peer.readings,
        )
        for peer in peers
    ]


def _answers(name: str, answer: pl.DataFrame, seconds: int) -> Answers:
    """Our numbers of the sensors that peers follow, by sensor and place of the second."""
    moment, number = COMPARED[name]
    # Behind the last reading, evaluations go on until no window holds one.
    full = pl.col(moment).is_between(WARM * SECOND + 1, seconds * SECOND)
    kept = answer.filter((pl.col("id") < FOLLOWED) & full)
    kept = kept.sort(number, descending=True)  # of several motifs, the nearest
    keys = zip(kept["id"].to_list(), (kept[moment] // SECOND - 1).to_list(), strict=True)
    return dict(zip(keys, kept[number].to_list(), strict=True))


def _agrees(ours: Answers, theirs: Answers) -> bool:
    return ours.keys() == theirs.keys() and all(abs(ours[key] - theirs[key]) < 1e-6 for key in ours)


def _waves(sensors: int, seconds: int) -> tuple[Database, np.ndarray]:
    random = np.random.default_rng(7)
    angle = 2 * np.pi * (np.arange(seconds)[:, None] + np.arange(sensors)) / 20
    points = np.stack([np.sin(angle), np.cos(angle)], axis=2) + random.normal(0.0, 0.1, (seconds, sensors, 2))
    points[np.arange(0, seconds, 7), np.arange(0, seconds, 7) % sensors, 0] += 9.0  # some readings are odd
    return _database(points), points


def _database(points: np.ndarray) -> Database:
    """Second k is in the slot that ends at k + 1."""
    seconds, sensors, _ = points.shape
    moments, ids = np.repeat(np.arange(1, seconds + 1), sensors), np.tile(np.arange(sensors), seconds)
    values = points.reshape(-1, 2)
    database = connect()
    database.execute("CREATE STREAM s (v FLOAT, w FLOAT) PUSHED EXPECT EVERY 1 SECOND")
    database.append(
        "s", pl.DataFrame({"time": moments * SECOND, "id": ids, "v": values[:, 0], "w": values[:, 1]})
    )
    return database


def _run(text: str, database: Database, sensors: int) -> tuple[float, pl.DataFrame]:
    """The processor's seconds, and the rows."""
    query = database.sql(f"SELECT * FROM {text}")
    begin = time.process_time()
    given = query.run("gateway", batch_rows=sensors).given
    took = time.process_time() - begin
    assert isinstance(given, pl.DataFrame)
    return took, given
