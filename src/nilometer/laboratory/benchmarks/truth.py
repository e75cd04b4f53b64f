"""`nilometer bench truth`: what is found of puffs whose way is known, under noise and loss.

Puffs cross a field of 400 sensors, one after the other. Noise is normal, its deviation a share of a puff's strength at its
source; loss is the share of readings that never arrive. At an evaluation the truth are the sensors whose concentration
without noise is above the limit of the definition, if they are enough for a phenomenon:

    recall     the share of evaluations with a truth at which a phenomenon has one of its sensors
    false      phenomena that never had a sensor of the truth
    delay      from the first evaluation with a truth of a puff to the first at which it is found, in SLIDEs
    position   from the middle of the largest such phenomenon to the puff's centre (`MovingPlume.center`), in spacings of
               the sensors, while the centre is in the field
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from nilometer.laboratory.benchmarks.prediction import plume_field, rows_of
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.simulated.disorder import Disorder
from nilometer.simulated.fields.moving_plume import MovingPlume
from nilometer.types import HOUR, MINUTE

NOISE = (0.0, 0.05, 0.2)
LOSS = (0.0, 0.2, 0.5)
LIMIT, MEMBERS, SLIDE = 40.0, 4, MINUTE
DEFINITION = (
    f"ON plume.concentration ABOVE {LIMIT:g} RANGE 5 MINUTES SLIDE 1 MINUTE STRENGTH 2 NEIGHBOURS WITHIN 80 M "
    f"MEMBERS {MEMBERS}"
)
MISSED = 0.05
"""The most evaluations that may be missed without noise and loss."""


@dataclass(frozen=True)
class Score:
    """A cell of the table."""

    recall: float
    false: int
    delay: float
    position: float


def truth(_rows: int, _sensors: int) -> Result:
    """Score every pair of noise and loss."""
    notes, tasks, scores = [], [], {}
    plume = MovingPlume(
        sensor_count=400,
        duration=4 * HOUR,
        name="plume",
        seed=3,
        wind=(0.3, 0.1),
        release=HOUR,
        sigma=90.0,
        noise=0.0,
    )
    clean = plume.frame()
    for noise in NOISE:
        for loss in LOSS:
            begin = time.process_time()
            score = scores[noise, loss] = _score(plume, clean, noise, loss)
            tasks.append(
                Measurement(
                    f"noise {noise:.0%}, loss {loss:.0%}",
                    time.process_time() - begin,
                    None,
                    clean.height,
                    0,
                    None,
                )
            )
            notes.append(
                f"noise {noise:.0%}, loss {loss:.0%}: recall {score.recall:.3f}, false {score.false}, delay {score.delay:.1f} "
                f"SLIDEs, position {score.position:.2f} spacings"
            )
    missed = 1 - scores[0.0, 0.0].recall
    targets = (Target("evaluations missed without noise and loss, a share", missed, MISSED),)
    setting = f"400 sensors, 4 puffs, a reading a minute; {DEFINITION}"
    return Result("truth", "nobody", setting, tuple(tasks), targets, tuple(notes))


def _score(plume: MovingPlume, clean: pl.DataFrame, noise: float, loss: float) -> Score:
    random = np.random.default_rng(11)
    lossy = replace(plume, dials=Disorder(drop=loss)).frame()
    shaken = pl.col("concentration") + pl.Series(random.normal(0.0, noise * plume.strength, lossy.height))
    database = plume_field(plume, lossy.with_columns(shaken))
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows_of(database, f"SELECT time, id, members, location FROM CURRENT({DEFINITION})"):
        found[row["time"]].append(row)
    high = clean.filter(pl.col("concentration") > LIMIT).group_by("time").agg(pl.col("id"))
    true = {moment: set(ids) for moment, ids in high.iter_rows() if len(ids) >= MEMBERS}
    spacing = plume.width / math.sqrt(plume.sensor_count)
    first_true: dict[int, int] = {}
    first_found: dict[int, int] = {}
    away, right = [], set()
    hits = 0
    for moment in sorted(true):
        puff = (moment - plume.start) // plume.release
        first_true.setdefault(puff, moment)
        meeting = [row for row in found[moment] if true[moment] & set(row["members"])]
        if not meeting:
            continue
        hits += 1
        first_found.setdefault(puff, moment)
        right |= {row["id"] for row in meeting}
        x, y = plume.center(moment, puff)
        if 0 <= x <= plume.width and 0 <= y <= plume.height:
            place = max(meeting, key=lambda row: len(row["members"]))["location"]
            away.append(math.dist((x, y), (place["x"], place["y"])) / spacing)
    every = {row["id"] for rows in found.values() for row in rows}
    delays = [
        (first_found[puff] - begin) / SLIDE for puff, begin in first_true.items() if puff in first_found
    ]
    return Score(hits / len(true), len(every - right), _mean(delays), _mean(away))


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
