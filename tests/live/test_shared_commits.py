"""Standing queries that commit together: a constant number of fsyncs, crashes at every step, older result logs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from log.logs import CrashError, no_space
from nilometer.engine import Database, connect
from nilometer.errors import ResourceError
from nilometer.live.kept_answers import kept_answers
from nilometer.live.outside import Outside
from nilometer.live.standing import result_log, result_logs, runner_of
from nilometer.live.starts import BEGINNING
from nilometer.live.station import Station
from nilometer.log.local_files import LocalFiles
from nilometer.log.results.shared_log import LEFT, PLACE, SharedLog, index_of_files
from nilometer.types import MINUTE

START = 1_767_225_600_000_000
QUERIES = (
    "SELECT id, x FROM air WHERE x > 2",
    "SELECT id, x FROM air WHERE x > 1 AND id = 2",
    "SELECT id, AVG(x) AS mean FROM air [RANGE 4 MINUTES SLIDE 2 MINUTES] GROUP BY id",
    "SELECT id, MAX(x) AS top FROM air [RANGE 6 MINUTES SLIDE 2 MINUTES] GROUP BY id",
)


def write(folder: Path, name: str, first: int, count: int) -> None:
    minutes = [minute for minute in range(first, first + count) for _ in (1, 2)]
    frame = {
        "time": [START + minute * MINUTE for minute in minutes],
        "id": [1, 2] * count,
        "x": [float(minute % 5) for minute in minutes],
    }
    pl.DataFrame(frame).write_csv(folder / "in" / name)


def field(folder: Path, count: int = 4, minutes: int = 12) -> Database:
    (folder / "in").mkdir(parents=True)
    write(folder, "a.csv", 0, minutes)
    lines = [f"CREATE STREAM air (x FLOAT) PUSHED FROM 'directory://{folder}/in?batch=4' KEY (id, time);"]
    lines += [f"CREATE QUERY q{n} STARTING AT BEGINNING AS {QUERIES[n % 4]};" for n in range(count)]
    (folder / "schema.sql").write_text("\n".join(lines))
    return connect(folder)


def install(database: Database, station: Station) -> None:
    with station.together():
        for definition in database.catalog.queries():
            query = database.sql(definition.text)
            station.install(query, definition.name, durable=True, start=BEGINNING)


def run(database: Database, folder: Path, outside: Outside | None = None) -> None:
    with Station(database, folder, None, outside) as station:
        install(database, station)
        station.run(lambda: False)


def answers(database: Database) -> dict[str, list[Any]]:
    names = [definition.name for definition in database.catalog.queries()]
    return {name: [row for answer in kept_answers(database, name) for row in answer.rows] for name in names}


def test_the_number_of_fsyncs_and_files_does_not_depend_on_the_number_of_queries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, files, sync = [], [], os.fsync
    for count in (4, 40):
        folder = tmp_path / str(count)
        calls: list[int] = []
        monkeypatch.setattr(os, "fsync", lambda handle, calls=calls: calls.append(handle) or sync(handle))
        database = field(folder, count)
        run(database, folder)
        counts.append(len(calls))
        files.append(sum(path.is_file() for path in (folder / ".nilometer").rglob("*")))
        assert all(answers(database).values())
    # Not equal: a stream's log is also made durable when some time has passed.
    assert counts[1] < 1.5 * counts[0]
    assert files[0] == files[1]


def test_after_a_crash_at_any_step_every_answer_is_there_once(tmp_path: Path) -> None:
    expected = {}
    folder = tmp_path / "whole"
    database = field(folder)
    run(database, folder)
    expected = answers(database)
    assert all(expected.values())
    crashed = 0
    for step in range(3, 400, 57):
        folder = tmp_path / str(step)
        database = field(folder)
        left = step

        def crash(_: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise CrashError

        station = Station(database, folder, None, Outside(failpoint=crash))
        try:
            install(database, station)
            station.run(lambda: False)
            station.close()
        except CrashError:
            crashed += 1
            station.abandon()
        run(database, folder)
        assert answers(database) == expected, f"after a crash at step {step}"
    assert crashed > 1


def test_a_query_of_a_killed_process_that_does_not_go_on_is_not_said_to_run(tmp_path: Path) -> None:
    database = field(tmp_path / "field", 2)
    expected = field(tmp_path / "other", 2)
    run(expected, tmp_path / "other")
    killed = Station(database, tmp_path / "field")
    install(database, killed)
    killed.step()
    killed.abandon()
    with Station(database, tmp_path / "field") as station:
        definition = database.catalog.query("q0")
        assert definition is not None
        station.install(database.sql(definition.text), "q0", durable=True, start=BEGINNING)
        station.step()
        assert runner_of(tmp_path / "field", "q0") is not None
        assert runner_of(tmp_path / "field", "q1") is None
    run(database, tmp_path / "field")
    assert answers(database) == answers(expected)


def test_older_result_logs_are_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "field"
    database = field(folder)
    with monkeypatch.context() as patch:
        patch.setattr("nilometer.live.station.keeps_own_log", lambda _: True)
        run(database, folder)
    before = answers(database)
    last = {name: result_log(folder, name).last for name in before}
    write(folder, "b.csv", 12, 8)
    run(database, folder)
    assert len(result_logs(folder, "q0")) == 2
    for name, rows in answers(database).items():
        assert rows[: len(before[name])] == before[name]
        now, then = result_log(folder, name).last, last[name]
        assert now is not None
        assert then is not None
        assert now.number > then.number
    whole = tmp_path / "whole"
    other = field(whole, minutes=20)
    run(other, whole)
    assert answers(database) == answers(other)


JOINS = (
    "SELECT a.id, a.x, t.label FROM air a, limits t WHERE a.id = t.id AND a.x > 1",
    "SELECT t.label, AVG(a.x) AS mean FROM air [RANGE 4 MINUTES SLIDE 4 MINUTES] a, limits t"
    " WHERE a.id = t.id GROUP BY t.label",
)


def joined_field(folder: Path, joins: tuple[str, ...]) -> Database:
    database = field(folder, 0)
    (folder / "limits.csv").write_text("id,label\n1,low\n2,high\n")
    database.execute("CREATE TABLE limits (id INT, label STRING) STORED AT 'limits.csv'")
    for number, text in enumerate(joins):
        database.execute(f"CREATE QUERY j{number} STARTING AT BEGINNING AS {text}")
    return database


def days(folder: Path, joins: tuple[str, ...], groups: set[int]) -> dict[str, list[Any]]:
    """One day, another one after the table has changed, and a query that came on the second day."""
    database = joined_field(folder, joins)
    run(database, folder)
    (folder / "limits.csv").write_text("id,label\n1,other\n2,other\n")
    write(folder, "b.csv", 12, 12)
    with Station(database, folder) as station:
        install(database, station)
        late = database.sql(JOINS[0].replace("> 1", "> 2"))
        station.install(late, "late", durable=True, start=BEGINNING)
        station.run(lambda: False)
        groups.add(len({live.group for live in station.queries.values()}))
    database.execute(f"CREATE QUERY late AS {late.text}")
    return answers(database)


def test_joins_of_one_version_of_a_table_run_together(tmp_path: Path) -> None:
    """Each has what it has alone: the table as it was when the query came, also after a restart."""
    groups: set[int] = set()
    together = days(tmp_path / "all", (*JOINS, JOINS[0].replace("> 1", "> 0")), groups)
    assert groups == {2}, "those of the first day, and the one of the second"
    assert not list((tmp_path / "all" / ".nilometer" / "queries").glob("*/results"))
    assert {row[-1] for row in together["j0"]} == {"low", "high"}
    assert {row[-1] for row in together["late"]} == {"other"}
    for number, text in enumerate(JOINS):
        alone = days(tmp_path / str(number), (text,), set())
        assert alone["j0"] == together[f"j{number}"]
        assert alone["late"] == together["late"]


def test_a_crash_leaves_joins_of_tables_complete(tmp_path: Path) -> None:
    expected = joined_field(tmp_path / "whole", JOINS)
    run(expected, tmp_path / "whole")
    database = joined_field(tmp_path / "crashed", JOINS)
    for step in range(3, 60, 7):
        passed = 0

        def failpoint(_: str, step: int = step) -> None:
            nonlocal passed
            passed += 1
            if passed == step:
                raise CrashError

        station = Station(database, tmp_path / "crashed", None, Outside(failpoint=failpoint))
        try:
            install(database, station)
            station.run(lambda: False)
        except CrashError:
            pass
        station.abandon()
    run(database, tmp_path / "crashed")
    assert answers(database) == answers(expected)


def test_a_line_that_moves_a_query_is_written_with_the_offsets_of_its_new_group(tmp_path: Path) -> None:
    """Another thread may commit between `set_apart` and the first commit of the new group, and the process may die then."""
    database = field(tmp_path)
    with Station(database, tmp_path) as station:
        install(database, station)
        station.run(lambda: False)
        commits = station._shared.commits
        moved, stopped = commits.queries["q0"], commits.queries["q1"]
        group = moved.place.group
        read = dict(commits.committed(group))
        commits.set_apart(moved, commits.log.begin_group(), read)
        commits.fail(stopped, read)
        commits.move(stopped, group + 1)  # its group goes on as part of another
        further = {"air": replace(read["air"], number=read["air"].number + 1)}
        commits.commit({group: further}, {}, station.clock(), at_once=True)
        index = index_of_files(commits.log.files)
        places = {name: index.place(name) for name in ("q0", "q1", "q2")}
        station.abandon()
    assert {name: place and place.offsets for name, place in places.items()} == {
        "q0": read,
        "q1": read,
        "q2": further,
    }
    assert places["q1"] is not None
    assert places["q1"].group == LEFT


@pytest.mark.parametrize("place", ["before_write", "after_write"], ids=["not written", "not durable"])
def test_what_comes_while_a_commit_waits_for_space_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A query leaves, and another is refused: both, and all answers, are as if there had been space."""
    expected = field(tmp_path / "other", 3, 40)
    run(expected, tmp_path / "other")
    folder = tmp_path / "field"
    database = field(folder, 3, 40)
    full = False

    def disk(at: str) -> None:
        if full and at == place:
            raise no_space()

    log = SharedLog.__init__
    monkeypatch.setattr(SharedLog, "__init__", lambda self, directory, _failpoint: log(self, directory, disk))
    with Station(database, folder) as station:
        install(database, station)
        station.step()
        full = True
        for _ in range(20):
            station.step()
        assert station.queries["q0"].trouble
        station.remove("q1")
        station.step()
        with pytest.raises(ResourceError) as refused:
            station.install(database.sql(QUERIES[0]), "late", durable=True, start=BEGINNING)
        assert refused.value.hint == "make space, then install the query again"
        full = False
        station.run(lambda: False)
        assert index_of_files(LocalFiles(folder / PLACE)).places["q1"].group == LEFT
    run(database, folder)
    assert answers(database) == answers(expected)


def test_a_query_that_finds_no_space_takes_nothing_of_others_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its line is taken out of the commit that waits; that of a query which was moved stays."""
    folder = tmp_path / "field"
    database = field(folder, 2, 20)
    full = False

    def disk(at: str) -> None:
        if full and at == "before_write":
            raise no_space()

    log = SharedLog.__init__
    monkeypatch.setattr(SharedLog, "__init__", lambda self, directory, _failpoint: log(self, directory, disk))
    with Station(database, folder) as station:
        install(database, station)
        station.step()
        commits = station._shared.commits
        moved, number = commits.queries["q1"], commits.log.begin_group()
        commits.set_apart(moved, number, commits.committed(moved.place.group))
        full = True
        with pytest.raises(ResourceError):
            station.install(database.sql(QUERIES[0]), "late", durable=True, start=BEGINNING)
        full = False
        assert "late" not in station.queries
        commits.retry()
        assert commits.log.index.places["q1"].group == number
        assert "late" not in commits.log.index.places
