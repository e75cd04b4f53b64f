"""Pipelines whose Java ends or does not start, and whose own files find no space: the owner goes on, and so do all queries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from live.pipelines.in_process import RUNS, InProcessRun, pump, without_spark
from live.pipelines.test_pipelines import QUERIES, START, check, field, write
from log.logs import no_space
from nilometer.errors import ResourceError
from nilometer.live.outside import Outside
from nilometer.live.pipelines.run_folders import FOLDER
from nilometer.live.roster import Roster
from nilometer.live.spark_query import TRIES
from nilometer.live.station import Station
from nilometer.spark.java_ended import JAVA_ENDED
from nilometer.spark.shared.changes import Change, ChangeWriter
from nilometer.types import MINUTE


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with without_spark(monkeypatch):
        yield


def passing_time() -> Outside:
    """A minute passes whenever somebody looks, so that nobody waits to try again."""
    now = [START]

    def clock() -> int:
        now[0] += MINUTE
        return now[0]

    return Outside(clock=clock)


def test_a_java_that_does_not_start_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The queries of the gateway answer meanwhile, and no query is to blame, however often it is tried."""
    refused, seen = [0], set[str | None]()

    def session(_: Any) -> None:
        refused[0] += 1
        if refused[0] <= 3 * TRIES:
            raise ResourceError("Spark's Java did not start", hint="it wants more memory")

    monkeypatch.setattr("nilometer.spark.session.spark_session", session)
    database = field(tmp_path, ["hot", "means"])
    write(tmp_path, 0, 12)
    with Station(database, tmp_path, None, passing_time()) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        here = station.install(database.sql(QUERIES["hot"]), "here", start="beginning")

        def until() -> bool:
            seen.add(station.queries["hot"].trouble)
            return pump()

        station.run(until)
        assert here.rows
        assert not any(live.failure or live.apart for live in station.queries.values())
    assert seen == {None, "Spark's Java did not start"}
    check(database, ["hot", "means"])


def test_java_ends_again_and_again(tmp_path: Path) -> None:
    database = field(tmp_path, ["hot", "means", "both"])
    write(tmp_path, 0, 20)
    with Station(database, tmp_path, None, passing_time()) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        for _ in range(3 * TRIES):
            station.step()
            for run in list(RUNS):
                run.pump()
                run.failure, run.active = ResourceError(JAVA_ENDED), False
        station.run(pump)
        assert not any(live.failure or live.apart for live in station.queries.values())
    check(database, ["hot", "means", "both"])


@pytest.mark.parametrize("names", [["means"], ["hot", "means"]], ids=["alone", "together"])
@pytest.mark.parametrize("parts", [1, 2])
def test_no_space_for_a_pipelines_own_files_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], parts: int
) -> None:
    """Results, bases and measured times are files, each renamed when it is whole."""
    replace, count = os.replace, [0]

    def full(aside: Path, path: Path, **more: Any) -> None:
        ours = str(FOLDER) in str(path)
        count[0] += ours
        if ours and count[0] % 3 == 0:
            raise no_space()
        replace(aside, path, **more)

    monkeypatch.setattr(os, "replace", full)
    database = field(tmp_path, names)
    (tmp_path / "nilometer.toml").write_text(f"[spark]\nmax_rows = 7\nparts = {parts}\ntask_rows = 6\n")
    write(tmp_path, 0, 20)
    with Station(database, tmp_path, None, passing_time()) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        station.run(lambda: pump() or count[0] > 300)
        monkeypatch.setattr(os, "replace", replace)
        station.run(pump)
        assert not any(live.failure or live.apart for live in station.queries.values())
    assert count[0] > 3
    check(database, names)


def test_no_space_for_what_a_pipeline_is_told_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries that come, leave or are asked for their state meet a full disk, and the owner goes on."""
    add, count = ChangeWriter.add, [0]

    def full(writer: ChangeWriter, change: Change) -> None:
        count[0] += 1
        if count[0] % 2 or count[0] < 6:
            raise ResourceError("the disk is full")
        add(writer, change)

    monkeypatch.setattr(ChangeWriter, "add", full)
    monkeypatch.setattr("nilometer.live.pipelines.pipeline.CHECKPOINT_EVERY", 0)
    names = ["hot", "means", "both"]
    database = field(tmp_path, names)
    write(tmp_path, 0, 20)
    with Station(database, tmp_path, None, passing_time()) as station:
        Roster(station, database.catalog.queries(), on="spark").begin()
        station.run(lambda: pump() or count[0] > 20)
        station.remove("hot")
        monkeypatch.setattr(ChangeWriter, "add", add)
        station.run(pump)
        assert not any(live.failure or live.apart for live in station.queries.values())
    check(database, ["means", "both"])


def test_a_query_leaves_and_comes_again_while_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = field(tmp_path, ["hot", "means"])
    write(tmp_path, 0, 12)
    with Station(database, tmp_path) as station:
        with monkeypatch.context() as starting:
            starting.setattr(InProcessRun, "begun", False)
            starting.setattr(InProcessRun, "pump", lambda *_: None)
            Roster(station, database.catalog.queries(), on="spark").begin()
            station.remove("hot")
            station.install(database.sql(QUERIES["hot"]), "hot", durable=True, on="spark", start="beginning")
        assert len(RUNS) == 1
        station.run(pump)
        assert not any(live.failure or live.apart for live in station.queries.values())
    check(database, ["hot", "means"])
