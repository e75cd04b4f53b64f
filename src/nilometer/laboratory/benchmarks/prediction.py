"""`nilometer bench prediction`: PREDICT and ARRIVALS beside two baselines, on puffs that the wind carries over 400
sensors, and on the smoke of the Camp Fire.

Persistence says that a phenomenon stays as it is; displacement, that it goes on as between the last two evaluations.
A prediction is scored by the share of the area that it and what came have in common (intersection over union), and for
puffs by the distance from the predicted middle to the true centre (`MovingPlume.center`). An arrival is scored by how far
it is from the evaluation at which the sensor became a member of a phenomenon.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import polars as pl

from nilometer.algebra.places import WGS84, Place
from nilometer.algebra.prediction import moved
from nilometer.algebra.regions import from_plane, to_plane
from nilometer.engine import Database, connect
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.laboratory.example_fields import example_field
from nilometer.simulated.fields.moving_plume import MovingPlume
from nilometer.types import HOUR, MINUTE

HORIZONS = (1, 2, 4, 8)
METHODS = ("PREDICT", "persistence", "displacement")
SLIDE = 2 * MINUTE
DEFINITION = "ON plume.concentration ABOVE 20 RANGE 4 MINUTES SLIDE 2 MINUTES STRENGTH 2 NEIGHBOURS WITHIN 80 M MEMBERS 3"
SOON = 4
"""An arrival at most so many evaluations ahead must be right within one."""
PATIENCE = 30
"""A sensor that no phenomenon takes in within so many evaluations was not reached."""

Rows = list[dict[str, Any]]
Shares = dict[tuple[str, int], list[float]]


def prediction(_rows: int, sensors: int) -> Result:
    """Score the predictions of six hours of puffs, and of the smoke."""
    plume = MovingPlume(
        sensor_count=max(sensors, 400) if sensors != 1_000 else 400,
        duration=6 * HOUR,
        name="plume",
        seed=3,
        wind=(0.3, 0.1),
        release=2 * HOUR,
    )
    database = plume_field(plume)
    begin = time.process_time()
    horizon = f"{HORIZONS[-1] * SLIDE // MINUTE} MINUTES"
    found = rows_of(database, f"SELECT * FROM PREDICT({DEFINITION}, {horizon})")
    took = time.process_time() - begin
    shares, ahead = _score(database, DEFINITION, found, SLIDE, "m")
    notes = _notes("puffs", shares)
    for steps in HORIZONS:
        near = [f"{method} {_mean(_from_centre(plume, ahead[method, steps])):.0f} m" for method in METHODS]
        notes.append(f"puffs, {steps} ahead, from the true centre: {', '.join(near)}")
    late = _arrivals(database, DEFINITION, horizon, SLIDE)
    soon = [abs(each) for steps, each in late if steps <= SOON and each is not None]
    for steps in HORIZONS:
        own = [each for ahead_, each in late if ahead_ == steps]
        came = [abs(each) for each in own if each is not None]
        notes.append(
            f"puffs, arrivals {steps} ahead: {_mean(came):.2f} SLIDEs off, {len(came)} came, {len(own) - len(came)} "
            f"did not within {PATIENCE} evaluations"
        )
    targets = [
        Target(
            f"puffs: IoU of {other} over that of PREDICT, {steps} ahead",
            _mean(shares[other, steps]) / _mean(shares["PREDICT", steps]),
            1.0,
        )
        for other in METHODS[1:]
        for steps in HORIZONS[:3]
    ]
    targets.append(Target(f"puffs: mean error of arrivals up to {SOON} ahead, in SLIDEs", _mean(soon), 1.0))
    notes += _other_winds()
    notes += _smoke()
    task = Measurement(
        "PREDICT, seconds of the processor", took, None, plume.frame().height, len(found), None
    )
    setting = f"{plume.sensor_count} sensors, 6 hours of puffs, evaluated every 2 minutes"
    return Result("prediction", "persistence", setting, (task,), tuple(targets), tuple(notes))


def plume_field(plume: MovingPlume, readings: pl.DataFrame | None = None) -> Database:
    """A database with the sensors of a plume, and with its readings or others."""
    database = connect()
    database.execute("CREATE STREAM plume (concentration FLOAT) SENSED EVERY 1 MINUTE COORDINATES 'm'")
    for sensor in plume.sensors():
        database.catalog.add_sensor(sensor)
    database.append("plume", plume.frame() if readings is None else readings)
    return database


def rows_of(database: Database, text: str) -> Rows:
    """The answer on the gateway, with times in microseconds."""
    given: pl.DataFrame = database.sql(text).run("gateway").given  # type: ignore[assignment]
    return given.to_dicts()


def _other_winds() -> list[str]:
    """The same for puffs in a slower and in a faster wind; no figure of theirs is a target."""
    notes = []
    for wind, seed, release in (((0.2, -0.05), 5, 2 * HOUR), ((0.5, 0.1), 7, HOUR)):
        plume = MovingPlume(
            sensor_count=400, duration=6 * HOUR, name="plume", seed=seed, wind=wind, release=release
        )
        database = plume_field(plume)
        found = rows_of(
            database, f"SELECT * FROM PREDICT({DEFINITION}, {HORIZONS[-1] * SLIDE // MINUTE} MINUTES)"
        )
        notes += _notes(f"puffs at {wind[0]} m/s", _score(database, DEFINITION, found, SLIDE, "m")[0])
    return notes


def _smoke() -> list[str]:
    """The same for the smoke of the Camp Fire; no figure of it is a target."""
    with example_field("campfire") as field:
        if field is None:
            return ["the smoke of the Camp Fire is part of the source, which is not here"]
        database, origin = field
        found = rows_of(database, f"SELECT * FROM PREDICT(smoke, {HORIZONS[-1]} HOURS)")
        shares, _ = _score(database, "smoke", found, HOUR, WGS84)
        late = _arrivals(database, "smoke", f"{SOON} HOURS", HOUR)
    came = [abs(each) for _, each in late if each is not None]
    arrivals = f"smoke, arrivals up to {SOON} ahead: {_mean(came):.2f} SLIDEs off, {len(came)} came, {len(late) - len(came)} did not"
    return [*_notes(f"smoke ({origin})", shares), arrivals]


def _notes(field: str, shares: Shares) -> list[str]:
    notes = []
    for steps in HORIZONS:
        each = [f"{method} {_mean(shares[method, steps]):.3f}" for method in METHODS]
        count = len(shares["PREDICT", steps])
        notes.append(f"{field}, {steps} ahead, IoU: {', '.join(each)} ({count} predictions)")
    return notes


def _score(
    database: Database, definition: str, found: Rows, slide: int, coordinates: str
) -> tuple[Shares, dict[tuple[str, int], list[tuple[int, Place]]]]:
    """By method and horizon: the shares in common with what came, and the middles that were said, with their time."""
    came = {
        (row["id"], row["time"]): row for row in rows_of(database, f"SELECT * FROM CURRENT({definition})")
    }
    shares: Shares = defaultdict(list)
    middles: dict[tuple[str, int], list[tuple[int, Place]]] = defaultdict(list)
    for row in found:
        steps = (row["at"] - row["time"]) // slide
        truth, now = came.get((row["id"], row["at"])), came[row["id"], row["time"]]
        before = came.get((row["id"], row["time"] - slide))
        if steps not in HORIZONS or truth is None or before is None:
            continue
        for method, (region, middle) in _said(row, now, before, steps, coordinates).items():
            shares[method, steps].append(_common(region, truth["region"]))
            middles[method, steps].append((row["at"], middle))
    return shares, middles


def _said(
    row: dict[str, Any], now: dict[str, Any], before: dict[str, Any], steps: int, coordinates: str
) -> dict[str, tuple[str, Place]]:
    """What each method predicts: a region and its middle."""
    middle, earlier = _pair(now["location"]), _pair(before["location"])
    x, y = to_plane(middle, earlier, coordinates, 1.0)
    shift = x * steps, y * steps
    return {
        "PREDICT": (row["region"], _pair(row["location"])),
        "persistence": (now["region"], middle),
        "displacement": (
            moved(now["region"], middle, shift, 1.0, coordinates, 1.0),
            from_plane(shift, middle, coordinates, 1.0),
        ),
    }


def _from_centre(plume: MovingPlume, said: Sequence[tuple[int, Place]]) -> list[float]:
    puffs = range(plume.duration // plume.release)
    return [min(math.dist(middle, plume.center(at, puff)) for puff in puffs) for at, middle in said]


def _arrivals(
    database: Database, definition: str, horizon: str, slide: int
) -> list[tuple[int, float | None]]:
    """For each arrival how many evaluations ahead it was said, and how many later than said the sensor became a member;
    None: it did not."""
    joined: dict[Any, list[int]] = defaultdict(list)
    for row in rows_of(database, f"SELECT time, gained FROM PHENOMENA({definition})"):
        for member in row["gained"]:
            joined[member].append(row["time"])
    late: list[tuple[int, float | None]] = []
    for row in rows_of(database, f"SELECT * FROM ARRIVALS({definition}, {horizon})"):
        last = row["time"] + PATIENCE * slide
        came = [each for each in joined[row["sensor"]] if row["time"] < each <= last]
        late.append(((row["at"] - row["time"]) // slide, (min(came) - row["at"]) / slide if came else None))
    return late


def _common(one: str, other: str) -> float:
    import shapely

    left, right = shapely.from_wkt(one), shapely.from_wkt(other)
    together = left.union(right).area
    return float(left.intersection(right).area / together) if together else 0.0


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _pair(point: dict[str, float]) -> Place:
    return point["x"], point["y"]
