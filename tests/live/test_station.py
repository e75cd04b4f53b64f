"""The station over replayed files: live answers are those over the log, queries come and go, durable ones go on."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from log.logs import CrashError, scratch
from nilometer.cli.live import summary
from nilometer.dataflow.group import fits
from nilometer.engine import Database, connect
from nilometer.errors import ConfigurationError, NilometerError, ResourceError
from nilometer.live.books import query_books, stream_books
from nilometer.live.identity import identity_of
from nilometer.live.kept_answers import kept_answers
from nilometer.live.live_query import LiveQuery
from nilometer.live.standing import reader_of, result_log, result_logs
from nilometer.live.starts import BEGINNING, offset_at
from nilometer.live.station import Station
from nilometer.live.station_settings import StationSettings
from nilometer.log import LogSettings, Offset, StreamLog
from nilometer.log.writer import BusyError
from nilometer.types import (
    MINUTE,
)

START = 1_767_225_600_000_000
SCHEMA = """
CREATE STREAM air (x FLOAT) PUSHED FROM '{url}' KEY (id, time) EXPECT EVERY 1 MINUTE;
CREATE SENSOR 1 OF air AT (0.0, 0.0); CREATE SENSOR 2 OF air AT (1.0, 0.0);
CREATE TABLE limits (id INT, maximum FLOAT) STORED AT 'limits.csv';
"""
MEANS = "SELECT id, AVG(x) AS mean FROM air [RANGE 5 MINUTES SLIDE 5 MINUTES] GROUP BY id"


def write_readings(path: Path, first: int, count: int) -> None:
    minutes = range(first, first + count)
    pl.DataFrame(
        {
            "time": [START + minute * MINUTE for minute in minutes for _ in (1, 2)],
            "id": [sensor for _ in minutes for sensor in (1, 2)],
            "x": [float(minute % 7 + sensor) for minute in minutes for sensor in (1, 2)],
        }
    ).write_csv(path)


def field(folder: Path, minutes: int = 30, *, options: str = "") -> Database:
    """A directory whose stream is a folder of files, replayed."""
    (folder / "in").mkdir(exist_ok=True)
    write_readings(folder / "in" / "a.csv", 0, minutes)
    (folder / "limits.csv").write_text("id,maximum\n1,4.0\n2,5.0\n")
    (folder / "schema.sql").write_text(SCHEMA.format(url=f"directory://{folder}/in{options}"))
    return connect(folder)


def rows(live: LiveQuery) -> list[tuple[object, ...]]:
    return [row for answer in live.take() for row in answer.rows]


def finish(station: Station) -> None:
    deadline = time.monotonic() + 60
    station.run(lambda: time.monotonic() > deadline)
    assert station.finished


def test_live_answers_are_those_over_the_log(tmp_path: Path) -> None:
    database = field(tmp_path)
    with Station(database, tmp_path) as station:
        live = station.install(database.sql(MEANS))
        finish(station)
        got = rows(live)
        assert live.ledger.balanced
        assert live.ledger.read == 60
    for host in ("reference", "gateway"):
        assert sorted(got) == sorted(database.sql(MEANS).run(host).rows)
    (books,) = stream_books(database)
    assert (books["received"], books["appended"], books["missing"]) == (60, 60, 0)
    assert books["balanced"]


def test_a_directory_has_one_identity_and_no_other_has_it(tmp_path: Path) -> None:
    first = identity_of(tmp_path / "a")
    assert identity_of(tmp_path / "a") == first
    assert identity_of(tmp_path / "b") != first


def test_rows_as_they_come(tmp_path: Path) -> None:
    database = field(tmp_path)
    query = database.sql("SELECT id, x FROM air WHERE x > 7")
    found = list(query.live())
    assert found
    assert found == list(query.run("reference"))
    assert list(query.live(start="now")) == []


def test_a_second_station_does_not_read_the_files_again(tmp_path: Path) -> None:
    database = field(tmp_path)
    for expected in (60, 0):
        with Station(database, tmp_path) as station:
            live = station.install(database.sql("SELECT id, x FROM air"))
            finish(station)
            assert len(rows(live)) == expected
    with Station(database, tmp_path) as station:
        live = station.install(database.sql("SELECT id, x FROM air"), start=BEGINNING)
        finish(station)
        assert len(rows(live)) == 60
    write_readings(tmp_path / "in" / "b.csv", 30, 10)
    with Station(database, tmp_path) as station:
        at = station.install(database.sql("SELECT time, x FROM air"), start=START + 35 * MINUTE)
        now = station.install(database.sql("SELECT id, x FROM air"))
        finish(station)
        assert len(rows(now)) == 20
        # A time finds its place among what the log holds when the query is installed: nothing, yet.
        assert len(rows(at)) == 20


@pytest.mark.parametrize("batch", [1, 7, 10, 60])
def test_a_query_that_starts_at_a_time_begins_with_the_first_reading_of_it(
    tmp_path: Path, batch: int
) -> None:
    database = field(tmp_path, options=f"?batch={batch}")
    with Station(database, tmp_path) as station:
        station.install(database.sql("SELECT id FROM air"))
        finish(station)
    with Station(database, tmp_path) as station:
        live = station.install(database.sql("SELECT time, id FROM air"), start=START + 12 * MINUTE)
        after = station.install(database.sql("SELECT time FROM air"), start=START + 30 * MINUTE)
        # A standing one goes on within the entry where it began, if nothing was committed since.
        station.install(
            database.sql("SELECT time, id FROM air"), "at", start=START + 12 * MINUTE, durable=True
        )
        finish(station)
        expected = [(START + minute * MINUTE, sensor) for minute in range(12, 30) for sensor in (1, 2)]
        assert rows(live) == expected
        assert rows(after) == []
        station.abandon()
    with Station(database, tmp_path) as station:
        station.install(database.sql("SELECT time, id FROM air"), "at", durable=True)
        finish(station)
    assert [row for frame in result_log(tmp_path, "at").answers() for row in frame.rows()] == expected


def test_queries_of_one_start_share_a_group_and_go_alone(tmp_path: Path) -> None:
    database = field(tmp_path)
    with Station(database, tmp_path) as station:
        first = station.install(database.sql(MEANS), "means")
        second = station.install(
            database.sql("SELECT COUNT(*) AS n FROM air [RANGE 10 MINUTES SLIDE 10 MINUTES]")
        )
        assert first.group == second.group
        with pytest.raises(ConfigurationError, match="'means' is running already"):
            station.install(database.sql(MEANS), "means")
        station.step()
        station.remove("means")
        with pytest.raises(ConfigurationError, match="no query 'means' is running"):
            station.remove("means")
        finish(station)
        assert [row[1] for row in rows(second)] == [2, 20, 20, 18]


def test_a_query_that_fails_says_so_and_the_others_go_on(tmp_path: Path) -> None:
    database = field(tmp_path)
    huge = "SELECT id * 9223372036854775807 AS y FROM air"
    with Station(database, tmp_path) as station:
        bad = station.install(database.sql(huge))
        good = station.install(database.sql("SELECT id FROM air"))
        finish(station)
        assert len(rows(good)) == 60
        with pytest.raises(NilometerError, match="64 bits"):
            rows(bad)


def test_queries_with_a_log_and_without_get_all_answers_of_a_round(tmp_path: Path) -> None:
    database = field(tmp_path, options="?batch=10")
    with Station(database, tmp_path) as station:
        kept = station.install(database.sql("SELECT id, x FROM air"), "kept", durable=True)
        other = station.install(database.sql("SELECT a.id FROM air a, limits l"))
        finish(station)
        assert len(rows(other)) == 120
        assert kept.ledger.delivered == 60
    answered = [row for frame in result_log(tmp_path, "kept").answers() for row in frame.rows()]
    assert len(answered) == 60


def test_a_bug_in_one_query_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = field(tmp_path)
    with Station(database, tmp_path) as station:
        bad = station.install(database.sql(MEANS), "bad")
        good = station.install(database.sql("SELECT id FROM air"))
        (start,) = station.graph._starts
        (windows,) = [bank for group in start.groups for bank in group._families.values()]
        (family,) = windows.families
        monkeypatch.setattr(family.store, "update", lambda *_: 1 // 0)
        finish(station)
        assert len(rows(good)) == 60
        with pytest.raises(NilometerError, match="a bug of ours: ZeroDivisionError"):
            rows(bad)


def test_a_stored_table_in_a_live_plan(tmp_path: Path) -> None:
    database = field(tmp_path)
    text = "SELECT a.id, a.x FROM air a, limits l WHERE a.id = l.id AND a.x > l.maximum"
    with Station(database, tmp_path) as station:
        live = station.install(database.sql(text))
        finish(station)
        got = rows(live)
    assert got
    assert sorted(got) == sorted(database.sql(text).run("reference").rows)


def test_a_checkpoint_of_other_stages_is_rebuilt_from_the_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = field(tmp_path, 7)
    query = database.sql(MEANS)
    with Station(database, tmp_path) as station:
        station.install(query, "means", durable=True)
        station.step()
        assert fits(station.graph.snapshot("means"), query.physical, station)
        assert not fits({"000 SP_ACQUIRE": {}}, query.physical, station)
    write_readings(tmp_path / "in" / "b.csv", 7, 7)
    monkeypatch.setattr("nilometer.live.shared_queries.fits", lambda *_: False)
    with Station(database, tmp_path) as station:
        live = station.install(query, "means", durable=True)
        assert "checkpoint is of another release: the state is rebuilt from the logs" in str(live.note)
        finish(station)
    answered = [row for frame in result_log(tmp_path, "means").answers() for row in frame.rows()]
    assert sorted(answered) == sorted(query.run("reference", finished=False).rows)


def test_a_durable_query_goes_on_where_it_stood(tmp_path: Path) -> None:
    database = field(tmp_path, 7)
    database.execute(f"CREATE QUERY means AS {MEANS}")
    for number, name in enumerate(["b.csv", "c.csv", "d.csv"]):
        with Station(database, tmp_path) as station:
            live = station.install(database.sql(MEANS), "means", durable=True)
            for _ in range(number + 1):
                station.step()
        write_readings(tmp_path / "in" / name, 7 * (number + 1), 7)
    with Station(database, tmp_path) as station:
        live = station.install(database.sql(MEANS), "means", durable=True)
        finish(station)
        assert live.ledger.read == 56
    answers = [row for frame in result_log(tmp_path, "means").answers() for row in frame.rows()]
    # The last window waits: the end of the files is not in the log, which may grow again.
    assert sorted(answers) == sorted(database.sql(MEANS).run("reference", finished=False).rows)
    (books,) = query_books(database)
    assert books["balanced"]
    assert (books["read"], books["answers"]) == (56, len(answers))


def test_a_standing_query_is_run_by_one_process(tmp_path: Path) -> None:
    database = field(tmp_path, 7)
    every = database.sql("SELECT id, x FROM air")
    with Station(database, tmp_path) as first, Station(database, tmp_path) as second:
        first.install(every, "every", durable=True)
        for name in ("every", "other"):
            with pytest.raises(BusyError, match="the standing queries of") as refused:
                second.install(every, name, durable=True)
        assert "stop that process" in str(refused.value.hint)
        finish(first)
        first.close()
        # It goes on with the number, the answers and the state that the first one left.
        second.install(every, "every", durable=True)
        write_readings(tmp_path / "in" / "b.csv", 7, 3)
        finish(second)
    with Station(database, tmp_path) as third:
        third.install(every, "every", durable=True)
        finish(third)
    assert sum(frame.height for frame in result_log(tmp_path, "every").answers()) == 20


def test_a_query_that_could_not_be_installed_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = field(tmp_path, 7)
    every = database.sql("SELECT id, x FROM air")

    def refuse(*_: object, **__: object) -> None:
        raise ResourceError("no room")

    with Station(database, tmp_path) as station:
        for part in ("nilometer.live.shared_commits.version_of", "nilometer.log.writer.LogWriter.append"):
            with monkeypatch.context() as patch:
                patch.setattr(part, refuse)
                with pytest.raises(ResourceError, match="no room"):
                    station.install(every, "every", durable=True)
        station.install(every, "every", durable=True)
        finish(station)
    assert sum(frame.height for frame in result_log(tmp_path, "every").answers()) == 14


SMALL_SEGMENTS = LogSettings(segment_bytes=1, least_bytes=1)


def test_retention_waits_for_a_standing_query(tmp_path: Path) -> None:
    database = field(tmp_path, 7, options="?batch=2")
    every = database.sql("SELECT id, x FROM air")
    with Station(database, tmp_path, StationSettings(logging=SMALL_SEGMENTS)) as station:
        station.install(every, "Every", durable=True)
        finish(station)
        log = station.logs.log("air")
        assert log.readers() == {"queries": Offset(0, 0)}  # no checkpoint yet: it would read all of it again
    assert log.readers() == {"queries": log.end}
    write_readings(tmp_path / "in" / "b.csv", 7, 5)
    with Station(database, tmp_path, StationSettings(logging=SMALL_SEGMENTS)) as station:
        station.install(every)  # somebody else fills the log
        finish(station)
    assert log.trim(START + 100 * MINUTE).held_by == "queries"
    assert log.start.position == 14
    with Station(database, tmp_path) as station:
        live = station.install(every, "Every", durable=True)
        finish(station)
        assert len(rows(live)) == 10
        assert live.trimmed == 0
    # A version that reads another stream holds this one no more.
    database.execute(f"CREATE STREAM wind (x FLOAT) PUSHED FROM 'directory://{tmp_path}/wind'")
    (tmp_path / "wind").mkdir()
    with Station(database, tmp_path) as station:
        station.install(database.sql("SELECT id, x FROM wind"), "Every", durable=True)
        assert log.readers() == {}


@pytest.mark.parametrize("durable", [False, True])
def test_what_is_trimmed_before_a_running_query_reads_it_is_counted(durable: bool, tmp_path: Path) -> None:
    database = field(tmp_path, 12, options="?batch=2")
    every = database.sql("SELECT id, x FROM air")
    with Station(database, tmp_path, StationSettings(logging=SMALL_SEGMENTS)) as station:
        station.install(every)
        finish(station)
        log = station.logs.log("air")
    with Station(database, tmp_path) as station:
        live = station.install(every, "every", start=BEGINNING, durable=durable)
        # It begins behind the ring, and so it reads the log, which somebody trims in the meantime.
        log.trim(START + 9 * MINUTE, force=True)
        assert log.start.position == 18
        finish(station)
        assert live.trimmed == 18
        assert len(rows(live)) == 6
        assert summary(live).endswith("; 18 trimmed from the logs before the query read them")
    if durable:
        database.execute("CREATE QUERY every AS SELECT id, x FROM air")
        (books,) = query_books(database)
        assert (books["read"], books["trimmed"]) == (6, 18)


def test_what_is_trimmed_by_force_is_reported(tmp_path: Path) -> None:
    database = field(tmp_path, 7, options="?batch=2")
    every = database.sql("SELECT id, x FROM air")
    with Station(database, tmp_path, StationSettings(logging=SMALL_SEGMENTS)) as station:
        station.install(every, "every", durable=True)
        finish(station)
    write_readings(tmp_path / "in" / "b.csv", 7, 5)
    with Station(database, tmp_path, StationSettings(logging=SMALL_SEGMENTS)) as station:
        station.install(every)
        finish(station)
        log = station.logs.log("air")
    log.trim(START + 9 * MINUTE, force=True)
    assert log.start.position == 18
    with Station(database, tmp_path) as station:
        live = station.install(every, "every", durable=True)
        assert live.trimmed == 4
        assert "4 rows were trimmed from its streams' logs before it read them" in str(live.note)
        finish(station)
        assert len(rows(live)) == 6
    with Station(database, tmp_path) as station:
        again = station.install(every, "every", durable=True)
        assert (again.trimmed, again.note) == (0, "every goes on after 20 rows")
    database.execute("CREATE QUERY every AS SELECT id, x FROM air")
    (books,) = query_books(database)
    assert (books["read"], books["answers"], books["trimmed"]) == (20, 20, 4)


def test_a_name_that_no_reader_can_have() -> None:
    assert reader_of("smoky") == "query-smoky"
    assert reader_of("Smoky") == "query-smoky"
    assert len(reader_of("x" * 200)) < 100
    assert reader_of("two words") != reader_of("two  words")


TIMES = st.lists(st.integers(0, 9), min_size=1, max_size=12)


@given(times=TIMES, cuts=st.sets(st.integers(1, 11)), ticks=st.booleans(), start=st.integers(0, 10))
def test_where_a_time_is_in_a_log_does_not_depend_on_how_it_was_cut(
    times: list[int], cuts: set[int], ticks: bool, start: int
) -> None:
    with scratch() as folder, StreamLog(folder, {"time": pl.Int64()}, SMALL_SEGMENTS) as log:
        bounds = [0, *sorted(cut for cut in cuts if cut < len(times)), len(times)]
        for begin, end in pairwise(bounds):
            log.append(pl.DataFrame({"time": times[begin:end]}))
            if ticks:
                log.heartbeat(0)
        log.flush()
        at = offset_at(log, start)
        first = next((n for n, time in enumerate(times) if time >= start), len(times))
        found = [row for entry in log.read(at) if entry.rows is not None for row in entry.rows["time"]]
        assert found == times[first:]


def test_a_column_that_changes_its_type_begins_another_result_log(tmp_path: Path) -> None:
    database = field(tmp_path, 7)
    versions = ["SELECT id AS v FROM air", "SELECT x AS v FROM air", "SELECT x AS v, id FROM air WHERE x > 2"]
    database.execute(f"CREATE QUERY changing AS {versions[0]}")
    answered = 0
    for number, text in enumerate([*versions, versions[0]]):
        write_readings(tmp_path / "in" / f"b{number}.csv", 7 * (number + 1), 7)
        for again in (False, True):
            with Station(database, tmp_path) as station:
                live = station.install(database.sql(text), "changing", durable=True)
                finish(station)
                given = rows(live)
                assert bool(given) != again
                assert f"goes on after {answered} rows" in str(live.note) or not again
                answered += len(given)
    assert [log.rows for log in result_logs(tmp_path, "changing")] == [28, answered - 42, 14]
    assert result_log(tmp_path, "changing").columns == {"v": pl.Int64()}
    (books,) = query_books(database)
    assert books["balanced"]
    assert (books["read"], books["answers"]) == (70, answered)
    # The last version's columns are those of the first again; what lies between is of another type.
    kept = kept_answers(database, "changing")
    assert (kept.end, kept.left_out) == (answered, answered - 42)
    given = list(database.answers("changing"))
    assert given == [{"v": sensor} for _ in range(21) for sensor in (1, 2)]
    assert list(database.answers("Changing", 20)) == given[20:]
    assert list(database.answers("changing", answered - 1)) == given[-1:]
    assert list(database.answers("changing", answered)) == []


def test_a_crash_while_another_result_log_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = field(tmp_path, 7)

    def crash(*_: object, **__: object) -> None:
        raise CrashError

    with Station(database, tmp_path) as station:
        station.install(database.sql("SELECT id AS v FROM air"), "changing", durable=True)
        finish(station)
    write_readings(tmp_path / "in" / "b.csv", 7, 7)
    changed = database.sql("SELECT x AS v FROM air")
    with Station(database, tmp_path) as station, monkeypatch.context() as patch:
        patch.setattr("nilometer.log.writer.LogWriter.append", crash)
        with pytest.raises(CrashError):
            station.install(changed, "changing", durable=True)
        station.abandon()
    with Station(database, tmp_path) as station:
        live = station.install(changed, "changing", durable=True)
        assert "has changed" in str(live.note)
        finish(station)
        assert len(rows(live)) == 14
    assert [log.rows for log in result_logs(tmp_path, "changing")] == [14, 14]


def test_answers_have_the_types_of_the_query_or_of_the_log(tmp_path: Path) -> None:
    database = field(tmp_path, 3)
    database.execute("CREATE QUERY typed AS SELECT time, id, x, x > 2 AS high, 'a' AS word FROM air")
    with Station(database, tmp_path) as station:
        station.install(database.query("typed"), "typed", durable=True)
        finish(station)
    expected = list(database.query("typed").run("reference"))
    assert len(expected) == 6
    assert list(database.answers("typed")) == expected
    # Of a query that is declared no more, as of one that has changed and not run yet, the log alone tells.
    database.keeping = None  # only the catalog changes: a DROP in the directory deletes the answers
    database.execute("DROP QUERY typed")
    assert list(database.answers("typed")) == expected
    database.execute("CREATE QUERY typed AS SELECT id FROM air")
    assert list(database.answers("typed")) == expected
    with pytest.raises(ConfigurationError, match="no standing query 'other'"):
        database.answers("other")
    with pytest.raises(ConfigurationError, match="data directory"):
        connect().answers("typed")
