"""Standing queries looked after: paused and resumed by another process, dropped, begun again, changed, and how they do."""

from __future__ import annotations

import time
from pathlib import Path

import polars as pl
import pytest

from nilometer.engine import Database, connect
from nilometer.errors import ConfigurationError, DataError
from nilometer.live import control as controls
from nilometer.live.control import Control, ask, control_of, folder_of
from nilometer.live.outside import Outside
from nilometer.live.query_list import QueryState, RunState
from nilometer.live.query_metrics import read_metrics
from nilometer.live.roster import Roster
from nilometer.live.spark_query import FOLDER
from nilometer.live.standing import result_log, runner_of
from nilometer.live.starts import BEGINNING
from nilometer.live.station import Station
from nilometer.live.upkeep import drop, pause, remains, replay, resume
from nilometer.log import LogDirectory
from nilometer.log.local_files import LocalFiles
from nilometer.log.writer import BusyError
from nilometer.types import MINUTE

START = 1_767_225_600_000_000
SCHEMA = """
CREATE STREAM air (x FLOAT) PUSHED FROM 'directory://{folder}/in' KEY (id, time) EXPECT EVERY 1 MINUTE;
CREATE QUERY all_of_it STARTING AT BEGINNING AS SELECT time, x FROM air;
CREATE QUERY means STARTING AT BEGINNING AS {means};
"""
MEANS = "SELECT AVG(x) AS mean FROM air [RANGE 5 MINUTES SLIDE 5 MINUTES]"
SUMS = "SELECT SUM(x) AS total FROM air [RANGE 5 MINUTES SLIDE 5 MINUTES]"


class Time:
    """A clock that is moved by hand, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def write_readings(folder: Path, first: int, count: int) -> None:
    minutes = range(first, first + count)
    times = [START + minute * MINUTE for minute in minutes]
    frame = pl.DataFrame({"time": times, "id": [1] * count, "x": [float(minute) for minute in minutes]})
    frame.write_csv(folder / "in" / f"{first:04d}.csv")


def field(folder: Path, minutes: int = 20, means: str = MEANS) -> Database:
    (folder / "in").mkdir(exist_ok=True)
    if minutes:
        write_readings(folder, 0, minutes)
    (folder / "schema.sql").write_text(SCHEMA.format(folder=folder, means=means))
    return connect(folder)


def finish(station: Station) -> None:
    deadline = time.monotonic() + 60
    station.run(lambda: time.monotonic() > deadline)
    assert station.finished


def run(database: Database, folder: Path, only: str | None = None) -> list[str]:
    """A life of the queries, until their files end; what was said."""
    said: list[str] = []
    with Station(database, folder) as station:
        wanted = [one for one in database.catalog.queries() if only in (None, one.name)]
        roster = Roster(station, wanted, say=said.append)
        roster.begin()
        if station.queries:
            finish(station)
        roster.show()
    return said


def state_of(database: Database, name: str) -> QueryState:
    return next(one for one in database.queries() if one.name == name)


def minutes_of(database: Database, name: str = "all_of_it") -> list[int]:
    return [int(row["x"]) for row in database.answers(name)]


def test_another_process_pauses_and_resumes_a_query(tmp_path: Path) -> None:
    database, clock, said = field(tmp_path), Time(), []
    with Station(database, tmp_path) as station:
        roster = Roster(station, database.catalog.queries(), say=said.append, clock=clock)
        roster.begin()
        finish(station)
        assert pause(database, "ALL_OF_IT") is not None
        roster.look()
        assert "all_of_it" in station.queries, "it is not looked every moment"
        clock.now += 1
        roster.look()
        assert list(station.queries) == ["means"]
        assert runner_of(tmp_path, "all_of_it") is None
        write_readings(tmp_path, 20, 5)
        resume(database, "all_of_it")
        clock.now += 1
        roster.look()
        assert [live.name for live in roster.queries] == ["all_of_it", "means"]
        assert "all_of_it goes on after 20 rows" in said
    assert run(database, tmp_path)
    assert minutes_of(database) == list(range(25))


def test_a_paused_query_is_not_run(tmp_path: Path) -> None:
    database = field(tmp_path)
    assert pause(database, "all_of_it") is None
    assert state_of(database, "all_of_it").state is RunState.PAUSED
    said = run(database, tmp_path)
    assert any("all_of_it is paused" in line for line in said)
    assert list(database.answers("all_of_it")) == []
    assert list(database.answers("means"))
    resume(database, "all_of_it")
    run(database, tmp_path)
    assert minutes_of(database) == list(range(20))


def test_how_the_queries_do(tmp_path: Path) -> None:
    database = field(tmp_path)
    assert [(one.name, one.state) for one in database.queries()] == [
        ("all_of_it", RunState.NEW),
        ("means", RunState.NEW),
    ]
    with Station(database, tmp_path) as station:
        roster = Roster(station, database.catalog.queries())
        roster.begin()
        finish(station)
        roster.show()
        found = state_of(database, "means")
        assert found.state is RunState.RUNNING
        assert found.runner is not None
        metrics = read_metrics(tmp_path, "means")
        assert metrics is not None
        assert (metrics.rows_in, metrics.late, metrics.host) == (20, 0, "gateway")
        assert metrics.lag == metrics.when - START - 19 * MINUTE
    write_readings(tmp_path, 20, 5)
    with Station(database, tmp_path) as station:
        station.install(database.sql("SELECT x FROM air"))
        finish(station)
    found = state_of(database, "means")
    assert found.state is RunState.STOPPED
    assert (found.host, found.rows, found.read, found.behind) == ("gateway", 4, 20, 5)
    assert found.watermark == START + 19 * MINUTE
    assert found.changed is False


def test_a_query_that_fails_says_so(tmp_path: Path) -> None:
    means = "SELECT (id + 9223372036854775806) * 2 AS y FROM air"
    database = field(tmp_path, means=means)
    schema = tmp_path / "schema.sql"
    schema.write_text(schema.read_text().replace(f"AS {means}", f"ON ERROR STOP AS {means}"))
    database = connect(tmp_path)
    run(database, tmp_path)
    found = state_of(database, "means")
    assert found.state is RunState.FAILED
    assert "overflow" in str(found.trouble)
    database = field(tmp_path)
    run(database, tmp_path)
    assert state_of(database, "means").state is RunState.STOPPED


def test_what_runs_is_neither_dropped_nor_replayed(tmp_path: Path) -> None:
    database = field(tmp_path)
    with Station(database, tmp_path) as station:
        station.install(database.query("all_of_it"), "all_of_it", durable=True, start=BEGINNING)
        finish(station)
        with pytest.raises(BusyError, match="while it runs: process"):
            drop(database, "all_of_it")
        with pytest.raises(BusyError, match="while it runs: process"):
            replay(database, "all_of_it", BEGINNING)
    assert minutes_of(database) == list(range(20))


def test_what_is_delivered_is_neither_dropped_nor_replayed(tmp_path: Path) -> None:
    database = field(tmp_path)
    run(database, tmp_path)
    lock = LocalFiles(folder_of(tmp_path, "all_of_it") / "sinks" / "1").lock()
    with pytest.raises(BusyError, match="while its answers are delivered"):
        drop(database, "all_of_it")
    lock.release()
    drop(database, "all_of_it")


def test_a_dropped_query_is_gone_and_retention_does_not_wait(tmp_path: Path) -> None:
    database = field(tmp_path)
    run(database, tmp_path)
    log = LogDirectory(tmp_path).log("air")
    assert "queries" in log.readers()
    found = remains(database, "all_of_it")
    assert (found.rows, found.held, found.declared) == (20, ("air",), True)
    schema = tmp_path / "schema.sql"
    schema.write_text("\n".join(schema.read_text().splitlines()[:2]))
    database = connect(tmp_path)
    assert state_of(database, "all_of_it").state is RunState.UNDECLARED
    with pytest.raises(ConfigurationError, match="not declared any more"):
        pause(database, "all_of_it")
    drop(database, "all_of_it")
    assert set(log.readers()) == {"queries"}
    assert [one.name for one in database.queries()] == ["means"]
    assert not (tmp_path / ".nilometer" / "dropped").exists()
    with pytest.raises(ConfigurationError, match="no standing query 'all_of_it'"):
        drop(database, "all_of_it")
    with pytest.raises(ConfigurationError, match="no standing query"):
        drop(database, "..")


def test_a_query_that_is_dropped_while_paused_is_not_begun_by_its_process(tmp_path: Path) -> None:
    database, clock, said = field(tmp_path), Time(), []
    with Station(database, tmp_path) as station:
        roster = Roster(station, database.catalog.queries(), say=said.append, clock=clock)
        roster.begin()
        finish(station)
        for asked in (pause, drop):
            asked(database, "all_of_it")
            clock.now += 1
            roster.look()
            assert list(station.queries) == ["means"]
        assert "all_of_it is dropped" in said[-1]
        resume(database, "all_of_it")
        clock.now += 1
        roster.look()
        finish(station)
    assert minutes_of(database) == list(range(20))


def test_a_query_begins_again(tmp_path: Path) -> None:
    database = field(tmp_path)
    run(database, tmp_path)
    before = result_log(tmp_path, "all_of_it").last
    assert before is not None
    done = replay(database, "all_of_it", START + 15 * MINUTE)
    assert (done.rows, done.readings) == (20, 5)
    assert done.aside == folder_of(tmp_path, "all_of_it") / "replaced" / "1"
    assert (done.aside / "results").is_dir()
    assert LogDirectory(tmp_path).log("air").readers()["queries"].position == 15
    assert state_of(database, "all_of_it").behind == 5
    run(database, tmp_path)
    assert minutes_of(database) == list(range(15, 20))
    after = result_log(tmp_path, "all_of_it").last
    assert after is not None
    assert after.number > before.number + 1, "a sink tells by the numbers what it has"
    replay(database, "all_of_it", BEGINNING)
    run(database, tmp_path)
    assert minutes_of(database) == list(range(20))
    assert remains(database, "all_of_it").replaced > 0


def test_a_sink_gets_what_is_answered_again(tmp_path: Path) -> None:
    database = field(tmp_path)
    run(database, tmp_path)
    sink = f"jsonl:{tmp_path}/out.jsonl"
    assert database.deliver("all_of_it", sink) == 20
    replay(database, "all_of_it", START + 15 * MINUTE)
    assert database.deliver("all_of_it", sink) == 0
    run(database, tmp_path)
    assert database.deliver("all_of_it", sink) == 5
    drop(database, "all_of_it")
    run(database, tmp_path)
    assert database.deliver("all_of_it", sink) == 20


def test_a_replay_that_was_interrupted_is_ended_by_who_runs_the_query(tmp_path: Path) -> None:
    database = field(tmp_path)
    run(database, tmp_path)
    # Killed after it was asked for, and before anything was moved.
    ask(tmp_path, "all_of_it", Control(start=START + 18 * MINUTE, aside=1))
    run(database, tmp_path)
    assert minutes_of(database) == [18, 19]
    assert (folder_of(tmp_path, "all_of_it") / "replaced" / "1" / "results").is_dir()
    assert control_of(tmp_path, "all_of_it").aside is None


def test_a_window_query_that_is_replayed_answers_the_same(tmp_path: Path) -> None:
    database = field(tmp_path)
    run(database, tmp_path)
    first = list(database.answers("means"))
    replay(database, "means", BEGINNING)
    run(database, tmp_path)
    assert list(database.answers("means")) == first


def test_a_text_that_changes_and_changes_back_answers_nothing_twice(tmp_path: Path) -> None:
    database = field(tmp_path)
    run(database, tmp_path)
    version = state_of(database, "means").version
    for round_, text in enumerate((SUMS, MEANS), 1):
        write_readings(tmp_path, 20 * round_, 20)
        database = field(tmp_path, minutes=0, means=text)
        assert state_of(database, "means").changed
        said = run(database, tmp_path)
        assert any("means has changed since it last ran" in line for line in said)
        assert not state_of(database, "means").changed
    assert state_of(database, "means").version == version
    assert state_of(database, "means").read == 60
    commits = [commit.offsets["air"].position for commit in result_log(tmp_path, "means").commits()]
    assert commits == sorted(commits)
    ticks = [row["tick"] for row in database.answers("means")]
    assert ticks == sorted(set(ticks))


def test_a_damaged_request_is_reported(tmp_path: Path) -> None:
    database = field(tmp_path)
    run(database, tmp_path)
    folder_of(tmp_path, "means").mkdir(parents=True)
    (folder_of(tmp_path, "means") / controls.FILE).write_text("{")
    with pytest.raises(DataError, match="the request to query 'means' cannot be read"):
        pause(database, "means")


def test_a_checkpoint_elsewhere_goes_with_the_query(tmp_path: Path) -> None:
    database = field(tmp_path)
    run(database, tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    installation = folder_of(tmp_path, "means") / FOLDER
    installation.mkdir(parents=True)
    (installation / "installation.json").write_text(f'{{"checkpoint": "{elsewhere}"}}')
    assert drop(database, "means") is None
    assert not elsewhere.exists()


def test_completeness_is_what_came_of_what_was_owed(tmp_path: Path) -> None:
    field(tmp_path, minutes=10)
    schema = tmp_path / "schema.sql"
    sensors = "CREATE SENSOR 1 OF air; CREATE SENSOR 2 OF air;"
    # A source that has ended owes nothing; this one waits for more files.
    schema.write_text(schema.read_text().replace("/in'", "/in?follow=1'") + sensors)
    database, now = connect(tmp_path), [START + 10 * MINUTE]
    with Station(database, tmp_path, outside=Outside(clock=lambda: now[0])) as station:
        live = station.install(database.query("all_of_it"), "all_of_it", durable=True, start=BEGINNING)
        deadline = time.monotonic() + 60
        station.run(lambda: live.rows == 10 or time.monotonic() > deadline)
        assert station.reports.metrics("all_of_it").completeness is None, "nothing was owed yet"
        now[0] += 10 * MINUTE
        # Sensor 1 sent ten readings, sensor 2 none.
        assert station.reports.metrics("all_of_it").completeness == 0.5
