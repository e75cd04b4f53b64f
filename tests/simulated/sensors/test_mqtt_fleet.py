"""Two thousand sensors over fifty connections and a real Mosquitto: they obey, and a killed broker loses no reading."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import mosquitto_server
import nilometer
from nilometer.catalog.address import Address
from nilometer.dataflow import Batch, Heartbeat, MemorySources, Run
from nilometer.ingest.adapters import Presence, ReadResult, Status
from nilometer.ingest.adapters.mqtt import MqttAdapter
from nilometer.ingest.manager.entrance import Entrance
from nilometer.ingest.payloads import Format
from nilometer.ingest.readers import read_frame
from nilometer.live.proxies import Fleet
from nilometer.log import StreamLog
from nilometer.plan.reference import same_answer
from nilometer.simulated.field import SimulatedField
from nilometer.simulated.fields.diurnal import Diurnal
from nilometer.simulated.grid import DiurnalGrid
from nilometer.types import SECOND
from simulated.sensors.mqtt_fleet import MqttFleet

pytestmark = [
    pytest.mark.mosquitto,
    pytest.mark.xdist_group("mosquitto"),
    pytest.mark.skipif(mosquitto_server.program() is None, reason="Mosquitto is not installed"),
]

PATIENCE = 120.0
START = 1_767_225_600_000_000


@pytest.fixture
def broker() -> Iterator[mosquitto_server.Broker]:
    with mosquitto_server.running() as broker:
        yield broker


class Both:
    """The sensors on one side of the broker, the adapter on the other."""

    def __init__(
        self, broker: mosquitto_server.Broker, sensors: int, connections: int, format: Format = Format.JSON
    ) -> None:
        world = DiurnalGrid(Diurnal(sensor_count=sensors, start=START, interval=SECOND, seed=3))
        self.field = SimulatedField(world, start=START)
        self.sensors = MqttFleet(self.field, "127.0.0.1", broker.port, connections=connections, format=format)
        self.stream = self.field.stream("air", f"{broker.url}/air/{{id}}?retry=100ms", sensed=True)
        address = Address.parse(self.stream.url or "")
        self.adapter = MqttAdapter(self.stream, address, lambda: time.time_ns() // 1000)
        self.frames: list[pl.DataFrame] = []
        self.presences: list[Presence] = []
        self.sent: list[pl.DataFrame] = []
        self.listener: Callable[[ReadResult], None] = lambda _: None
        self.adapter.open()
        assert self.adapter.connected.wait(PATIENCE), self.adapter.trouble
        self.sensors.open()
        assert self.sensors.settle(PATIENCE)

    def step(self, steps: int = 1) -> None:
        for _ in range(steps):
            self.sent.append(self.sensors.step())

    def read(self) -> None:
        result = self.adapter.read()
        if result.status is Status.NEW_VALUE:
            assert not result.garbled
            self.frames.append(result.rows)
            self.presences += result.presences
            self.adapter.acknowledge(result.handle)
            self.listener(result)

    def read_until(self, enough: Callable[[], bool]) -> None:
        assert self.adapter.wake is not None
        while not enough():
            assert self.adapter.wake.wait(PATIENCE), "nothing more comes"
            self.read()

    def rows(self) -> pl.DataFrame:
        return pl.concat(self.frames).unique() if self.frames else pl.DataFrame()

    def complete(self) -> bool:
        return self.rows().height >= sum(frame.height for frame in self.sent)

    def check(self) -> None:
        """All that was sent has come, nothing else, and doubles are equal."""
        sent = pl.concat(self.sent).sort("time", "id")
        assert self.rows().sort("time", "id").equals(sent)
        assert not sent.select("time", "id").is_duplicated().any()

    def close(self) -> None:
        self.sensors.close()
        self.adapter.close()


def killed_in_mid_stream(broker: mosquitto_server.Broker, both: Both, kills: int, steps: int) -> None:
    """Steps, a kill while messages are under way, steps without a broker, and its return on what it had saved."""
    for _ in range(kills):
        both.step(steps)
        both.read()
        broker.kill()
        both.step()
        broker.start()
        both.step()
        assert both.sensors.settle(PATIENCE)
        both.read_until(both.complete)
    both.check()
    assert both.sensors.pending == 0


def test_two_thousand_sensors_through_a_killed_broker(broker: mosquitto_server.Broker) -> None:
    both = Both(broker, 2_000, 50)
    both.step(2)
    both.read_until(both.complete)
    both.check()
    assert {int(p.sensor) for p in both.presences if p.online} == set(range(1, 2_001))
    killed_in_mid_stream(broker, both, kills=1, steps=1)
    both.close()


def test_sensors_obey_over_mqtt(broker: mosquitto_server.Broker) -> None:
    both = Both(broker, 300, 10, Format.SENML)
    database = nilometer.connect()
    database.catalog.add_stream(both.stream)
    changes: list[object] = []
    fleet = Fleet(
        lambda _: both.field.sensors_of("air"),
        lambda _, sensor, command: both.adapter.command(sensor, command),
        both.adapter.clock,
        lambda *change: changes.append(change),
        mailbox=lambda _: both.adapter.mailbox,
    )
    both.listener = lambda result: fleet.heard("air", result)
    warm = database.sql("SELECT time, id, temperature FROM air WHERE temperature > 8 AND id < 200").physical
    fleet.start("warm", warm)
    obeyed(both, 300)
    both.read_until(lambda: fleet.states() == {"running": 199, "asleep": 101})
    assert fleet.settled("warm")
    before = both.field.now
    both.step(5)
    assert both.sensors.settle(PATIENCE)
    both.read_until(both.complete)
    both.check()
    later = both.rows().filter(pl.col("time") > before)
    assert later.height > 0
    assert later.select((pl.col("id") < 200).all() & (pl.col("temperature") > 8).all()).item()
    fleet.stop("warm")
    obeyed(both, 499)
    both.read_until(lambda: fleet.states() == {"asleep": 300})
    assert len(changes) == 2
    both.close()


def test_summaries_come_over_mqtt_and_answers_are_equal(
    broker: mosquitto_server.Broker, tmp_path: Path
) -> None:
    """Means of ten seconds. In between a query for readings comes and goes, the broker is killed, and messages come
    twice."""
    both = Both(broker, 12, 3)
    free = SimulatedField(both.field.physics, start=START)
    log = StreamLog(tmp_path, both.stream)
    entrance = Entrance(both.stream, log)
    database = nilometer.connect()
    database.catalog.add_stream(both.stream)
    fleet = Fleet(
        lambda _: both.field.sensors_of("air"),
        lambda _, sensor, command: both.adapter.command(sensor, command),
        both.adapter.clock,
        lambda *_: None,
        mailbox=lambda _: both.adapter.mailbox,
    )

    def listener(result: ReadResult) -> None:
        fleet.heard("air", result)
        entrance.admit(replace(result, arrived=None))

    both.listener = listener
    means = database.sql(
        "SELECT id, AVG(temperature) AS m, MAX(humidity) AS h, COUNT(*) AS n"
        " FROM air [RANGE 20 SECONDS SLIDE 10 SECONDS] GROUP BY id"
    ).physical
    fleet.start("means", means)
    obeyed(both, 12)
    steps = 1
    for number in range(6):
        if number == 2:
            fleet.start("all", database.sql("SELECT time, id, temperature FROM air").physical)
            obeyed(both, 24)
            steps += 1
        if number == 3:
            fleet.stop("all")
            obeyed(both, 36)
            steps += 1
        if number == 4:
            broker.kill()
            broker.start()
        for _ in range(7):
            both.step()
            steps += 1
            assert both.sensors.settle(PATIENCE)
        held = int(both.field.sensors.summaries.readings.sum())
        wanted = 12 * steps - held
        both.read_until(lambda wanted=wanted: entrance.ledger.appended >= wanted)  # type: ignore[misc]
    assert entrance.ledger.appended + held == 12 * steps, "a reading in two messages, or in none"
    assert entrance.ledger.balanced
    frames = [free.advance(free.next_tick)[0] for _ in range(steps)]
    full = [Batch(read_frame(pl.concat(frames), both.stream).rows)]
    end = Heartbeat(free.now // (10 * SECOND) * 10 * SECOND + SECOND)
    answers = [
        Run(means, MemorySources({"air": [*found, end]}), finished=False).collect().rows()
        for found in (log.entries(), full)
    ]
    assert len(answers[0]) == 12 * ((steps - 1) // 10 + 1)
    assert same_answer(*answers) is None
    assert both.sensors.summaries > 20
    assert log.end.position < 12 * steps / 2
    both.close()
    log.close()


def obeyed(both: Both, commands: int) -> None:
    """The commands have reached their hubs, and the sensors have read them."""
    assert both.sensors.wait(lambda: both.sensors.commanded >= commands, PATIENCE)
    both.step()
    assert both.sensors.settle(PATIENCE)


def test_a_hubs_last_will_names_its_sensors(broker: mosquitto_server.Broker) -> None:
    both = Both(broker, 20, 4)
    both.step()
    both.read_until(lambda: both.complete() and bool(both.presences))
    hub = both.sensors.hubs[2]
    gone = len(both.presences)
    hub.client._sock_close()  # cut off: no farewell
    both.read_until(lambda: sum(not p.online for p in both.presences[gone:]) >= len(hub.sensors))
    assert {int(p.sensor) for p in both.presences[gone:] if not p.online} == set(hub.sensors)
    assert both.sensors.settle(PATIENCE)  # it comes back by itself
    # Its return may overtake the last will, if the broker notices the cut only then: what counts is that it is heard again.
    both.step()
    both.read_until(both.complete)
    both.check()
    both.close()


@pytest.mark.long
def test_many_kills(broker: mosquitto_server.Broker) -> None:
    both = Both(broker, 2_000, 50)
    killed_in_mid_stream(broker, both, kills=3, steps=2)
    both.close()
