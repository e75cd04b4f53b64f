"""GUIDE with a real Mosquitto: the sensors at a plume are told to sample often, and do; the others sample rarely.

Sixty simulated sensors are behind the broker on six connections. Time is the field's own: a minute passes when the broker
has taken all that was published, the station has all of it in its log, and its commands have come to the sensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mosquitto_server
import nilometer
from nilometer.live.outside import Outside
from nilometer.live.station import Station
from nilometer.simulated.field import SimulatedField
from nilometer.simulated.fields.generator import START
from nilometer.simulated.fields.moving_plume import MovingPlume
from nilometer.simulated.grid import PlumeGrid
from nilometer.types import HOUR, MINUTE
from simulated.sensors.mqtt_fleet import MqttFleet

pytestmark = [
    pytest.mark.mosquitto,
    pytest.mark.xdist_group("mosquitto"),
    pytest.mark.skipif(mosquitto_server.program() is None, reason="Mosquitto is not installed"),
]

PATIENCE = 120.0
SENSORS = 60
SCHEMA = """
CREATE STREAM air (concentration FLOAT) SENSED EVERY 1 MINUTE FROM '{url}/air/{{id}}?retry=100ms' KEY (id, time)
  COORDINATES 'm';
{sensors}
CREATE PHENOMENON smoke ON air.concentration ABOVE 60 RANGE 4 MINUTES NEIGHBOURS WITHIN 300 M MEMBERS 2
  GUIDE FAST 1 MINUTE IDLE 4 MINUTES AHEAD 2 MINUTES REACH 1;
"""
UPDATES = "SELECT time, id, kind, size FROM PHENOMENA(smoke)"


@pytest.fixture
def broker() -> Iterator[mosquitto_server.Broker]:
    with mosquitto_server.running() as broker:
        yield broker


class World:
    """A field with one puff, its sensors behind the broker, and the station on the other side."""

    def __init__(self, folder: Path, broker: mosquitto_server.Broker) -> None:
        plume = MovingPlume(
            sensor_count=SENSORS,
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
        self.field = SimulatedField(PlumeGrid(plume), start=START)
        self.field.fixed = True
        self.names = plume.identifiers().tolist()
        self.now, self.sent = START, 0
        lines = [f"CREATE SENSOR {each.id} OF air AT {each.location!r};" for each in plume.sensors()]
        (folder / "schema.sql").write_text(SCHEMA.format(url=broker.url, sensors="\n".join(lines)))
        self.sensors = MqttFleet(self.field, "127.0.0.1", broker.port, connections=6)
        self.sensors.open()
        assert self.sensors.settle(PATIENCE)
        self.station = Station(
            nilometer.connect(folder),
            folder,
            outside=Outside(clock=lambda: self.now, steady=lambda: self.now),
        )
        self.commands = 0
        command = self.station.fleet._command

        def counted(*arguments: Any) -> bool:
            self.commands += 1
            return command(*arguments)

        self.station.fleet._command = counted
        self.station.install(self.station.database.sql(UPDATES), "updates", durable=True)

    def pass_minute(self) -> None:
        self.now += MINUTE
        self.sent += self.sensors.step().height
        assert self.sensors.settle(PATIENCE)
        self.station.run(lambda: self.station.logs.log("air").end.position >= self.sent)
        quiet = 0
        while quiet < 2:
            quiet = 0 if self.station.step() else quiet + 1
        assert self.sensors.wait(lambda: self.sensors.commanded >= self.commands, PATIENCE)

    def until(self, condition: Any, minutes: int) -> None:
        """Let minutes pass until something is so."""
        for _ in range(minutes):
            self.pass_minute()
            if condition():
                return
        raise AssertionError(f"not within {minutes} minutes: {condition.__doc__}")

    def often(self) -> set[int]:
        """Who takes a reading every minute; all others take one every four minutes, or none yet."""
        intervals = self.field.sensors.interval.tolist()
        return {name for name, interval in zip(self.names, intervals, strict=True) if interval == MINUTE}

    def inside(self) -> frozenset[Any]:
        """Who is at the plume, as guidance knows it."""
        (watch,) = self.station.guidance._watches.values()
        return watch.inside


def test_sensors_behind_a_broker_follow_the_smoke(broker: mosquitto_server.Broker, tmp_path: Path) -> None:
    world = World(tmp_path, broker)

    def follow() -> bool:
        """those at the plume, and hardly any others, sample every minute"""
        intervals = set(world.field.sensors.interval.tolist())
        told = intervals == {MINUTE, 4 * MINUTE}
        return told and bool(world.inside()) and world.often() == world.inside()

    world.until(follow, 30)
    first = world.inside()
    assert len(first) < SENSORS / 2

    def moved_on() -> bool:
        """the plume is elsewhere, and other sensors sample every minute"""
        return follow() and len(world.inside() - first) >= 5 and len(first - world.often()) >= 5

    world.until(moved_on, 40)
    minutes = (world.now - START) // MINUTE
    assert world.sent < SENSORS * minutes * 0.8, "idle sensors sent less"
    records = list(world.station.logs.log("air").demands())
    assert len(records) > 5
    assert {record["query"] for record in records} == {"phenomenon smoke"}
    world.station.install(world.station.database.sql("SELECT * FROM air"), "all")

    def all_often() -> bool:
        """guidance slows nobody whom another query wants often"""
        return len(world.often()) == SENSORS

    world.until(all_often, 10)
    world.station.close()
    world.sensors.close()
    database = nilometer.connect(tmp_path)
    given = [
        {name: row[name] for name in ("time", "id", "kind", "size")} for row in database.answers("updates")
    ]
    expected = database.sql(UPDATES).run("reference", finished=False)
    assert len(given) > 3
    found = list(expected)[: len(given)]  # the last evaluations may wait for readings that did not come
    assert given == [{name: row[name] for name in given[0]} for row in found]
