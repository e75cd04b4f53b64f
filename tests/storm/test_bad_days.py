"""Full disks, torn segments, jumping clocks, readings from tomorrow, garbled payloads: from source to standing answers."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from ingest.manager.streams import Reading
from ingest.payloads.test_fuzzed_payloads import SEEDS, damaged
from log.logs import CrashError
from nilometer.catalog.address import Address
from nilometer.catalog.extents import Stream
from nilometer.dataflow.policy import Policy
from nilometer.ingest.adapters import Adapter
from nilometer.ingest.adapters.adapter import Clock
from nilometer.ingest.adapters.mqtt import Acknowledgement, MqttAdapter
from nilometer.ingest.payloads import Garbled
from nilometer.live import live_query
from nilometer.log import LogDirectory
from nilometer.types import DAY, SECOND
from storm.world import NOW, World


def readings(second: int, sensors: int = 4) -> list[Reading]:
    """One of each sensor."""
    return [(NOW + second * SECOND, sensor, float((second * 3 + sensor) % 8)) for sensor in range(sensors)]


def pour(world: World, second: int) -> None:
    """A second passes, and readings come."""
    world.pass_time(SECOND)
    letters = (Garbled(b"\xff%d" % second, "broken", "4"),) if second % 3 == 0 else ()
    world.well.pour(readings(second), arrived=world.clock.now, garbled=letters)


SPACE = ("before_write", "during_write", "before_fsync", "before_aside", "during_aside")


@pytest.mark.parametrize("step", SPACE)
@pytest.mark.parametrize("how", ["goes on", "is restarted", "dies"])
def test_a_full_disk(folder: Path, step: str, how: str) -> None:
    world = World(folder)
    second = 0
    for _ in range(3):
        for full in (set[str](), {step}, set[str]()):
            world.full = full
            for _ in range(5):
                pour(world, second)
                second += 1
                world.step()
            world.check()
            if full and how == "is restarted":
                world.station.close()
                world.check()
                world.full = set()
                world.station = world.begin()
            elif full and how == "dies":
                world.die()
    world.pass_time(5 * SECOND)
    world.step()
    assert sorted(world.logged()) == sorted(row for each in range(second) for row in readings(each))
    assert world.ledger().garbled == second // 3
    world.station.close()
    world.check()
    world.check_answers()


@pytest.mark.parametrize("policy", [Policy.DROP_OLDEST, Policy.DROP_NEWEST, Policy.SAMPLE])
def test_a_full_disk_and_a_stream_that_sheds(folder: Path, policy: Policy) -> None:
    world = World(folder, policies={"river": policy}, backlog_bytes=500, keep_every=2)
    for second in range(40):
        world.full = {"before_write"} if 10 <= second < 30 else set()
        pour(world, second)
        world.step()
        ledger = world.station.manager.status("river").ledger
        assert ledger.received <= (second + 1) * 4 + second // 3 + 1
    world.pass_time(5 * SECOND)
    world.step()
    ledger = world.ledger()
    assert ledger.balanced
    assert ledger.received == 40 * 4 + 14
    assert ledger.shed > 0
    assert ledger.appended == len(world.logged())
    assert len(world.well.acknowledged) == 40
    world.station.close()
    world.check_answers()


@pytest.mark.parametrize("crash", ["before_fsync", "after_write"])
def test_a_torn_segment(folder: Path, crash: str) -> None:
    """Written and not yet durable when the machine lost power: any part of it may be there. None of it was acknowledged."""
    world = World(folder)
    second = 0
    random = Random(crash)
    torn = 0
    for _ in range(10):
        pour(world, second)
        second += 1
        world.step()
        pour(world, second)
        second += 1
        files = (folder / ".nilometer" / "log" / "river").iterdir()
        before = {path: path.stat().st_size for path in files if path.is_file()}
        world.full, world.crash = {crash}, CrashError()
        with pytest.raises(CrashError):
            world.step()
        grown = [path for path, size in before.items() if path.stat().st_size > size]
        assert len(grown) <= 1
        for path in grown:
            size = path.stat().st_size
            left = random.randrange(before[path], size + 1)
            torn += left < size
            os.truncate(path, left)
        world.die()
        world.step()
        world.check()
    assert torn > 4
    assert sorted(world.logged()) == sorted(row for each in range(second) for row in readings(each))
    world.station.close()
    world.check()
    world.check_answers()


def test_a_result_log_that_lost_its_end_answers_again(folder: Path) -> None:
    world = World(folder)
    for second in range(10):
        pour(world, second)
        world.step()
        if second % 3 == 2:
            world.station.abandon()
            for results in (folder / ".nilometer" / "queries").glob("*/results/*.segment"):
                os.truncate(results, results.stat().st_size - 20)
            world.die()
    world.step()
    world.station.close()
    world.check()
    world.check_answers()


def test_clocks_that_jump(folder: Path) -> None:
    world = World(folder)
    second = 0
    for jump in (0, -DAY, 0, DAY, DAY, -DAY, 0):
        world.clock.now += jump
        for _ in range(6):
            pour(world, second)
            second += 1
            world.step()
            assert not world.well.wake.is_set()
        world.check()
    rows = world.logged()
    assert sorted(rows) == sorted(row for each in range(second) for row in readings(each))
    assert world.ledger().future == 0
    world.restart()
    pour(world, second)
    world.step()
    world.station.close()
    world.check()
    world.check_answers()


def test_a_sensor_a_day_in_the_future(folder: Path) -> None:
    world = World(folder)
    for second in range(20):
        pour(world, second)
        world.well.pour([(NOW + DAY + second * SECOND, 99, 1.0)], arrived=world.clock.now)
        world.step()
        for live in world.station.queries.values():
            assert live.watermark is None or live.watermark <= NOW + second * SECOND
        world.check()
    ledger = world.ledger()
    assert (ledger.appended, ledger.future) == (80, 20)
    letters = LogDirectory(folder).log("river").letters()
    early = letters.filter(letters["source"] == "99")
    assert early.height == 20
    assert early["reason"].str.contains("ahead of its arrival").all()
    assert b'"id":99' in early["payload"][0]
    world.station.close()
    world.check_answers()


class Offline(MqttAdapter):
    """The adapter without its network: a test puts into the inbox what the network thread would."""

    acknowledged: list[int]

    def open(self) -> None:
        self._open = True
        self._trouble = None
        self.acknowledged = []
        self.connected.set()

    def give(self, messages: list[tuple[bytes, str]], first: int) -> None:
        for number, (payload, topic) in enumerate(messages, first):
            self._inbox.put((payload, topic, self.clock(), self._connection, number + 1))

    def acknowledge(self, handle: object) -> None:
        assert isinstance(handle, Acknowledgement)
        self.acknowledged += [packet for _, packet in handle.packets]


@pytest.mark.slow
@pytest.mark.parametrize("turns", [5, pytest.param(25, marks=pytest.mark.long)])
def test_fuzzed_payloads(folder: Path, turns: int) -> None:
    """100,000 with --all; nine in ten are damaged. Every sound one is in the log, every other is a row or a letter with reason and bytes."""
    random = Random(20_260_116)
    adapters: list[Offline] = []

    class Fuzzed(World):
        def adapter(self, stream: Stream, clock: Clock) -> Adapter:
            address = Address.parse("mqtt://nowhere/river/{id}?receive=5000")
            adapters.append(Offline(stream, address, clock))
            return adapters[-1]

    world = Fuzzed(folder)
    world.clock.now = NOW
    sound: set[tuple[int, int, float]] = set()
    rubbish: set[bytes] = set()
    total = 0
    for turn in range(turns):
        world.pass_time(SECOND)
        messages: list[tuple[bytes, str]] = []
        for number in range(4_000):
            sensor = number % 97
            if number % 10:
                payload = damaged(random.choice(SEEDS).replace(b"pm25", b"depth"), random)
            else:
                # Half a second off, where no damaged payload without a time, which gets its arrival's, has the same key.
                reading = (NOW + turn * SECOND + SECOND // 2 + number, sensor, float(number % 8))
                sound.add(reading)
                payload = f'{{"time": {reading[0]}, "depth": {reading[2]}}}'.encode()
            messages.append((payload, f"river/{sensor}"))
        before = world.station.manager.status("river").ledger
        adapters[-1].give(messages, total)
        total += len(messages)
        world.step()
        after = world.station.manager.status("river").ledger
        assert after.received - before.received >= len(messages)
        rubbish.update(payload for payload, _ in messages)
        assert sorted(adapters[-1].acknowledged) == list(
            range(total - len(adapters[-1].acknowledged) + 1, total + 1)
        )
        if turn % 10 == 3:
            world.die()
    assert total == turns * 4_000
    rows = world.logged()
    assert len({row[:2] for row in rows}) == len(rows)
    assert sound <= set(rows)
    ledger = world.ledger()
    assert ledger.balanced
    assert ledger.appended == len(rows)
    letters = LogDirectory(folder).log("river").letters()
    assert letters["count"].sum() == ledger.garbled + ledger.future
    assert (letters["reason"].str.len_chars() > 0).all()
    bodies = set(letters.filter(~letters["reason"].str.contains("ahead|without a time"))["payload"].to_list())
    # A letter is a message, or one reading of it. A line of CSV has the header of its message before it; a record of SenML
    # is resolved, and begins with its id.
    sent = b"\n".join(rubbish)
    parts = [body.rpartition(b"\n")[2] for body in bodies - rubbish]
    assert [part for part in parts if part not in sent and not part.startswith(b'{"id":')] == []
    world.station.close()
    assert not LogDirectory(folder).log("river").verify().damages


def test_answers_that_nobody_fetches_are_bounded_and_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_query, "WAITING_ROWS", 20)
    world = World(folder)
    live = world.station.queries["every"]
    for second in range(30):
        pour(world, second)
        world.step()
    fetched = sum(len(answer.rows) for answer in live.take())
    assert fetched <= 20
    assert (live.rows, live.dropped + fetched) == (120, 120)
    world.station.close()
    world.check_answers()  # the result log has all of them
