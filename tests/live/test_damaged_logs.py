"""A log that was cut, flipped or bereft of a segment after a crash: it is refused with both numbers, no position is
used twice, and no window is answered twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from nilometer.engine import Database, connect
from nilometer.errors import DataError
from nilometer.ingest.manager.states import SourceState
from nilometer.live.control import folder_of
from nilometer.live.standing import result_log
from nilometer.live.starts import BEGINNING
from nilometer.live.station import Station
from nilometer.live.station_settings import StationSettings
from nilometer.log import LogDirectory, LogSettings, Offset, StreamLog
from nilometer.log.gaps import LostEndError
from nilometer.log.local_files import UnreadableError
from nilometer.log.reader import LogEntry
from nilometer.log.segment import SEGMENT, GapError
from nilometer.types import MINUTE

START = 1_767_225_600_000_000
COUNTS = "SELECT id, COUNT(*) AS n FROM air [RANGE 5 MINUTES SLIDE 5 MINUTES] GROUP BY id"


def feed(folder: Path, first: int, minutes: int) -> None:
    """Another file of readings, two sensors a minute."""
    (folder / "in").mkdir(exist_ok=True)
    times = [START + minute * MINUTE for minute in range(first, first + minutes) for _ in (1, 2)]
    ids = [sensor for _ in range(minutes) for sensor in (1, 2)]
    pl.DataFrame({"time": times, "id": ids, "x": [1.0] * len(ids)}).write_csv(
        folder / "in" / f"{first:06d}.csv"
    )


def field(folder: Path, declared: str = "") -> Database:
    """A stream that is a folder of files, replayed ten readings at a time."""
    (folder / "schema.sql").write_text(
        f"CREATE STREAM air (x FLOAT) PUSHED FROM 'directory://{folder}/in?batch=10' {declared};"
    )
    return connect(folder)


def killed(folder: Path, minutes: int = 60, segment_bytes: int = 2_500) -> Database:
    """A field after a standing query was killed: its last commit is durable, its checkpoint is older."""
    feed(folder, 0, minutes)
    database = field(folder)
    station = Station(database, folder, StationSettings(logging=LogSettings(segment_bytes=segment_bytes)))
    station.install(database.sql(COUNTS), "counts", start=BEGINNING, durable=True)
    finish(station)
    for live in list(station.queries.values()):
        station._settle(live)
    station.abandon()
    return database


def finish(station: Station) -> None:
    deadline = time.monotonic() + 60
    station.run(lambda: time.monotonic() > deadline)
    assert station.finished


def segments(folder: Path) -> list[Path]:
    return sorted((folder / ".nilometer" / "log" / "air").glob("*" + SEGMENT))


def cut(folder: Path) -> None:
    """1,000 bytes off the end."""
    last = segments(folder)[-1]
    last.write_bytes(last.read_bytes()[:-1_000])


def flip(folder: Path) -> None:
    """A byte in the last record."""
    last = segments(folder)[-1]
    data = bytearray(last.read_bytes())
    data[-100] ^= 0xFF
    last.write_bytes(data)


def lose(folder: Path) -> None:
    """The last segment is gone."""
    segments(folder)[-1].unlink()


@pytest.mark.promise("lost-end")
@pytest.mark.parametrize("harm", [cut, flip, lose])
def test_a_log_that_lost_its_end_is_refused_with_both_numbers(tmp_path: Path, harm: object) -> None:
    database = killed(tmp_path, segment_bytes=1 << 20 if harm is not lose else 2_500)
    answers = result_log(tmp_path, "counts").rows
    harm(tmp_path)  # type: ignore[operator]
    left = LogDirectory(tmp_path).log("air").end.position
    assert left < 120
    feed(tmp_path, 60, 30)
    with Station(database, tmp_path) as station:
        with pytest.raises(LostEndError, match=f"ends at position {left} .* stands at position 120") as told:
            station.install(database.sql(COUNTS), "counts", durable=True)
        assert "nilometer log repair air" in str(told.value.hint)
        assert "queries replay" in str(told.value.hint)
        # Another query of the stream may read it, but nothing is appended: no position is used twice.
        station.install(database.sql("SELECT id FROM air"))
        station.step()
        state, why = station.manager.state("air")
        assert state is SourceState.FAILED
        assert "query 'counts' stands at position 120" in str(why)
    assert LogDirectory(tmp_path).log("air").end.position == left
    assert result_log(tmp_path, "counts").rows == answers


def test_a_torn_tail_that_nobody_has_read_is_cut(tmp_path: Path) -> None:
    database = killed(tmp_path, segment_bytes=1 << 20)
    last = segments(tmp_path)[-1]
    last.write_bytes(last.read_bytes() + b"NLG1" * 30)
    feed(tmp_path, 60, 30)
    with Station(database, tmp_path) as station:
        station.install(database.sql(COUNTS), "counts", durable=True)
        station.install(database.sql(COUNTS), "anew", start=BEGINNING, durable=True)
        finish(station)
    counts, anew = (pl.concat(list(result_log(tmp_path, name).answers())) for name in ("counts", "anew"))
    assert counts.height > 30
    assert_frame_equal(counts, anew)


@pytest.mark.promise("missing-segment")
def test_a_missing_middle_segment_is_an_error_wherever_the_log_is_read(tmp_path: Path) -> None:
    database = killed(tmp_path)
    found = segments(tmp_path)
    assert len(found) > 3
    log = LogDirectory(tmp_path).log("air")
    gone, following = log.segments()[1].segment, log.segments()[2].segment
    found[1].unlink()
    lost = f"positions {gone.position} up to {following.position} \\({following.position - gone.position} readings"
    log = LogDirectory(tmp_path).log("air")
    with pytest.raises(GapError, match=lost):
        list(log.scan())
    with pytest.raises(GapError, match=lost):
        list(log.read())
    with pytest.raises(GapError, match=lost):
        connect(tmp_path).sql(COUNTS).run("gateway")
    with pytest.raises(GapError, match=lost):
        log.tail(100)
    assert log.tail(5).height == 5, "the gap is not among the last rows"
    with Station(database, tmp_path) as station:
        live = station.install(database.sql(COUNTS), "again", start=BEGINNING)
        finish(station)
        assert isinstance(live.failure, GapError)


@pytest.mark.promise("old-damage")
def test_damage_between_a_state_and_its_last_commit_stops_nobody_else(tmp_path: Path) -> None:
    """The state is made again from the logs: who must read the damage is stopped, and the loop goes on."""
    database = killed(tmp_path)
    segments(tmp_path)[1].unlink()
    feed(tmp_path, 60, 30)
    with Station(database, tmp_path) as station:
        stopped = station.install(database.sql(COUNTS), "counts", durable=True)
        other = station.install(database.sql(COUNTS), "later", durable=True)
        finish(station)
        assert isinstance(stopped.failure, GapError)
        assert other.failure is None
        assert other.rows > 0


def test_a_disk_that_fails_while_a_state_is_made_again_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = killed(tmp_path)
    feed(tmp_path, 60, 30)
    fails = iter([False, False, True, True])
    read = StreamLog.read

    def failing(log: StreamLog, offset: Offset = Offset()) -> Iterator[LogEntry]:  # noqa: B008
        for entry in read(log, offset):
            if next(fails, False):
                raise UnreadableError("no luck")
            yield entry

    monkeypatch.setattr(StreamLog, "read", failing)
    with Station(database, tmp_path) as station:
        live = station.install(database.sql(COUNTS), "counts", durable=True)
        station.step()
        assert live.stale == "no luck"
        finish(station)
        station.install(database.sql(COUNTS), "anew", start=BEGINNING, durable=True)
        finish(station)
    assert next(fails, None) is None
    counts, anew = (pl.concat(list(result_log(tmp_path, name).answers())) for name in ("counts", "anew"))
    assert_frame_equal(counts, anew)


def test_a_missing_first_segment_is_no_retention(tmp_path: Path) -> None:
    killed(tmp_path)
    segments(tmp_path)[0].unlink()
    with pytest.raises(GapError, match="positions 0 up to"):
        list(LogDirectory(tmp_path).log("air").scan())
    with pytest.raises(GapError, match="positions 0 up to"):
        list(LogDirectory(tmp_path).log("air").read())


def test_a_result_log_that_lost_commits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nilometer.live.station.keeps_own_log", lambda _: True)
    database = field(tmp_path)
    feed(tmp_path, 0, 60)
    with Station(database, tmp_path) as station:
        station.install(database.sql(COUNTS), "counts", start=BEGINNING, durable=True)
        finish(station)
    last = sorted((folder_of(tmp_path, "counts") / "results").glob("*" + SEGMENT))[-1]
    last.with_suffix(".index").unlink()
    last.write_bytes(last.read_bytes()[:-1_000])
    with (
        Station(database, tmp_path) as station,
        pytest.raises(
            DataError, match=r"its checkpoint is of commit \d+, and its result log ends with commit \d+"
        ),
    ):
        station.install(database.sql(COUNTS), "counts", durable=True)


def harm_rows(folder: Path) -> None:
    """A byte in the rows of the oldest segment."""
    data = bytearray(segments(folder)[0].read_bytes())
    data[-100] ^= 0xFF
    segments(folder)[0].write_bytes(data)


def harm_head(folder: Path) -> None:
    """A byte in the schema of the oldest segment."""
    data = bytearray(segments(folder)[0].read_bytes())
    data[150] ^= 0xFF
    segments(folder)[0].write_bytes(data)


def harm_index(folder: Path) -> None:
    """A byte in the index of the oldest segment."""
    index = segments(folder)[0].with_suffix(".index")
    index.write_bytes(index.read_bytes()[:-9] + b"x" * 9)


@pytest.mark.promise("old-damage")
@pytest.mark.parametrize("harm", [harm_rows, harm_head, harm_index])
def test_damage_that_was_read_long_ago_stops_nobody_but_its_reader(tmp_path: Path, harm: object) -> None:
    killed(tmp_path)
    harm(tmp_path)  # type: ignore[operator]
    feed(tmp_path, 60, 30)
    database = field(tmp_path, "KEY (id, time)")
    with Station(database, tmp_path, StationSettings(logging=LogSettings(segment_bytes=2_500))) as station:
        goes_on = station.install(database.sql("SELECT id, x FROM air"))
        reader = station.install(database.sql("SELECT id, x FROM air"), "all", start=BEGINNING)
        finish(station)
        assert goes_on.failure is None
        assert goes_on.rows == 60
        assert "damaged" in str(reader.failure)
    assert LogDirectory(tmp_path).log("air").end.position == 180
    assert LogDirectory(tmp_path).log("air").verify().damages


@pytest.mark.promise("completeness-of-gaps")
def test_completeness_counts_what_a_gap_holds(tmp_path: Path) -> None:
    feed(tmp_path, 0, 60)
    declared = (
        "EXPECT EVERY 1 MINUTE; CREATE SENSOR 1 OF air AT (0.0, 0.0); CREATE SENSOR 2 OF air AT (1.0, 0.0)"
    )
    database = field(tmp_path, declared)
    with Station(database, tmp_path, StationSettings(logging=LogSettings(segment_bytes=2_500))) as station:
        station.install(database.sql("SELECT id FROM air"))
        finish(station)
    whole = "SELECT COMPLETENESS() AS whole FROM air [RANGE 5 MINUTES SLIDE 5 MINUTES]"
    before = [row[-1] for row in connect(tmp_path).sql(whole).run("gateway").rows]
    segments(tmp_path)[1].unlink()
    allowing = connect(tmp_path)
    allowing.data.allow_gaps = True
    found = [row[-1] for row in allowing.sql(whole).run("gateway").rows]
    assert sum(found) < sum(before) - 1.5, "20 of 10 readings a window are missing"
    assert "(20 readings) are missing" in allowing.data.notes[0]
