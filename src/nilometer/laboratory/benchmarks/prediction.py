"""`nilometer bench prediction`: PREDICT beside two baselines, on puffs that the wind carries over 400 sensors.

Persistence says that a phenomenon stays as it is; displacement, that it goes on as between the last two evaluations.
A prediction is scored by the share of the area that it and what came have in common (intersection over union), and by
the distance from the predicted middle to the true centre of a puff (`MovingPlume.center`).
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from typing import Any

import polars as pl

from nilometer.algebra.places import Place
from nilometer.algebra.prediction import moved
from nilometer.engine import connect
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.simulated.fields.moving_plume import MovingPlume
from nilometer.types import HOUR, MINUTE

HORIZONS = (1, 2, 4, 8)
METHODS = ("PREDICT", "persistence", "displacement")
SLIDE = 2 * MINUTE
DEFINITION = "ON plume.concentration ABOVE 20 RANGE 4 MINUTES SLIDE 2 MINUTES STRENGTH 2 NEIGHBOURS WITHIN 80 M MEMBERS 3"


def prediction(_rows: int, sensors: int) -> Result:
    """Score the predictions of six hours."""
    plume = MovingPlume(
        sensor_count=max(sensors, 400) if sensors != 1_000 else 400,
        duration=6 * HOUR,
        name="plume",
        seed=3,
        wind=(0.3, 0.1),
        release=2 * HOUR,
    )
    database = connect()
    database.execute("CREATE STREAM plume (concentration FLOAT) SENSED EVERY 1 MINUTE COORDINATES 'm'")
    for sensor in plume.sensors():
        database.catalog.add_sensor(sensor)
    database.append("plume", plume.frame())
    begin = time.process_time()
    horizon = HORIZONS[-1] * SLIDE // MINUTE
    found = _rows_of(database.sql(f"SELECT * FROM PREDICT({DEFINITION}, {horizon} MINUTES)"))
    took = time.process_time() - begin
    came = {
        (row["id"], row["time"]): row
        for row in _rows_of(database.sql(f"SELECT * FROM CURRENT({DEFINITION})"))
    }
    shares: dict[tuple[str, int], list[float]] = defaultdict(list)
    away: dict[tuple[str, int], list[float]] = defaultdict(list)
    for row in found:
        steps = (row["at"] - row["time"]) // SLIDE
        truth, now = came.get((row["id"], row["at"])), came[row["id"], row["time"]]
        before = came.get((row["id"], row["time"] - SLIDE))
        if steps not in HORIZONS or truth is None or before is None:
            continue
        for method, (region, middle) in _said(row, now, before, steps).items():
            shares[method, steps].append(_common(region, truth["region"]))
            centres = (plume.center(row["at"], puff) for puff in range(3))
            away[method, steps].append(min(math.dist(middle, centre) for centre in centres))
    notes = [
        f"{steps} evaluations ahead, {method}: IoU {_mean(shares[method, steps]):.3f}, {_mean(away[method, steps]):.0f} m "
        f"from the true centre ({len(shares[method, steps])} predictions)"
        for steps in HORIZONS
        for method in METHODS
    ]
    targets = tuple(
        Target(
            f"IoU of persistence over that of PREDICT, {steps} ahead",
            _mean(shares["persistence", steps]) / _mean(shares["PREDICT", steps]),
            1.0,
        )
        for steps in HORIZONS[:3]
    )
    count = plume.frame().height
    task = Measurement("PREDICT, seconds of the processor", took, None, count, len(found), None)
    setting = f"{plume.sensor_count} sensors, 6 hours of puffs, evaluated every 2 minutes"
    return Result("prediction", "persistence", setting, (task,), targets, tuple(notes))


def _rows_of(query: Any) -> list[dict[str, Any]]:
    given: pl.DataFrame = query.run("gateway").given
    return given.to_dicts()


def _said(
    row: dict[str, Any], now: dict[str, Any], before: dict[str, Any], steps: int
) -> dict[str, tuple[str, Place]]:
    """What each method predicts: a region and its middle."""
    middle, earlier = _pair(now["location"]), _pair(before["location"])
    shift = (middle[0] - earlier[0]) * steps, (middle[1] - earlier[1]) * steps
    there = middle[0] + shift[0], middle[1] + shift[1]
    return {
        "PREDICT": (row["region"], _pair(row["location"])),
        "persistence": (now["region"], middle),
        "displacement": (moved(now["region"], middle, shift, 1.0, "m", 1.0), there),
    }


def _common(one: str, other: str) -> float:
    import shapely

    left, right = shapely.from_wkt(one), shapely.from_wkt(other)
    together = left.union(right).area
    return float(left.intersection(right).area / together) if together else 0.0


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _pair(point: dict[str, float]) -> Place:
    return point["x"], point["y"]
