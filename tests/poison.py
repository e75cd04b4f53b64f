"""A field with poison readings: what standing queries over it answer, and which rows they set aside."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

import nilometer
from nilometer.engine import Database
from nilometer.live.books import query_books
from nilometer.live.dead_letters import dead_letters
from nilometer.live.query_list import RunState
from nilometer.live.roster import Roster
from nilometer.live.station import Station
from nilometer.types import INT_MAXIMUM, SECOND

START = 1_767_225_600 * SECOND
SCHEMA = """
CREATE STREAM s (n INT) PUSHED FROM 'directory://{folder}/in' DELAY 1 SECOND;
CREATE QUERY twice STARTING AT BEGINNING {stop} AS SELECT id, n * 2 AS m FROM s;
CREATE QUERY total STARTING AT BEGINNING AS
  SELECT id, SUM(n) AS t FROM s [RANGE 5 SECONDS SLIDE 5 SECONDS] GROUP BY id;
CREATE QUERY argument STARTING AT BEGINNING AS
  SELECT COUNT(*) AS c, SUM(n * 2) AS t FROM s [RANGE 5 SECONDS SLIDE 5 SECONDS];
"""
FIRST = [(1, 1, 5), (2, 2, INT_MAXIMUM), (3, 2, 1), (7, 1, 3)]
SECOND_PART = [(8, 2, INT_MAXIMUM - 1), (9, 2, 4), (13, 1, 6), (17, 1, 0)]
TWICE = [(1, 10), (2, 2), (1, 6), (2, 8), (1, 12), (1, 0)]
TOTAL = [(5, 1, 5), (10, 1, 3), (15, 1, 6)]
ARGUMENT = [(5, 2, 12), (10, 2, 14), (15, 1, 12)]


def feed(folder: Path, name: str, rows: list[tuple[int, int, int]]) -> None:
    (folder / "in").mkdir(exist_ok=True)
    frame = pl.DataFrame(rows, schema=["time", "id", "n"], orient="row")
    frame.with_columns(pl.col("time") * SECOND + START).write_csv(folder / "in" / f"{name}.csv")


def field(folder: Path, stop: str = "") -> Database:
    (folder / "schema.sql").write_text(SCHEMA.format(folder=folder, stop=stop))
    (folder / "nilometer.toml").write_text("[spark]\nbuckets = 2\n")
    return nilometer.connect(folder)


def run(
    database: Database, folder: Path, on: str = "gateway", *, crash: bool = False
) -> dict[str, str | None]:
    """A life of the queries, until their files end. Returns why each set a row aside last."""
    with Station(database, folder) as station:
        roster = Roster(station, database.catalog.queries(), on=on)
        roster.begin()
        deadline = time.monotonic() + 300
        station.run(lambda: time.monotonic() > deadline)
        assert station.finished
        said = {live.name: live.dead for live in station.queries.values()}
        roster.show()
        if crash:
            station.abandon()
    return said


def rows_of(database: Database, name: str) -> list[Any]:
    rows = [tuple(row.values()) for row in database.answers(name)]
    return [tuple(value.second if isinstance(value, datetime) else value for value in row) for row in rows]


def judge(database: Database, folder: Path) -> None:
    assert sorted(rows_of(database, "twice")) == sorted(TWICE)
    assert sorted(rows_of(database, "total")) == sorted(TOTAL)
    assert sorted(rows_of(database, "argument")) == sorted(ARGUMENT)
    for books in query_books(database):
        assert books["balanced"], books
        assert books["read"] == len(FIRST) + len(SECOND_PART)
        assert books["failed"] + books["errors"] == 2, books
        assert (books["failed"] == 0) == (books["query"] == "total")
    states = {one.name: (one.state, one.dead) for one in database.queries()}
    assert states == dict.fromkeys(("twice", "total", "argument"), (RunState.STOPPED, 2))
    letters = dead_letters(folder, "twice")
    assert [(one["id"], one["position"], one["row"]["s.n"]) for one in letters] == [
        (2, 1, INT_MAXIMUM),
        (2, 4, INT_MAXIMUM - 1),
    ]
    assert {one["reason"] for one in letters} == {"integer overflow in s.n * 2"}
    assert len(dead_letters(folder, "argument")) == 2
    totals = dead_letters(folder, "total")
    assert sorted(one["time"] for one in totals) == ["2026-01-01T00:00:05Z", "2026-01-01T00:00:10Z"]
    assert all("SUM" in one["reason"] for one in totals)
