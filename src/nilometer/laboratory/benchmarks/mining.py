"""`nilometer bench mining`: which share of one core each mining function takes for sensors that send every second.

Sensors send a noisy wave with a period of 20 seconds. The gateway gets the readings second by second, as it would live,
and every function has its defaults: an evaluation every second. Seconds are those of the processor. The first run of each
query warms up.

scikit-learn's Birch does the work of CLUSTERS (without fading), and is measured beside it where it is installed. stumpy and
river have nothing that gives the same answers: stumpy's incremental profile remembers neighbours that have left the window.
"""

from __future__ import annotations

import importlib.util
import sys
import time

import numpy as np
import polars as pl

from nilometer.engine import Database, connect
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.laboratory.benchmarks.single_core import on_one_core
from nilometer.types import SECOND

SENSORS = 2_000
LIMIT = 0.5
"""The largest share of a core."""
LEAST_SECONDS = 60

LEVELS = "LEVELS 5 BETWEEN -1 AND 1"
QUERIES = {
    "PERIODS": f"PERIODS(s, v {LEVELS} UP TO 48) [RANGE 2 MINUTES]",
    "PERIODS, SEGMENTS": f"PERIODS(s, v {LEVELS} UP TO 48 SEGMENTS) [RANGE 2 MINUTES]",
    "PATTERNS, MOST LETTERS 2": f"PATTERNS(s, v {LEVELS} PERIOD 20 MOST LETTERS 2) [RANGE 2 MINUTES]",
    "SUBSEQUENCES": f"SUBSEQUENCES(s, v {LEVELS} LENGTH 3 TO 4) [RANGE 20 SECONDS]",
    "MOTIFS": "MOTIFS(s, v LENGTH 20) [RANGE 2 MINUTES]",
    "DISCORDS": "DISCORDS(s, v LENGTH 20) [RANGE 2 MINUTES]",
    "SIMILAR_TO": "SIMILAR_TO(s, v, (0, 0.6, 1, 0.6, 0, -0.6, -1, -0.6) WITHIN 1)",
    "CLUSTERS": "CLUSTERS(s, v, w RADIUS 0.25)",
    "OUTLIERS": "OUTLIERS(s, v) [RANGE 2 MINUTES]",
}


def mining(rows: int, sensors: int) -> Result:
    """Run all functions on one core. `sensors` is the default of the other benchmarks, unless it was given."""
    return on_one_core(__name__, rows, SENSORS if sensors == 1_000 else sensors)


def measure(rows: int, sensors: int) -> Result:
    """The processor's seconds for each function; the share is that of the simulated seconds."""
    seconds = max(LEAST_SECONDS, rows // sensors // 3)
    small, whole = _waves(20, 40), _waves(sensors, seconds)
    found = []
    for name, text in QUERIES.items():
        _run(name, text, small, 20)
        found.append(_run(name, text, whole, sensors))
        print(f"{name}: {found[-1].ours / seconds:.1%} of a core", file=sys.stderr, flush=True)
    targets = [Target(f"share of a core, {each.task}", each.ours / seconds, LIMIT) for each in found]
    return Result(
        "mining",
        "birch",
        f"{sensors:,} sensors, a reading and an evaluation every second, {seconds} seconds of data, one core",
        tuple(found),
        tuple(targets),
        (
            "Where scikit-learn is not installed, nothing stands beside CLUSTERS. stumpy and river do no work that is the "
            "same.",
        ),
    )


def _waves(sensors: int, seconds: int) -> tuple[Database, np.ndarray]:
    random = np.random.default_rng(7)
    moments, ids = np.repeat(np.arange(seconds), sensors), np.tile(np.arange(sensors), seconds)
    angle = 2 * np.pi * (moments + ids) / 20
    points = np.stack([np.sin(angle), np.cos(angle)]) + random.normal(0.0, 0.1, (2, len(moments)))
    database = connect()
    database.execute("CREATE STREAM s (v FLOAT, w FLOAT) PUSHED EXPECT EVERY 1 SECOND")
    database.append("s", pl.DataFrame({"time": moments * SECOND, "id": ids, "v": points[0], "w": points[1]}))
    return database, points.T.copy()


def _run(name: str, text: str, given: tuple[Database, np.ndarray], sensors: int) -> Measurement:
    database, points = given
    query = database.sql(f"SELECT * FROM {text}")
    begin = time.process_time()
    rows = len(query.run("gateway", batch_rows=sensors))
    took = time.process_time() - begin
    peer = _birch(points, sensors) if name == "CLUSTERS" else None
    return Measurement(name, took, peer, len(points), rows, None)


def _birch(points: np.ndarray, sensors: int) -> float | None:
    """The seconds of scikit-learn's Birch for the same points, second by second."""
    if importlib.util.find_spec("sklearn") is None:
        return None
    birch = importlib.import_module("sklearn.cluster").Birch(threshold=0.25, n_clusters=None)
    begin = time.process_time()
    for start in range(0, len(points), sensors):
        birch.partial_fit(points[start : start + sensors])
    return time.process_time() - begin
