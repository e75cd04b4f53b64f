"""Sensors -> Mosquitto -> `nilometer run`, killed at every named failpoint and at random moments, and the broker as well.

Nothing that was acknowledged is lost, nothing is doubled, the books balance, and the standing queries answer for all of it, once.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mosquitto_server
from nilometer.catalog.address import Address
from nilometer.ingest.adapters.mqtt import MqttAdapter
from nilometer.live.identity import identity_of
from nilometer.log.failpoints import FAILPOINTS
from storm.field import QUERIES, check_all, check_books, database, write_schema
from storm.lives import ENVIRONMENT, Nursery, Process
from storm.publishers import PATIENCE, Publishers

pytestmark = [
    pytest.mark.mosquitto,
    pytest.mark.slow,
    pytest.mark.xdist_group("mosquitto"),
    pytest.mark.skipif(mosquitto_server.program() is None, reason="Mosquitto is not installed"),
]

KILLED = -signal.SIGKILL.value
SMALL, ROOMY = 6_000, 1_000_000
"""Bytes of a segment: small, so that segments are sealed and begun within a test."""


@pytest.fixture
def broker() -> Iterator[mosquitto_server.Broker]:
    with mosquitto_server.running(mosquitto_server.WHEN_ASKED) as broker:
        yield broker


@pytest.fixture
def lives() -> Iterator[list[Process]]:
    found: list[Process] = []
    yield found
    for life in found:
        life.bury()


def subscribe(folder: Path) -> None:
    """Let the broker keep readings for the stream before anybody publishes."""
    stream = database(folder).catalog.stream("air")
    adapter = MqttAdapter(stream, Address.parse(stream.url or ""), lambda: 0, identity=identity_of(folder))
    adapter.open()
    assert adapter.connected.wait(PATIENCE), adapter.trouble
    adapter.close()


def plans() -> list[str]:
    """Each failpoint in each place where it occurs: the stream's log, a query's results, its checkpoints."""
    found = []
    for name in FAILPOINTS:
        if name.endswith("cut"):  # only a torn tail is cut: that takes two deaths
            found += [f"during_write:4@log {name}:1@log", f"during_write:2@results {name}:1@results"]
        elif name.endswith("delete"):  # the index of a segment that was sealed by a clean end
            found += [f"- {name}:1@log", f"- {name}:1@results", f"{name}:1@state"]
        elif "write" in name:
            found += [f"{name}:3@log", f"{name}:3@results"]
        else:
            found += [f"{name}:2@log", f"{name}:1@results"]
            if "fsync" not in name or "directory" in name:
                found.append(f"{name}:1@state")
    return found


@pytest.mark.promise("killed-processes")
def test_killed_at_each_failpoint(broker: mosquitto_server.Broker, folder: Path, nursery: Nursery) -> None:
    write_schema(folder, broker.url)
    subscribe(folder)
    sensors = Publishers(broker.port, 10, 5)
    tick = 0
    never = []
    for plan in plans():
        for failpoint in plan.split():
            # An index is deleted by the life that writes on in a sealed segment: there must be room left in it.
            life = nursery.live(folder, failpoint, ROOMY if "delete" in failpoint else SMALL)
            for _ in range(4):
                # The last ones are still on their way when it dies, or when it is told to stop.
                readings = set(sensors.publish(tick))
                tick += 1
                if not life.until(readings):
                    break
            if life.end(signal.SIGTERM) != (0 if failpoint == "-" else KILLED):
                never.append(f"{failpoint}: {life.died}")
            sensors.settle()
            check_books(folder)
    assert not never, never
    life = nursery.live(folder)
    assert life.until(set(sensors.publish(tick)))
    sensors.settle()
    assert life.end(signal.SIGTERM) == 0
    sensors.close()
    assert check_all(folder, sensors.acknowledged) == len(sensors.published)


def storm(
    broker: mosquitto_server.Broker,
    folder: Path,
    sensors: Publishers,
    lives: list[Process],
    deaths: list[str],
    chance: random.Random,
) -> None:
    """Real processes, killed as `deaths` says (writer, broker, both), each when it has answered for a part of what was just sent."""
    tick = 0
    sensors.fence(broker.save)
    life = Process(folder)
    lives.append(life)
    for victim in deaths:
        readings = sensors.publish(tick)
        tick += 1
        wanted = chance.randrange(len(readings) + 1)
        first = set(readings)
        while life.died is None and len(life.answered & first) < wanted:
            life.hear()
        if victim != "writer":
            sensors.fence(broker.save)
            sensors.publish(tick)  # which are on their way when the broker dies
            tick += 1
            broker.kill()
        if victim != "broker":
            assert life.end(signal.SIGKILL) == KILLED
            check_books(folder)
        if victim != "writer":
            broker.start()
        if victim != "broker":
            life = Process(folder)
            lives.append(life)
    sensors.settle()
    assert life.until(set(sensors.publish(tick))), "the last ones came in"
    sensors.settle()
    assert life.end(signal.SIGTERM) == 0


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    """A verb of the command line."""
    line = [sys.executable, "-m", "nilometer.cli.main", *map(str, arguments)]
    return subprocess.run(line, env=ENVIRONMENT, capture_output=True, text=True, check=False)


@pytest.mark.promise("killed-processes")
def test_writer_and_broker_killed(
    broker: mosquitto_server.Broker, folder: Path, lives: list[Process]
) -> None:
    write_schema(folder, broker.url)
    subscribe(folder)
    sensors = Publishers(broker.port, 200, 10)
    storm(broker, folder, sensors, lives, ["writer", "broker", "both"], random.Random(1))
    sensors.close()
    held = check_all(folder, sensors.acknowledged - sensors.doubtful)
    assert held >= len(sensors.published - sensors.doubtful)
    books = command("streams", "--ledger", "--json", "--data", folder)
    assert books.stdout.count('"balanced": true') == 1 + len(QUERIES), books


@pytest.mark.long
def test_fifty_random_moments_and_two_thousand_sensors(
    broker: mosquitto_server.Broker, folder: Path, lives: list[Process]
) -> None:
    write_schema(folder, broker.url)
    subscribe(folder)
    sensors = Publishers(broker.port, 2_000, 50)
    chance = random.Random()
    deaths = [chance.choice(["writer", "writer", "writer", "broker", "both"]) for _ in range(50)]
    storm(broker, folder, sensors, lives, deaths, chance)
    sensors.close()
    held = check_all(folder, sensors.acknowledged - sensors.doubtful, judge="gateway")
    print(f"{held} readings in the log, {len(sensors.published)} published, {len(sensors.doubtful)} in doubt")
    assert held >= len(sensors.published - sensors.doubtful)
