"""`nilometer bench phenomena`: how many readings a second the gateway searches for phenomena, on one core; how much it
keeps over an hour; and how long an update takes live on Spark.

    gateway   a disc of high readings, one hundredth of the field, moves across a grid of sensors that send every second;
              seconds are those of the processor; tasks show how the cost grows with the sensors and with the window
    state     the same for an hour: the bytes of the operators' state against the bound of docs/phenomena.md
    spark     20,000 sensors at 1 Hz, live (phenomena_live.py)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from nilometer.catalog.extents import Sensor
from nilometer.dataflow.lowering.table_functions import spec_of
from nilometer.engine import Database, connect
from nilometer.laboratory.benchmarks.registry import check
from nilometer.laboratory.benchmarks.result import Measurement, Result, Target
from nilometer.laboratory.benchmarks.single_core import on_one_core
from nilometer.operators.logic import ID, POSITION, TICK, TIME, Progress
from nilometer.optimizer.phenomenon_state import SLICE_BYTES, SOURCE_BYTES
from nilometer.plan.physical import TableFunction, walk_plan
from nilometer.types import SECOND

SPACING = 10.0
SHARE = 0.01
FIELDS = (200, 2_000, 20_000)
WINDOWS = (3, 60)
FRAMES = 65_536
"""Bytes for the headers of the frames that a state is written as."""
LIMIT = 1.0
"""The most seconds of the processor for a million readings."""


PARTS = ("gateway", "state", "spark")
HOUR_OF, HOUR_WINDOW = 400, 60
"""The sensors of the simulated hour, and its RANGE in seconds."""


def phenomena(
    rows: int, sensors: int, only: Sequence[str] = (), say: Callable[[str], None] = lambda _: None
) -> Result:
    """Run the parts: searches on one core, an hour of state, and live on Spark."""
    for part in only:
        check(PARTS, part, "part")
    wanted = set(only or PARTS)
    found = (
        on_one_core(__name__, rows, sensors)
        if "gateway" in wanted
        else Result("phenomena", "nobody", f"{', '.join(sorted(wanted))}", (), ())
    )
    if "state" in wanted:
        say(f"an hour of {HOUR_OF} sensors at 1 Hz")
        target, note = state_over_an_hour()
        found = replace(found, targets=(*found.targets, target), notes=(*found.notes, note))
    if "spark" in wanted:
        from nilometer.laboratory.benchmarks.phenomena_live import live_on_spark

        task, target, note = live_on_spark(say)
        found = replace(
            found,
            measurements=(*found.measurements, task),
            targets=(*found.targets, target),
            notes=(*found.notes, note),
        )
    return found


def state_over_an_hour() -> tuple[Target, str]:
    """The most bytes that the candidates kept at any time of an hour, as a share of the bound."""
    database = field_of(HOUR_OF, 3_600)
    query = database.sql(
        f"SELECT * FROM PHENOMENA(ON air.v ABOVE 35 RANGE {HOUR_WINDOW} SECONDS SLIDE 1 SECOND STRENGTH 2 "
        f"NEIGHBOURS WITHIN {1.5 * SPACING:g} M MEMBERS 3)"
    )
    node = next(
        each for each in walk_plan(query.physical) if getattr(each, "operator", "") == "PH_CANDIDATES"
    )
    assert isinstance(node, TableFunction)
    logic = spec_of(node).build()
    value, place = node.call.columns
    readings = database.sql("SELECT time, id, v, location FROM air").run("gateway").given
    assert isinstance(readings, pl.DataFrame)
    rows = readings.sort("time", "id").select(
        pl.col("time").alias(TICK),
        pl.col("time").alias(TIME),
        pl.col("id").alias(ID),
        pl.int_range(pl.len()).alias(POSITION),
        pl.col("v").alias(value),
        pl.col("location").alias(place),
    )
    first = int(rows[TICK][0])
    kept = []
    for minute in range(60):
        begin, end = first + minute * 60 * SECOND, first + (minute + 1) * 60 * SECOND
        logic.update(0, rows.filter((pl.col(TICK) >= begin) & (pl.col(TICK) < end)))
        logic.advance(Progress(watermark=end, first_tick=first))
        kept.append(sum(map(len, logic.snapshot().values())))
    bound = HOUR_OF * (HOUR_WINDOW * SLICE_BYTES + SOURCE_BYTES) + FRAMES
    note = (
        f"state over an hour of {HOUR_OF} sensors, RANGE {HOUR_WINDOW} SECONDS: {max(kept):,} bytes at most, {kept[-1]:,} at the "
        f"end; the bound is {bound:,}"
    )
    return Target("state over an hour, by its bound", max(kept) / bound, 1.0), note


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
    times = pl.from_epoch(pl.Series(moments * SECOND), "us").dt.replace_time_zone("UTC")
    database.append("air", pl.DataFrame({"time": times, "id": source, "v": values}))
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
