"""Standing queries on Spark, looked after: they change their host, begin again and pause, and answer nothing twice; passing questions leave nothing."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import nilometer
from nilometer.engine import Database
from nilometer.live.activity import Activities
from nilometer.live.query_list import RunState
from nilometer.live.roster import Roster
from nilometer.live.standing import result_log
from nilometer.live.station import Station
from nilometer.live.upkeep import pause, replay, resume
from nilometer.log import LogDirectory
from nilometer.types import HOUR, MINUTE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

START = 1_767_225_600_000_000
SCHEMA = """
CREATE STREAM air (x FLOAT) PUSHED FROM 'directory://{folder}/in' KEY (id, time) EXPECT EVERY 1 MINUTE;
CREATE QUERY passed STARTING AT BEGINNING AS SELECT id, x FROM air;
CREATE QUERY means STARTING AT BEGINNING AS
  SELECT id, AVG(x) AS mean FROM air [RANGE 5 MINUTES SLIDE 5 MINUTES] GROUP BY id;
"""
ROUND = 20


def grow(folder: Path, first: int) -> None:
    minutes = range(first, first + ROUND)
    times = [START + minute * MINUTE for minute in minutes]
    frame = pl.DataFrame({"time": times, "id": [1] * ROUND, "x": [float(minute) for minute in minutes]})
    frame.write_csv(folder / "in" / f"{first:04d}.csv")


def finish(station: Station) -> None:
    deadline = time.monotonic() + 300
    station.run(lambda: time.monotonic() > deadline)
    assert station.finished


def run(database: Database, folder: Path, on: str, spark: SparkSession) -> list[str]:
    said: list[str] = []
    with Station(database, folder) as station:
        roster = Roster(station, database.catalog.queries(), on=on, say=said.append)
        roster.begin()
        finish(station)
        roster.show()
        if on == "spark":
            metrics = station.reports.metrics("means")
            assert metrics.batch_milliseconds
            analysis = station.reports.analysis("means")
            assert analysis.startswith("-- pipeline main, 2 queries"), analysis
            assert re.search(r"SP_ACQUIRE .*-- \d+ rows, [\d.]+ ms$", analysis, re.MULTILINE), analysis
            assert len(spark.streams.active) == 1
            (activity,) = (one for one in Activities(station).now() if one.query == "means")
            assert (activity.kind, activity.host, activity.rows_in) == ("standing", "spark", metrics.rows_in)
            assert activity.seconds > 0
            assert metrics.lag is not None
    return said


def passed(database: Database) -> list[int]:
    return [int(row["x"]) for row in database.answers("passed")]


def test_queries_change_their_host_begin_again_and_pause(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "schema.sql").write_text(SCHEMA.format(folder=tmp_path))
    (tmp_path / "nilometer.toml").write_text("[spark]\nbuckets = 2\n")
    database = nilometer.connect(tmp_path)
    for number, (host, before) in enumerate((("spark", None), ("gateway", "spark"), ("spark", "gateway"))):
        grow(tmp_path, ROUND * number)
        said = run(database, tmp_path, host, spark)
        assert passed(database) == list(range(ROUND * (number + 1)))
        ticks = [row["tick"] for row in database.answers("means")]
        assert ticks == sorted(set(ticks))
        moved = f"passed ran on {before} before: it goes on where it stood there"
        assert any(line.startswith("passed begins" if before is None else moved) for line in said)
        assert {(one.host, one.state, one.behind) for one in database.queries()} == {
            (host, RunState.STOPPED, 0)
        }
    # The windows since Spark took over again are those of all their readings.
    assert [row["mean"] for row in database.answers("means")][-3:] == [43.0, 48.0, 53.0]

    replay(database, "passed", START + 50 * MINUTE)
    pause(database, "means")
    last = result_log(tmp_path, "means").last
    hours = [0]
    with Station(database, tmp_path) as station:
        roster = Roster(station, database.catalog.queries(), on="spark", clock=lambda: hours[0])
        roster.begin()
        assert list(station.queries) == ["passed"]
        finish(station)
        assert passed(database) == list(range(50, 60))
        resume(database, "means")
        hours[0] += HOUR
        roster.look()
        assert list(station.queries) == ["passed", "means"]
        pause(database, "means")
        hours[0] += HOUR
        roster.look()
        assert list(station.queries) == ["passed"]
    assert result_log(tmp_path, "means").last == last

    readers = LogDirectory(tmp_path).log("air").readers()
    kept = sorted(path.name for path in (tmp_path / ".nilometer").iterdir())
    question = database.sql("SELECT x FROM air WHERE x >= 58")
    assert list(question.live(start="beginning", on="spark")) == [{"x": 58.0}, {"x": 59.0}]
    assert LogDirectory(tmp_path).log("air").readers() == readers
    # The lock of the owner that the query embedded stays, and is free.
    left = sorted(path.name for path in (tmp_path / ".nilometer").iterdir() if path.name != "owner.lock")
    assert left == [name for name in kept if name != "owner.lock"]
