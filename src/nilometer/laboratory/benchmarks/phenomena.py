"""`nilometer bench phenomena`: how many readings a second the gateway searches for phenomena, on one core.

A disc of high readings, one hundredth of the field, moves across a grid of sensors that send every second. Seconds are
those of the processor. Each task shows how the cost grows: with the sensors, and with the window.
"""

from __future__ import annotations

import time

import numpy as np
import polars as pl

from nilometer.catalog.extents import Sensor
from nilometer.engine import Database, connect
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.laboratory.benchmarks.single_core import on_one_core
from nilometer.types import SECOND

SPACING = 10.0
SHARE = 0.01
FIELDS = (200, 2_000, 20_000)
WINDOWS = (3, 60)
LIMIT = 1.0
"""The most seconds of the processor for a million readings."""


def phenomena(rows: int, sensors: int) -> Result:
    """Run all tasks on one core."""
    return on_one_core(__name__, rows, sensors)


def measure(rows: int, _sensors: int) -> Result:
    """The seconds of each task; the first run warms up."""
    _search(field_of(200, 5), 3)
    found = []
    for sensors in FIELDS:
        database = field_of(sensors, max(10, rows // sensors))
        found += [_search(database, window) for window in WINDOWS]
    most = found[2 * len(FIELDS) - 2]
    claim = f"processor seconds a million readings, {most.task}"
    return Result(
        "phenomena",
        "nobody",
        f"{rows:,} readings a task, {SHARE:.0%} of the sensors in the phenomenon, one core, seconds of the processor",
        tuple(found),
        (Target(claim, most.ours / most.rows_in * 1e6, LIMIT),),
        tuple(f"{each.task}: {each.rows_in / each.ours:,.0f} readings a second" for each in found),
    )


def field_of(sensors: int, seconds: int) -> Database:
    """A grid of sensors over which a disc of high readings moves."""
    random = np.random.default_rng(1)
    side = int(np.ceil(np.sqrt(sensors)))
    ids = np.arange(sensors)
    x, y = (ids % side) * SPACING, (ids // side) * SPACING
    moments, source = np.repeat(np.arange(seconds), sensors), np.tile(ids, seconds)
    width = side * SPACING
    middle = (0.2 + 0.6 * moments / seconds) * width
    inside = (x[source] - middle) ** 2 + (y[source] - width / 2) ** 2 < SHARE / np.pi * width**2
    values = np.where(inside, 60.0, 10.0) + random.normal(0.0, 2.0, len(moments))
    database = connect()
    database.execute("CREATE STREAM air (v FLOAT) PUSHED EXPECT EVERY 1 SECOND COORDINATES 'm'")
    places = zip(ids.tolist(), x.tolist(), y.tolist(), strict=True)
    for sensor, across, along in places:
        database.catalog.add_sensor(Sensor(sensor, "air", (across, along)))
    database.append("air", pl.DataFrame({"time": moments * SECOND, "id": source, "v": values}))
    return database


def _search(database: Database, window: int) -> Measurement:
    sensors = len(database.catalog.sensors("air"))
    query = database.sql(
        f"SELECT * FROM PHENOMENA(ON air.v ABOVE 35 RANGE {window} SECONDS SLIDE 1 SECOND STRENGTH 2 "
        f"NEIGHBOURS WITHIN {1.5 * SPACING:g} M MEMBERS 3)"
    )
    count = int(database.sql("SELECT COUNT(*) AS n FROM air").run("gateway").given["n"][0])  # type: ignore[call-overload]
    begin = time.process_time()
    updates = len(query.run("gateway"))
    took = time.process_time() - begin
    return Measurement(f"{sensors:,} sensors, RANGE {window} SECONDS", took, None, count, updates, None)
