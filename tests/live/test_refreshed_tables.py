"""Tables that are read anew while queries run: each tick meets one version, also after a crash, and in a replay."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import nilometer
from ingest.manager.streams import Hand, Spring, Well
from log.logs import CrashError, FailAt, scratch
from nilometer.catalog.extents import Stream
from nilometer.cli.live import report_changes
from nilometer.engine import Database
from nilometer.engine.data import frame_of
from nilometer.errors import UnsupportedError
from nilometer.ingest.adapters import Adapter, ReadResult, Status
from nilometer.ingest.adapters.adapter import Clock
from nilometer.live.background_read import BackgroundRead, Read, TableOrError, attempt
from nilometer.live.control import folder_of
from nilometer.live.live_query import LiveQuery
from nilometer.live.outside import Outside
from nilometer.live.query_metrics import read_metrics, write_metrics
from nilometer.live.standing import result_log
from nilometer.live.starts import BEGINNING
from nilometer.live.station import Station
from nilometer.live.station_settings import StationSettings
from nilometer.live.upkeep import replay
from nilometer.live.version_retention import trim_versions
from nilometer.log import LogDirectory, LogSettings
from nilometer.types import HOUR, SECOND
from storm.table_judge import judge, later_versions, versions_of

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
RELAXED = settings(
    deadline=None, suppress_health_check=list(HealthCheck), max_examples=300 if LONG else 8, print_blob=True
)
BASE = 1_767_225_600 * SECOND
SCHEMA = """
CREATE STREAM a (x INT) PUSHED FROM 'test://a' DELAY 2 SECONDS;
CREATE STREAM b (x INT) PUSHED FROM 'test://b';
CREATE TABLE t (k INT, label STRING) STORED AT 't.csv' REFRESH EVERY 1 HOUR;
CREATE TABLE u (k INT, most INT) STORED AT 'u.csv' REFRESH EVERY 2 HOURS;
CREATE TABLE once (k INT, word STRING) STORED AT 'once.csv';
"""
PLAIN = "SELECT a.x AS x, t.label AS label FROM a, t WHERE a.id = t.k"
QUERIES = [
    PLAIN,
    "SELECT a.id AS id, t.label AS label, COUNT(*) AS n FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS], t"
    " WHERE a.id = t.k GROUP BY a.id, t.label",
    "SELECT a.x AS x, b.x AS y, u.most AS most, t.label AS label"
    " FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS], b [NOW], t, u WHERE a.id = t.k AND t.k = u.k AND b.x <= u.most",
    "SELECT a.x AS x, once.word AS word, t.label AS label FROM a, once, t WHERE a.id = t.k AND t.k = once.k",
]


class ReadAtOnce:
    """In the thread that asks: a test knows when a table has been read."""

    def __init__(self, read: Read) -> None:
        self.outcome: TableOrError | None = attempt(read)


class Field:
    """A directory with three tables; one station after the other; one standing query; and the judge."""

    host = "gateway"

    def __init__(self, folder: Path, sql: str) -> None:
        self.folder = folder
        for name in ("t", "u", "once"):
            self.write(name, 0)
        (folder / "schema.sql").write_text(SCHEMA + f"CREATE QUERY q STARTING AT BEGINNING AS {sql};")
        self.database: Database = nilometer.connect(folder)
        self.sql = sql
        self.clock = Hand(BASE)
        self.wells = {"a": Well(), "b": Well()}
        self.versions_met = self.answered = 0
        self.begin()

    def write(self, name: str, number: int) -> None:
        """Another content of a table; some of them empty, some the same."""
        column = {"t": "label", "u": "most", "once": "word"}[name]
        rows = [f"{k},{number + k}" for k in range(1, number % 4 + 1)] if number else ["1,0", "2,0"]
        (self.folder / f"{name}.csv").write_text("\n".join([f"k,{column}", *rows]) + "\n")

    def begin(self, failpoint: Any = None) -> None:
        self.station = Station(
            self.database,
            self.folder,
            StationSettings(logging=LogSettings(segment_bytes=2_000)),
            Outside(clock=self.clock, adapter_of=self.adapter, failpoint=failpoint, begin_read=ReadAtOnce),
        )
        query = self.database.sql(self.sql)
        self.live = self.station.install(query, "q", durable=True, start=BEGINNING, on=self.host)

    def adapter(self, stream: Stream, clock: Clock) -> Adapter:
        return Spring(stream, clock, self.wells[stream.name])

    def pour(self, name: str, readings: list[tuple[int, int, int]]) -> None:
        rows = [{"time": BASE + at * SECOND, "id": source, "x": x} for at, source, x in readings]
        well = self.wells[name]
        well.results.append(ReadResult(Status.NEW_VALUE, frame_of(rows, self.database.catalog.stream(name))))
        well.wake.set()

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.clock.now += SECOND // 3
            self.station.step()

    def die(self) -> None:
        self.station.abandon()
        for well in self.wells.values():
            done = {id(each) for each in well.acknowledged}
            well.results = [each for each in well.results if id(each) not in done]

    def judge(self) -> None:
        judged = judge(self.folder, self.database, self.sql)
        self.answered += judged.answers
        self.versions_met += len(judged.later)


def taken(live: LiveQuery) -> list[tuple[Any, ...]]:
    return [row for answer in live.take() for row in answer.rows]


@pytest.fixture
def field(tmp_path: Path) -> Field:
    return Field(tmp_path, PLAIN)


def test_a_table_is_read_anew_and_holds_from_the_next_tick_on(field: Field) -> None:
    field.pour("a", [(1, 1, 10), (5, 1, 11)])
    field.step()
    assert taken(field.live) == [(10, "0"), (11, "0")]
    field.write("t", 5)
    field.step()
    field.pour("a", [(6, 1, 12)])
    field.step()
    assert taken(field.live) == [(12, "0")], "it is not due"
    field.clock.now += HOUR
    field.step()
    # Of the readings that come now, one lies before what was answered: it meets what they met.
    field.pour("a", [(7, 1, 13), (5, 1, 14), (6, 1, 15), (8, 1, 16)])
    field.step()
    assert sorted(taken(field.live)) == [(13, "6"), (14, "0"), (15, "0"), (16, "6")]
    assert [(version.holds_from - BASE) for version in later_versions(field.database, field.folder, "q")] == [
        6 * SECOND + 1
    ]
    field.clock.now += 3 * HOUR
    field.step()
    assert len(later_versions(field.database, field.folder, "q")) == 1, "what has not changed is no version"
    metrics = field.station.reports.metrics("q")
    assert (metrics.tables_read, metrics.table_failures) == (2, 0)
    write_metrics(field.folder, "q", metrics)
    assert read_metrics(field.folder, "q") == metrics
    field.station.close()
    field.judge()


def test_a_table_that_is_away_keeps_its_last_version_and_is_tried_again(field: Field) -> None:
    field.pour("a", [(1, 1, 10)])
    field.step()
    (field.folder / "t.csv").rename(field.folder / "away.csv")
    field.clock.now += HOUR
    field.step()
    field.pour("a", [(2, 1, 11)])
    field.step()
    assert taken(field.live) == [(10, "0"), (11, "0")]
    assert "'t' could not be refreshed, its last version stays in use" in str(field.live.stale)
    assert field.station.reports.metrics("q").trouble == field.live.stale
    field.clock.now += 5 * SECOND
    field.step()
    assert field.station.reports.metrics("q").table_failures == 2, "it is tried again, long before it is due"
    field.station.close()
    # Nor does a query that goes on need it.
    field.begin()
    field.pour("a", [(3, 1, 12)])
    field.step()
    assert taken(field.live) == [(12, "0")]
    field.write("t", 3)
    field.clock.now += 5 * SECOND
    field.step()
    assert field.live.stale is None
    field.pour("a", [(4, 1, 13)])
    field.step()
    assert taken(field.live) == [(13, "4")]
    field.station.close()
    field.judge()


def test_a_table_that_cannot_be_kept_is_not_met(tmp_path: Path) -> None:
    """The disk is full when the version is to be written: the last one holds until there is room."""
    field = Field(tmp_path, PLAIN)
    field.pour("a", [(1, 1, 10)])
    field.step()
    taken(field.live)
    field.station.close()
    full = False

    def failpoint(name: str) -> None:
        if full and name == "before_write":
            raise OSError(28, "No space left on device")

    field.begin(failpoint)
    field.step(2)
    field.pour("a", [(2, 1, 11)])
    field.step()
    field.write("t", 5)
    field.clock.now += HOUR
    full = True
    field.step()
    assert "No space" in str(field.live.stale) or "full" in str(field.live.stale)
    assert later_versions(field.database, field.folder, "q") == []
    full = False
    field.clock.now += 5 * SECOND
    field.step()
    assert field.live.stale is None
    field.pour("a", [(3, 1, 12)])
    field.step()
    assert taken(field.live) == [(11, "0"), (12, "6")]
    field.station.close()
    field.judge()


def test_an_ad_hoc_query_reads_tables_anew_as_well(field: Field) -> None:
    live = field.station.install(field.database.sql(PLAIN))
    other = field.station.install(
        field.database.sql("SELECT a.x AS x, u.most AS most FROM a, u WHERE a.id = u.k")
    )
    field.step()
    field.write("t", 5)
    field.write("u", 5)
    field.pour("a", [(1, 1, 10)])
    field.step()
    field.clock.now += 2 * HOUR
    field.step()
    field.pour("a", [(2, 1, 11)])
    field.step()
    assert taken(live) == [(10, "0"), (11, "6")]
    assert taken(other) == [(10, 0), (11, 6)]
    field.station.close()


def test_what_was_read_before_anything_was_heard_holds_from_the_beginning(field: Field) -> None:
    field.write("t", 5)
    field.clock.now += HOUR
    field.step()
    field.pour("a", [(1, 1, 10)])
    field.step()
    assert taken(field.live) == [(10, "6")]
    field.station.close()
    field.judge()


def test_a_replay_meets_the_versions_that_the_query_met(field: Field) -> None:
    for number in range(1, 5):
        field.pour("a", [(number, 1, number), (number, 2, number)])
        field.step()
        field.write("t", number)
        field.clock.now += HOUR
        field.step()
    field.station.close()
    before = [row for frame in result_log(field.folder, "q").answers() for row in frame.rows()]
    assert len({label for _, label in before}) > 2
    field.write("t", 9)
    replay(field.database, "q", BEGINNING)
    field.begin()
    field.step(3)
    again = [row for frame in result_log(field.folder, "q").answers() for row in frame.rows()]
    assert again == before
    # Another text, replayed, meets them too.
    field.station.close()
    field.sql = PLAIN.replace("a.x AS x", "a.x + 1 AS x")
    (field.folder / "schema.sql").write_text(SCHEMA + f"CREATE QUERY q STARTING AT BEGINNING AS {field.sql};")
    field.database = nilometer.connect(field.folder)
    replay(field.database, "q", BEGINNING)
    field.begin()
    field.step(3)
    again = [row for frame in result_log(field.folder, "q").answers() for row in frame.rows()]
    assert again == [(x + 1, label) for x, label in before]
    field.station.close()


def test_a_read_in_the_background_is_waited_for_by_nobody() -> None:
    import threading

    there = threading.Event()

    def read() -> pl.DataFrame:
        there.wait(60)
        return pl.DataFrame({"k": [1]})

    reading = BackgroundRead(read)
    assert reading.outcome is None
    there.set()
    for thread in threading.enumerate():
        if thread.name == "table":
            thread.join(60)
    assert isinstance(reading.outcome, pl.DataFrame)
    failed = ReadAtOnce(lambda: pl.read_csv("/there/is/no/such/file"))
    assert "cannot be read" in str(failed.outcome)


def test_spark_refuses_to_ignore_the_interval(field: Field) -> None:
    """A question of a client has a StreamingQuery of its own; standing queries are in a pipeline (pipelines/test_tables.py)."""
    field.station.close()
    with (
        Station(
            field.database, field.folder, outside=Outside(clock=field.clock, adapter_of=field.adapter)
        ) as station,
        pytest.raises(UnsupportedError, match="REFRESH EVERY"),
    ):
        station.install(field.database.sql(PLAIN), "other", on="spark")


# ---- stories -------------------------------------------------------------------------------------------------------------

DEEDS = st.sampled_from(
    [
        "pour",
        "pour",
        "pour",
        "hour",
        "hour",
        "change t",
        "change t",
        "change u",
        "away",
        "close",
        "kill",
        "crash",
        "replay",
    ]
)


@pytest.mark.slow
def test_every_tick_meets_one_version_whatever_happens() -> None:
    answered = met = crashes = 0

    @given(
        st.sampled_from(QUERIES),
        st.integers(0, 1 << 30),
        st.lists(st.tuples(DEEDS, st.integers(1, 60)), min_size=8, max_size=24),
    )
    @RELAXED
    def check(sql: str, seed: int, deeds: list[tuple[str, int]]) -> None:
        nonlocal answered, met, crashes
        note(sql)
        with scratch() as folder:
            field = Field(Path(folder), sql)
            crashes += live_through(field, Random(seed), deeds)
            answered += field.answered
            met += field.versions_met

    check()
    # Or nothing has been tried.
    assert answered > 50
    assert met > 10
    assert crashes > 0


def live_through(field: Field, random: Random, deeds: list[tuple[str, int]]) -> int:
    at, crashes = 0, 0
    for deed, number in deeds:
        try:
            match deed:
                case "pour":
                    for name in field.wells:
                        readings = []
                        for _ in range(random.randrange(1, 5)):
                            at = max(0, at + random.choice((0, 1, 1, 2, -1, -2)))
                            readings.append((at, random.randrange(1, 4), random.randrange(5)))
                        field.pour(name, readings)
                case "hour":
                    field.clock.now += HOUR
                case "change t" | "change u":
                    field.write(deed[-1], number)
                case "away":
                    (field.folder / "t.csv").unlink(missing_ok=True)
                case "close":
                    field.station.close()
                    field.judge()
                    field.begin()
                case "kill":
                    field.die()
                    field.judge()
                    field.begin()
                case "crash":
                    field.station.close()
                    field.begin(FailAt(CrashError, number + 30))
                    field.pour("a", [(at, 1, 1), (at + 1, 2, 2)])
                    field.write("t", number)
                    field.clock.now += HOUR
                    field.step(3)
                case _:
                    field.station.close()
                    field.judge()
                    replay(field.database, "q", BEGINNING)
                    field.begin()
            field.step(random.randrange(3))
        except CrashError:
            crashes += 1
            field.die()
            field.begin()
    try:
        field.step(3)
        field.station.close()
    except CrashError:
        field.die()
    field.judge()
    return crashes


def test_a_new_text_does_not_change_what_the_old_one_met(field: Field) -> None:
    """It reads the readings of the last tick again, so it knows up to where the old one may have answered: a version
    holds from there on."""
    field.pour("a", [(5, 1, 10)])
    field.step()
    field.station.close()
    field.sql = PLAIN.replace("a.x AS x", "a.x + 1 AS x")
    field.write("t", 5)
    field.clock.now += HOUR
    field.begin()
    field.step(2)
    (version,) = later_versions(field.database, field.folder, "q")
    assert version.holds_from == BASE + 5 * SECOND + 1
    field.pour("a", [(6, 1, 11)])
    field.step()
    field.pour("a", [(7, 1, 12)])
    field.step()
    assert taken(field.live) == [(12, "6"), (13, "6")]
    assert later_versions(field.database, field.folder, "q") == [version]
    field.station.close()


def test_the_command_line_says_so_once(field: Field, capsys: pytest.CaptureFixture[str]) -> None:
    states: dict[str, str] = {}
    field.pour("a", [(1, 1, 10)])
    field.step()
    (field.folder / "t.csv").unlink()
    field.clock.now += HOUR
    field.step()
    report_changes(field.station, states)
    report_changes(field.station, states)
    field.write("t", 1)
    field.clock.now += 10 * SECOND
    field.step()
    report_changes(field.station, states)
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("q: ")]
    assert len(said) == 2
    assert "'t' could not be refreshed" in said[0]
    assert said[1] == "q: its tables are refreshed again"
    field.station.close()


def test_a_state_of_a_program_that_recorded_no_versions(field: Field) -> None:
    """Nobody knows what it was made of: the table is read anew, and holds from then on."""
    field.pour("a", [(1, 1, 10)])
    field.step()
    field.station.close()
    shutil.rmtree(folder_of(field.folder, "q") / "tables")
    field.write("t", 5)
    field.begin()
    field.pour("a", [(2, 1, 11)])
    field.step()
    field.pour("a", [(3, 1, 12)])
    field.step()
    assert taken(field.live)[-1] == (12, "6")
    assert len(later_versions(field.database, field.folder, "q")) == 1
    field.station.close()


def test_versions_that_nothing_can_meet_are_trimmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nilometer.live.table_log.SEGMENT_BYTES", 1)
    field = Field(tmp_path, PLAIN)
    for number in range(1, 12):
        field.pour("a", [(10 * number + at, 1, number) for at in range(6)])
        field.step()
        field.write("t", number)
        field.clock.now += HOUR
        field.step()
    field.station.close()
    versions = versions_of(field.database, field.folder, "q", "t")
    assert trim_versions(field.database, "q") == 0, "a replay from the beginning meets the first of them"
    log = LogDirectory(field.folder).log(field.database.catalog.stream("a"))
    assert log.trim(BASE + 70 * SECOND).rows
    before = [row for frame in result_log(field.folder, "q").answers() for row in frame.rows()]
    trimmed = trim_versions(field.database, "q")
    assert trimmed > 2
    assert versions_of(field.database, field.folder, "q", "t")[0].note() == versions[trimmed].note()
    # What is left of it is answered as it was.
    replay(field.database, "q", BEGINNING)
    field.begin()
    field.step(3)
    again = [row for frame in result_log(field.folder, "q").answers() for row in frame.rows()]
    assert 10 < len(again) < len(before)
    assert again == before[-len(again) :]
    field.station.close()
