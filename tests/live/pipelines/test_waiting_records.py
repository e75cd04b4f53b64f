"""Pipelines whose record waits for space, while their queries leave, are divided or begin again: no answer is lost or doubled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from live.pipelines.in_process import RUNS, pump, without_spark
from live.pipelines.test_pipelines import QUERIES, START, check, field, write
from log.logs import no_space
from nilometer.errors import ResourceError
from nilometer.live.outside import Outside
from nilometer.live.roster import Roster
from nilometer.live.station import Station
from nilometer.spark.shared.round_work import _FLOWS
from nilometer.types import MINUTE


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    _FLOWS.clear()  # a process of its own for each test
    with without_spark(monkeypatch):
        yield


class Disk:
    """A disk of the commit log that is full when a test says so, and a clock: if time passes, a minute whenever somebody
    looks."""

    def __init__(self) -> None:
        self.full = self.passes = False
        self._now: int = START
        self.outside = Outside(clock=self._clock, failpoint=self._pass_by)

    def _clock(self) -> int:
        self._now += MINUTE * self.passes
        return self._now

    def _pass_by(self, place: str) -> None:
        if self.full and place == "before_write":
            raise no_space()


def no_letters(*_: object) -> None:
    raise ResourceError("the disk is full")


def finish(station: Station, disk: Disk) -> None:
    """There is space, and time passes, so that what failed is tried again."""
    disk.full, disk.passes = False, True
    station.run(pump)
    assert not any(live.failure for live in station.queries.values())


@pytest.mark.parametrize("space", ["in the next turn", "when it leaves"])
def test_a_query_leaves_after_the_record_of_a_dead_run_was_written(tmp_path: Path, space: str) -> None:
    """The log is ahead of what the run has noted. The others of its group go on where the log ends."""
    names = ["hot", "all"]
    database, disk = field(tmp_path, names), Disk()
    write(tmp_path, 0, 20)
    with Station(database, tmp_path, None, disk.outside) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        for _ in range(10):
            station.step()
        RUNS[0].pump(1)
        disk.full = True
        RUNS[0].pump(1)
        assert not RUNS[0].active
        station.step()  # begins no run
        disk.full = False
        if space == "in the next turn":
            station.step()  # writes the record
        station.remove("hot")
        finish(station, disk)
    check(database, ["all"])


def test_a_pipeline_is_divided_while_a_record_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The round that fails is taken when the pipeline is stopped to be divided."""
    monkeypatch.setattr("nilometer.spark.shared.graph_flow.LOOK_AFTER", 0)

    def dearest(times: Mapping[str, int], _busy: int, _elapsed: int) -> str | None:
        return "all" if {"hot", "all"} <= times.keys() else None

    monkeypatch.setattr("nilometer.live.pipelines.pipeline.dearest", dearest)
    names = ["hot", "all"]
    database, disk = field(tmp_path, names), Disk()
    write(tmp_path, 0, 20)
    with Station(database, tmp_path, None, disk.outside) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        for _ in range(10):
            station.manager.poll()
        RUNS[0].pump(1)
        disk.full = True
        RUNS[0].pump(1)
        RUNS[0].active = True  # as when the loop has not heard of the failure yet
        station.step()
        finish(station, disk)
        assert station.queries["all"].apart
    check(database, names)


@pytest.mark.parametrize("waiting", ["the round's own", "one before it", "none"])
def test_groups_merge_in_a_round_that_is_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiting: str
) -> None:
    """The next run takes each query from the group in which the log has it."""
    database, disk = field(tmp_path, ["hot"]), Disk()
    write(tmp_path, 0, 20)
    with Station(database, tmp_path, None, disk.outside) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        database.execute(f"CREATE QUERY here STARTING AT BEGINNING AS {QUERIES['tops']}")
        station.install(database.sql(QUERIES["tops"]), "here", durable=True, start="beginning")
        for _ in range(20):
            station.step()
        run = RUNS[0]
        run.pump(3)
        database.execute(f"CREATE QUERY all STARTING AT BEGINNING AS {QUERIES['all']}")
        station.install(database.sql(QUERIES["all"]), "all", durable=True, on="spark", start="beginning")
        run.hangs = True
        while not run.late or not run.late[-1].merged:
            for result in run.late:
                run._take(result)
            run.late.clear()
            run.pump(1)
        disk.full = True
        if waiting == "one before it":
            station._shared.note_trimmed(["here"], 0)
            station._shared.begin()
            assert station._shared.trouble
        if waiting == "none":
            disk.full = False
            small = {group for group, _ in run.late[-1].merged}
            name = next(name for name, one in station._pipelines._queries.items() if one.group in small)
            run.late[-1].letters[name] = ({"reason": "a row without a value"},)
        result = run.late.pop()
        with monkeypatch.context() as patched:
            patched.setattr("nilometer.live.pipelines.pipeline.write_lines", no_letters)
            with pytest.raises(ResourceError) as found:
                run._take(result)
        run.failure, run.active = found.value, False
        station.step()
        finish(station, disk)
    check(database, ["hot", "all", "here"])
