"""Sensors follow a phenomenon: those at it are asked often, the others rarely; also after the process has died."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nilometer
from nilometer.live.outside import Outside
from nilometer.live.station import Station
from nilometer.simulated.field import SimulatedField
from nilometer.simulated.fields.generator import START
from nilometer.simulated.fields.moving_plume import MovingPlume
from nilometer.simulated.grid import PlumeGrid
from nilometer.types import HOUR, MINUTE

SCHEMA = """
CREATE STREAM air (concentration FLOAT) SENSED EVERY 1 MINUTE FROM 'generate://plume?speed=1' KEY (id, time)
  COORDINATES 'm';
{sensors}
CREATE PHENOMENON smoke ON air.concentration ABOVE 60 RANGE 4 MINUTES NEIGHBOURS WITHIN 300 M MEMBERS 2
  GUIDE FAST 1 MINUTE IDLE 4 MINUTES AHEAD 2 MINUTES REACH 1;
"""
UPDATES = "SELECT time, id, kind, size FROM PHENOMENA(smoke)"


class World:
    """A field with one puff in virtual time."""

    def __init__(self, folder: Path) -> None:
        plume = MovingPlume(
            sensor_count=60,
            start=START,
            seed=3,
            width=2_000.0,
            height=1_000.0,
            wind=(0.8, 0.1),
            source=(0.2, 0.4),
            release=6 * HOUR,
            strength=180.0,
            sigma=200.0,
        )
        self.folder, self.plume = folder, plume
        self.field = SimulatedField(PlumeGrid(plume), start=START, mailbox=True)
        self.field.fixed = True
        self.now = START
        placed = ((sensor.id, sensor.location) for sensor in plume.sensors())
        lines = [f"CREATE SENSOR {id_} OF air AT ({x!r}, {y!r});" for id_, (x, y) in placed]  # type: ignore[misc]
        (folder / "schema.sql").write_text(SCHEMA.format(sensors="\n".join(lines)))

    def station(self) -> Station:
        database = nilometer.connect(self.folder)
        outside = Outside(clock=lambda: self.now, generators={"plume": lambda _: self.field})
        return Station(database, self.folder, outside=outside)

    def pass_minutes(self, station: Station, minutes: int) -> None:
        for _ in range(minutes):
            self.now += MINUTE
            quiet = 0
            while quiet < 2:
                quiet = 0 if station.step() else quiet + 1

    def often(self) -> set[int]:
        """Who takes a reading every minute; all others take one every four minutes."""
        intervals = self.field.sensors.interval
        assert set(intervals.tolist()) <= {MINUTE, 4 * MINUTE}
        names = self.plume.identifiers().tolist()
        return {name for name, interval in zip(names, intervals.tolist(), strict=True) if interval == MINUTE}


def inside(station: Station) -> frozenset[Any]:
    (watch,) = station.guidance._watches.values()
    return watch.inside


def test_sensors_follow_the_smoke(tmp_path: Path) -> None:
    world = World(tmp_path)
    with world.station() as station:
        station.install(station.database.sql(UPDATES), "updates", durable=True)
        world.pass_minutes(station, 5)
        first = inside(station)
        world.pass_minutes(station, 10)
        later = inside(station)
        assert first
        assert later
        assert first != later
        world.pass_minutes(station, 1)
        assert world.often() >= later & inside(station)
        assert len(world.often()) < 40
        records = list(station.logs.log("air").demands())
        assert [record["query"] for record in records] == ["phenomenon smoke"] * len(records)
        assert any("EVERY 1 MINUTE; FROM {" in demand for demand in records[-1]["demands"])
        before, asked = inside(station), world.often()
        station.abandon()
    with world.station() as station:
        station.install(station.database.sql(UPDATES), "updates", durable=True)
        world.pass_minutes(station, 2)
        assert inside(station) & before, "what was known is known again, from the log"
        world.pass_minutes(station, 1)
        assert world.often() & asked
        station.install(station.database.sql("SELECT * FROM air"), "all")
        world.pass_minutes(station, 2)
        assert len(world.often()) == 60, "guidance slows nobody whom another query wants fast"
        station.remove("all")
        world.pass_minutes(station, 2)
        assert len(world.often()) < 40
        station.remove("updates")
        assert station.fleet.demand("air") is None, "all may sleep"
        assert not station.queries


def test_only_sensors_at_the_smoke_are_asked_for_what_is_inside(tmp_path: Path) -> None:
    world = World(tmp_path)
    with world.station() as station:
        text = "SELECT time, id, concentration FROM air WHERE concentration > 80 GUIDED BY smoke"
        live = station.install(station.database.sql(text))
        world.pass_minutes(station, 12)
        assert len(world.often()) < 40
        rows = [row for answer in live.take() for row in answer]
        assert rows
        assert all(row["concentration"] > 80 for row in rows)
