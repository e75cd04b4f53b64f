"""Queries come and go, sources fail, disks fill, clocks jump: every reading is in the log once, and with every query once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from ingest.manager.managed import LAKE, RIVER, Station, some
from ingest.manager.streams import PUSHED, Reading, Spring, frame
from nilometer.dataflow.ledger import StreamLedger
from nilometer.dataflow.policy import Policy
from nilometer.dataflow.sources import Batch, Heartbeat
from nilometer.errors import ConfigurationError, DataError
from nilometer.ingest.adapters import Command, ReadResult
from nilometer.ingest.adapters.adapter import Presence
from nilometer.ingest.manager import SourceState
from nilometer.log import LogDirectory, Offset
from nilometer.types import DAY, MINUTE, SECOND


@pytest.fixture
def station(memory: Path) -> Iterator[Station]:
    made = Station(memory)
    yield made
    made.full.clear()
    made.manager.close()


def test_from_source_to_log_to_queries(station: Station) -> None:
    manager, well = station.manager, station.wells["river"]
    assert manager.streams == []
    manager.register("a", [RIVER])
    manager.register("b", [RIVER, LAKE])
    assert (manager.streams, well.opened) == (["lake", "river"], 1)
    heard: list[tuple[str, int]] = []
    manager.listeners.append(lambda stream, result: heard.append((stream, result.received)))
    poured = well.pour(some(0), arrived=station.clock())
    assert manager.poll()
    assert well.acknowledged == [poured]
    assert heard == [("river", 3)]
    assert station.rows("a") == station.rows("b") == some(0)
    assert not manager.poll()
    well.pour(some(2))
    station.wells["lake"].pour(some(5))
    manager.poll()
    assert sorted(stream for stream, _ in iter(lambda: manager.take("b"), None)) == ["lake", "river"]
    assert station.rows("a") == some(3, 2), "the doubled reading is none"
    assert manager.status("river").ledger == StreamLedger(received=6, appended=5, duplicate=1)
    assert manager.status("River").queries == ("a", "b")
    manager.unregister("b")
    assert (manager.streams, station.wells["lake"].closed, well.closed) == (["river"], 1, 0)
    manager.unregister("a")
    assert well.closed == 1
    with pytest.raises(ConfigurationError, match="no query reads"):
        manager.status("river")
    with pytest.raises(ConfigurationError, match="no query 'a'"):
        manager.take("a")


def test_a_query_takes_its_streams_in_the_order_they_came(station: Station) -> None:
    station.manager.register("q", [RIVER, LAKE])
    for number in range(4):
        station.wells["river"].pour(some(10 * number))
        station.wells["lake"].pour(some(10 * number))
        station.manager.poll()
    taken = [entry[0] for entry in iter(lambda: station.manager.take("q"), None)]
    assert sorted(taken[:2]) == ["lake", "river"]
    assert sorted(taken[2:4]) == ["lake", "river"]
    assert len(taken) == 8


def test_wrong_registrations_leave_nothing_behind(station: Station) -> None:
    with pytest.raises(ConfigurationError, match="no address"):
        station.manager.register("q", [RIVER, replace(LAKE, url=None)])
    assert station.manager.streams == []
    station.manager.register("q", [RIVER])
    with pytest.raises(ConfigurationError, match="registered already"):
        station.manager.register("q", [LAKE])
    assert station.manager.streams == ["river"]


def test_catching_up_and_changing_over_without_gap_or_double(station: Station) -> None:
    manager, well = station.manager, station.wells["river"]
    manager.register("first", [RIVER])
    for number in range(10):
        well.pour(some(3 * number))
        manager.poll()
        manager.heartbeat("river", 3 * number + 3)
    manager.poll()
    manager.register("late", [RIVER], {"river": Offset(0, 0)})
    manager.register("within", [RIVER], {"river": Offset(1, 4)})
    taken = manager.take("late")
    assert taken is not None
    for number in range(10, 14):
        well.pour(some(3 * number))
        manager.poll()
    entries = [taken[1], *(entry for _, entry in iter(lambda: manager.take("late"), None))]
    rows = pl.concat([entry.rows for entry in entries if isinstance(entry, Batch)]).rows()
    assert rows == some(0, 42)
    assert [entry.tick for entry in entries if isinstance(entry, Heartbeat)] == [3 * n + 3 for n in range(10)]
    assert station.rows("within") == some(4, 38)
    for number in range(14, 16):
        well.pour(some(3 * number))
        manager.poll()
    assert station.rows("late") == station.rows("within") == some(42, 6)
    assert station.rows("first") == some(0, 48)
    assert manager.offsets("late") == manager.offsets("within") == {"river": manager.status("river").end}


def test_a_query_goes_on_at_its_offsets(station: Station) -> None:
    manager, well = station.manager, station.wells["river"]
    manager.register("q", [RIVER])
    manager.register("other", [RIVER])
    for number in range(4):
        well.pour(some(3 * number))
    while manager.poll():
        pass
    manager.take("q")
    offsets = manager.offsets("q")
    manager.unregister("q")
    manager.register("q", [RIVER], offsets)
    assert station.rows("q") == some(3, 9)


def test_queries_that_come_and_go_lose_and_reorder_nothing(station: Station) -> None:
    manager, well = station.manager, station.wells["river"]
    expected: dict[str, list[Reading]] = {}
    found: dict[str, list[Reading]] = {}
    for number in range(40):
        name = f"q{number % 5}"
        if number % 3 == 0:
            if name in expected:
                found[name] += station.rows(name)
                assert found.pop(name) == expected.pop(name)
                manager.unregister(name)
            else:
                manager.register(name, [RIVER])
                expected[name], found[name] = [], []
        well.pour(some(100 * number, 20))
        manager.poll()
        for each in expected.values():
            each += some(100 * number, 20) if manager.streams else []
        if expected and number % 2:
            first = next(iter(expected))
            taken = manager.take(first)
            if taken is not None and isinstance(taken[1], Batch):
                found[first] += taken[1].rows.rows()
        if not expected:
            well.results, well.acknowledged = [], []
    for name in expected:
        assert found[name] + station.rows(name) == expected[name]


def test_heartbeats_stand_behind_what_was_read(station: Station) -> None:
    manager, well = station.manager, station.wells["river"]
    manager.register("q", [RIVER])
    well.pour(some(0))
    station.full = {"before_write"}
    manager.poll()
    manager.heartbeat("river", 2)
    manager.heartbeat("river", 1)
    manager.poll()
    assert manager.take("q") is None
    station.full.clear()
    station.pass_time(SECOND)
    manager.poll()
    entries = [entry for _, entry in iter(lambda: manager.take("q"), None)]
    assert isinstance(entries[0], Batch)
    assert entries[1:] == [Heartbeat(2)]
    manager.heartbeat("river", 2)
    manager.poll()
    assert manager.take("q") is None, "a promise is given once"


def test_commands_and_demands(station: Station) -> None:
    manager = station.manager
    assert not manager.command("river", 1, Command(interval=5))
    manager.register("q", [RIVER])
    assert manager.command("River", 1, Command(interval=5))
    spring = station.adapters["river"]
    assert isinstance(spring, Spring)
    assert spring.told == [(1, Command(interval=5))]
    manager.record_demand("river", {"interval": 5})
    manager.poll()
    assert list(station.logs.log("river").demands()) == [{"interval": 5}]
    station.wells["river"].results.append(
        replace(spring.nothing(), presences=(Presence("1", True, 0),))  # type: ignore[arg-type]
    )
    heard: list[ReadResult] = []
    manager.listeners.append(lambda _, result: heard.append(result))
    manager.poll()
    assert heard[0].presences[0].online


# ---- what fails ----------------------------------------------------------------------------------------------------------


def test_a_full_disk_blocks_and_loses_nothing(memory: Path) -> None:
    station = Station(memory, backlog_bytes=100)
    manager, well = station.manager, station.wells["river"]
    manager.register("q", [RIVER, LAKE])
    station.full = {"during_write"}
    for number in range(50):
        well.pour(some(3 * number))
        manager.poll()
    status = manager.status("river")
    assert status.trouble is not None
    assert "disk is full" in status.trouble
    assert 0 < status.backlog < 30, "it stops reading"
    assert not well.acknowledged
    assert station.rows("q") == []
    manager.wait()
    assert station.slept[-1] > 0.5, "and does not spin"
    station.full.clear()
    station.pass_time(2 * SECOND)
    while manager.poll():
        pass
    assert station.rows("q") == some(0, 150)
    assert len(well.acknowledged) == 50
    assert manager.status("river").ledger == StreamLedger(received=150, appended=150)
    assert manager.status("river").trouble is None
    manager.close()


@pytest.mark.parametrize("policy", [Policy.DROP_OLDEST, Policy.DROP_NEWEST, Policy.SAMPLE])
def test_a_full_disk_sheds_by_policy_and_counts_it(memory: Path, policy: Policy) -> None:
    station = Station(memory, backlog_bytes=1_000, policies={"river": policy}, keep_every=4)
    manager, well = station.manager, station.wells["river"]
    manager.register("q", [RIVER])
    station.full = {"during_write"}
    for number in range(50):
        well.pour(some(10 * number, 10))
        manager.poll()
        assert manager.status("river").ledger.balanced
        assert manager.status("river").backlog <= 60
    station.full.clear()
    station.pass_time(2 * SECOND)
    while manager.poll():
        pass
    ledger = manager.status("river").ledger
    assert ledger.balanced
    assert (ledger.received, ledger.appended + ledger.shed) == (500, 500)
    assert ledger.shed > 300
    assert len(well.acknowledged) == 50, "what is shed is acknowledged too"
    rows = station.rows("q")
    assert len(rows) == ledger.appended
    match policy:
        case Policy.DROP_OLDEST:
            assert rows[-1] == (499, 2, 249.5)
            assert rows == some(500 - len(rows), len(rows))
        case Policy.DROP_NEWEST:
            assert rows == some(0, len(rows))
        case _:
            assert rows[-1][0] in range(490, 500)
            assert len({b[0] - a[0] for a, b in zip(rows[-5:], rows[-4:], strict=False) if b[0] - a[0] == 4})
    manager.close()
    station.restart()
    station.manager.register("q", [RIVER])
    assert station.manager.status("river").ledger == ledger, "also after a restart"
    station.manager.close()


def test_a_disk_that_takes_but_does_not_keep(station: Station) -> None:
    manager, well = station.manager, station.wells["river"]
    manager.register("q", [RIVER])
    station.full = {"before_fsync"}
    well.pour(some(0))
    well.pour(some(3))
    manager.poll()
    manager.poll()
    assert not well.acknowledged
    assert station.rows("q") == [], "what is not durable is not handed on"
    manager.register("late", [RIVER], {"river": Offset()})
    assert station.rows("late") == []
    station.full.clear()
    station.pass_time(2 * SECOND)
    manager.poll()
    manager.poll()
    assert len(well.acknowledged) == 2
    assert station.rows("q") == station.rows("late") == some(0, 6)


def test_closed_while_the_disk_is_full(station: Station) -> None:
    manager, well = station.manager, station.wells["river"]
    manager.register("q", [RIVER])
    station.full = {"during_write"}
    well.pour(some(0))
    manager.poll()
    manager.unregister("q")
    assert well.closed == 1
    assert manager.status("river").state is SourceState.CLOSED
    station.pass_time(2 * SECOND)
    manager.poll()
    station.full.clear()
    station.pass_time(2 * SECOND)
    manager.poll()
    assert station.logged() == some(0)
    with pytest.raises(ConfigurationError):
        manager.status("river")


def test_a_source_that_raises_is_tried_again_and_the_others_go_on(station: Station) -> None:
    manager, well, other = station.manager, station.wells["river"], station.wells["lake"]
    manager.register("q", [RIVER, LAKE])
    well.broken = True
    for number in range(8):
        other.pour(some(3 * number))
        manager.poll()
        status = manager.status("river")
        assert status.state is SourceState.WAITING
        assert "the well is dry; trying again in" in str(status.trouble)
        station.pass_time(SECOND)
    assert station.rows("q", "lake") == some(0, 24)
    well.broken = False
    well.pour(some(0))
    station.pass_time(2 * MINUTE)
    manager.poll()
    assert manager.status("river").state is SourceState.OPEN
    assert manager.status("river").trouble is None
    assert station.rows("q") == some(0)


def test_a_source_whose_data_are_wrong_has_failed_and_the_others_go_on(
    station: Station, tmp_path: Path
) -> None:
    manager, other = station.manager, station.wells["lake"]
    (tmp_path / "wrong.csv").write_text("colour,shape\nred,round\n")
    for number, name in enumerate(("wrong.csv", "missing.csv")):
        manager.register("q", [replace(PUSHED, url=f"file://{tmp_path}/{name}"), LAKE])
        for turn in range(3):
            other.pour(some(30 * number + 3 * turn))
            while manager.poll():
                pass
            assert manager.ended("river")
            assert not manager.ended("lake")
            status = manager.status("river")
            assert (status.state, status.ended) == (SourceState.FAILED, True)
            assert "trying again" not in str(status.trouble)
            assert ("time" if number == 0 else "missing.csv") in str(status.trouble)
            assert manager.state("river") == (SourceState.FAILED, status.trouble)
            station.pass_time(5 * MINUTE)
        assert station.rows("q", "lake") == some(30 * number, 9)
        manager.unregister("q")
    # Mended, and wanted again.
    (tmp_path / "wrong.csv").write_text("time,id,depth\n1,1,0\n")
    manager.register("q", [replace(PUSHED, url=f"file://{tmp_path}/wrong.csv")])
    while manager.poll():
        pass
    assert station.rows("q") == [(1, 1, 0.0)]
    assert (manager.status("river").state, manager.status("river").trouble) == (SourceState.ENDED, None)


def test_what_was_read_before_a_source_failed_is_handed_on(station: Station) -> None:
    manager, well = station.manager, station.wells["river"]
    manager.register("q", [RIVER])
    station.full = {"during_write"}
    well.pour(some(0))
    manager.poll()
    well.error = DataError("not water")
    manager.poll()
    assert manager.state("river")[0] is SourceState.FAILED
    assert not manager.ended("river"), "what was read waits for room"
    station.full.clear()
    station.pass_time(2 * SECOND)
    manager.poll()
    assert station.rows("q") == some(0)
    assert manager.ended("river")
    assert manager.state("river") == (SourceState.FAILED, "not water")
    assert well.opened == 1


def test_growing_waits(station: Station) -> None:
    well = station.wells["river"]
    well.broken = True
    station.manager.register("q", [RIVER])
    opened = []
    for second in range(200):
        station.manager.poll()
        if well.opened > len(opened):
            opened.append(second)
        station.pass_time(SECOND)
    gaps = [b - a for a, b in pairwise(opened)]
    assert gaps == [1, 2, 4, 8, 16, 32, 60, 60]


def test_handles_of_a_failed_source_are_not_given_to_its_successor(station: Station) -> None:
    manager, well = station.manager, station.wells["river"]
    manager.register("q", [RIVER])
    station.full = {"during_write"}
    well.pour(some(0))
    manager.poll()
    well.broken = True
    manager.poll()
    station.full.clear()
    well.broken = False
    station.pass_time(2 * SECOND)
    manager.poll()
    assert len(well.acknowledged) <= 1
    manager.poll()
    assert station.rows("q") == some(0), "delivered again, and known by its KEY"
    assert manager.status("river").ledger == StreamLedger(received=6, appended=3, duplicate=3)


def test_clocks_that_jump(station: Station) -> None:
    manager, well = station.manager, station.wells["river"]
    manager.register("q", [RIVER])
    now = station.clock.now
    well.pour([(now, 1, 0.0)], arrived=now)
    manager.poll()
    for jump in (-DAY, 3 * DAY, -2 * DAY):
        station.clock.now += jump
        station.pass_time(10 * SECOND)
        now += 10 * SECOND
        well.pour([(now, 1, 0.0), (now + 10 * DAY, 1, 0.0)], arrived=station.clock.now)
        while manager.poll():
            pass
        manager.wait()
        assert 0 < station.slept[-1] <= 1
    ledger = manager.status("river").ledger
    assert (ledger.appended, ledger.future) == (4, 3)
    assert manager.clocks.jumps == 3
    assert station.rows("q")[-1] == (now, 1, 0.0)


def test_a_paced_replay_neither_stops_nor_floods_when_the_clock_jumps(
    station: Station, tmp_path: Path
) -> None:
    lines = "".join(f"{n * SECOND},1,0\n" for n in range(100))
    (tmp_path / "a.csv").write_text("time,id,depth\n" + lines)
    station.manager.register("q", [replace(PUSHED, url=f"file://{tmp_path}/a.csv?speed=1")])
    station.manager.poll()
    for jump in (DAY, -2 * DAY, 0):
        station.clock.now += jump
        station.pass_time(3 * SECOND)
        while station.manager.poll():
            pass
        assert len(station.rows("q")) in (3, 4)
        station.manager.wait()
        assert station.slept[-1] == 1
    station.pass_time(200 * SECOND)
    while station.manager.poll():
        pass
    assert station.manager.ended("river")
    assert station.manager.status("river").ended
    assert station.manager.status("river").ledger.appended == 100


def test_a_replay_resumes_where_the_log_ends(station: Station, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,id,depth\n" + "".join(f"{n},1,0\n" for n in range(100)))
    stream = replace(PUSHED, url=f"file://{tmp_path}/a.csv?batch=7")
    station.manager.register("q", [stream])
    for _ in range(5):
        station.manager.poll()
    station.restart()
    station.manager.register("q", [replace(stream, url=stream.url)], {"river": Offset()})
    while not station.manager.ended("river"):
        station.manager.poll()
    assert [row[0] for row in station.rows("q")] == list(range(100))
    assert station.manager.status("river").ledger == StreamLedger(received=100, appended=100)


def test_a_directory_resumes_file_by_file(station: Station, tmp_path: Path) -> None:
    def write(name: str, *times: int) -> None:
        (tmp_path / name).write_text("time,id,depth\n" + "".join(f"{n},1,0\n" for n in times))

    stream = replace(PUSHED, url=f"directory://{tmp_path}?follow=1&batch=2")

    def read_on() -> list[int]:
        station.manager.register("q", [stream])
        while station.manager.poll():
            pass
        found = [row[0] for row in station.rows("q") if row[0] is not None]
        station.restart()
        return found

    write("b.csv", 0, 1, 2)
    assert read_on() == [0, 1, 2]
    write("a.csv", 10, 11, 12)
    assert read_on() == [10, 11, 12], "an earlier name, while nobody looked"
    (tmp_path / "b.csv").unlink()
    write("c.csv", 20, 21)
    assert read_on() == [20, 21], "an old file was deleted"
    write("c.csv", 20, 21, 22)
    assert read_on() == [22], "a file has grown"
    assert read_on() == []
    note = station.logs.log("river").note
    assert note is not None
    assert note["consumed"] == {stream.url: {"a.csv": 3, "c.csv": 3}}
    assert station.logged() == [(n, 1, 0.0) for n in (0, 1, 2, 10, 11, 12, 20, 21, 22)]


def test_a_source_is_told_how_far_the_log_has_come(station: Station) -> None:
    station.wells["river"].pour(some(0, 5))
    station.manager.register("q", [RIVER])
    station.manager.poll()
    first = station.adapters["river"]
    station.restart()
    station.manager.register("q", [RIVER])
    second = station.adapters["river"]
    assert isinstance(first, Spring)
    assert isinstance(second, Spring)
    assert (first.begins_after, second.begins_after) == (None, 4)


def test_following_a_log_that_another_writes(station: Station) -> None:
    theirs = LogDirectory(station.folder).log(RIVER)
    theirs.append(frame(some(0)))
    manager, well = station.manager, station.wells["river"]
    manager.register("q", [RIVER])
    manager.register("all", [RIVER], {"river": Offset()})
    status = manager.status("river")
    assert status.state is SourceState.FOLLOWING
    assert "being written by" in str(status.trouble)
    assert not well.opened
    theirs.append(frame(some(3)))
    theirs.heartbeat(6)
    station.pass_time(SECOND)
    manager.poll()
    manager.heartbeat("river", 99)
    assert station.rows("q") == some(3)
    assert station.rows("all") == some(0, 6)
    manager.wait()
    assert 0 < station.slept[-1] < 0.1
    theirs.append(frame(some(6)))
    theirs.close()
    well.pour(some(8))
    station.pass_time(2 * SECOND)
    manager.poll()
    manager.poll()
    assert manager.status("river").state is SourceState.OPEN, "taken over"
    assert station.rows("q") == some(6, 5)
    assert station.rows("all") == some(6, 5)
    assert manager.status("river").ledger == StreamLedger(received=12, appended=11, duplicate=1)


def test_expected_missing_and_silent(station: Station) -> None:
    stream = replace(RIVER, expect=10 * SECOND)
    manager, well = station.manager, station.wells["river"]
    manager.register("q", [stream])
    for number in range(6):
        station.pass_time(10 * SECOND)
        well.pour([(station.clock.now, 1, 0.0), *([(station.clock.now, 2, 0.0)] if number < 2 else [])])
        manager.poll()
    status = manager.status("river")
    assert (status.expected, status.missing, status.sensors, status.silent) == (12, 4, 2, (2,))
    assert status.rate > 0
    manager.expect("river", None)
    station.pass_time(DAY)
    assert (manager.status("river").missing, manager.status("river").silent) == (4, ())
    manager.expect("river", 5 * SECOND)
    station.pass_time(10 * SECOND)
    assert (manager.status("river").missing, manager.status("river").silent) == (8, ())
    station.pass_time(10 * SECOND)
    assert manager.status("river").silent == (1, 2)


def test_out_of_order_by_more_than_delay(station: Station) -> None:
    station.manager.register("q", [replace(RIVER, delay=5)])
    station.wells["river"].pour([(10, 1, 0.0), (6, 1, 0.0), (4, 1, 0.0)])
    station.wells["river"].pour([(4, 2, 0.0), (20, 2, 0.0)])
    while station.manager.poll():
        pass
    assert station.manager.status("river").late == 2


def test_waiting_is_driven_by_events(memory: Path) -> None:
    station = Station(memory)
    manager = station.manager
    manager.wait()
    assert station.slept == [1], "with nothing to do, not for ever"
    manager.register("q", [RIVER])
    manager.poll()
    manager.poll()
    manager.wait(station.clock.now + 300_000)
    assert station.slept[-1] == pytest.approx(0.3)
    station.wells["river"].pour(some(0))
    manager.wait()
    assert len(station.slept) == 2, "there is something to read"
    manager.poll()
    manager.poll()
    manager._sleep = threading.Event.wait
    threading.Thread(target=lambda: station.wells["river"].pour(some(3))).start()
    manager.wait()
    manager.poll()
    assert len(station.rows("q")) in (3, 6)
    manager.close()


def test_a_polled_source_begins_anew_when_the_clock_jumps(station: Station) -> None:
    class Polled(Spring):
        """Reads nothing before it is due by the wall clock, a minute after it last read."""

        def open(self) -> None:
            super().open()
            self.asks = self.clock()

        @property
        def due(self) -> int:
            return self.asks

        def read(self) -> ReadResult:
            if self.clock() < self.asks:
                return self.nothing()
            self.asks = self.clock() + MINUTE
            return super().read()

    manager, well = station.manager, station.wells["river"]
    manager._adapter_for = lambda stream, clock: Polled(stream, clock, well)
    manager.register("q", [RIVER])
    well.pour(some(0))
    manager.poll()
    station.clock.now -= DAY
    well.pour(some(3))
    station.pass_time(2 * MINUTE)
    for _ in range(3):
        manager.poll()
        station.pass_time(2 * MINUTE)
    assert station.rows("q") == some(0, 6), "it does not wait for yesterday's tomorrow"
    assert well.opened == 2


def test_no_room_in_memory_is_no_loss(memory: Path) -> None:
    station = Station(memory, buffer_bytes=64)
    manager, well = station.manager, station.wells["river"]
    manager.register("a", [RIVER])
    manager.register("b", [RIVER])
    for number in range(10):
        well.pour(some(5 * number, 5))
        manager.poll()
        if number % 3 == 0:
            manager.take("a")
    manager.unregister("b")
    offsets = manager.offsets("a")
    assert station.rows("a") == some(offsets["river"].position, 50 - offsets["river"].position)
    manager.close()


@pytest.mark.promise("forgotten-session")
def test_a_lost_session_is_counted_over_restarts(station: Station) -> None:
    well = station.wells["river"]
    well.session = "nilometer-river"
    station.manager.register("q", [RIVER])
    assert not station.adapters["river"].session_begun  # the first session is nobody's loss
    station.adapters["river"].session_begun = True
    well.pour(some(0))
    station.manager.poll()
    station.restart()
    station.manager.register("q", [RIVER])
    adapter = station.adapters["river"]
    assert adapter.session_begun
    adapter.sessions_lost = 1  # so says an adapter whose broker did not know it
    well.pour(some(3))
    station.manager.poll()
    assert station.manager.sessions_lost("river") == station.manager.status("river").sessions_lost == 1
    station.restart()
    station.manager.register("q", [RIVER])
    station.manager.poll()
    assert station.manager.sessions_lost("river") == 0  # in this process
    assert station.manager.status("river").sessions_lost == 1
