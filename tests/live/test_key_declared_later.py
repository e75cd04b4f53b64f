"""Random logs with doubles, late readings and NULLs, whose KEY was declared when part of them was written: every host says what a set of all
keys says, also when the station is killed in between; and what it costs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from log.logs import scratch
from nilometer.engine import Database, connect
from nilometer.live.standing import result_log
from nilometer.live.starts import BEGINNING
from nilometer.live.state_files import StateFiles
from nilometer.live.station import Station
from nilometer.log import LogDirectory, LogSettings
from nilometer.spark.admission import Admission
from nilometer.spark.job import Job, TablesAtHand, log_starts
from nilometer.spark.places import Places
from nilometer.spark.reading import admitted_rows
from nilometer.types import MINUTE, SECOND

START = 1_767_225_600_000_000
EVERY = "SELECT time, id, number FROM air"
Row = tuple[int, int | None, int | None]
"""Minute, id, number."""


def field(folder: Path, declared: str) -> Database:
    """A stream that is a folder of files, replayed."""
    (folder / "in").mkdir(exist_ok=True)
    (folder / "schema.sql").write_text(
        f"CREATE STREAM air (number INT) PUSHED FROM 'directory://{folder}/in?batch=3' {declared};"
    )
    return connect(folder)


def frame(rows: list[Row]) -> pl.DataFrame:
    schema = {"time": pl.Int64, "id": pl.Int64, "number": pl.Int64}
    stamped = [(START + minute * MINUTE, source, number) for minute, source, number in rows]
    return pl.DataFrame(stamped, schema=schema, orient="row")


def naive(rows: list[Row], key: tuple[str, ...], delay: int) -> tuple[list[Row], int]:
    """The accepted ones, and how many are late."""
    seen: set[tuple[Any, ...]] = set()
    accepted, late, watermark = [], 0, -1_000
    for row in rows:
        found = tuple(dict(zip(("time", "id", "number"), row, strict=True))[name] for name in key)
        if key and found in seen:
            continue
        seen.add(found)
        if row[0] < watermark:
            late += 1
            continue
        watermark = max(watermark, row[0] - delay)
        accepted.append(row)
    return accepted, late


def finish(station: Station) -> None:
    deadline = time.monotonic() + 60
    station.run(lambda: time.monotonic() > deadline)
    assert station.finished


def on_spark(database: Database, folder: Path, limit: int, tasks: int) -> list[tuple[Any, ...]]:
    """What the readers of micro-batches make of the log, in pieces that know nothing of each other."""
    plan = database.sql(EVERY).physical
    streams = {"air": database.catalog.stream("air")}
    job = Job("test", plan, TablesAtHand(), str(folder), log_starts(str(folder), streams), 2, 2)
    job.keep_keys()
    places, end, found = Places.at(job.start), job.logs["air"].end, []
    admission = Admission(job.streams, job.logs)
    while places.streams["air"].offset < end:
        following = admission.latest(places, limit)
        for pieces in admission.pieces(places, following, tasks):
            found += [admitted_rows(job, piece)[0].select("time", "id", "number") for piece in pieces]
        places = following
    return [row for rows in found for row in rows.rows()]


rows = st.tuples(st.integers(0, 12), st.sampled_from([1, 2, None]), st.sampled_from([0, 1, 2, None]))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    before=st.lists(st.lists(rows, min_size=1, max_size=8), max_size=5),
    after=st.lists(rows, max_size=20),
    key=st.sampled_from([("id", "time"), ("id", "number"), ("time",), ("number",)]),
    delay=st.sampled_from([0, 3, 100]),
    turns=st.integers(0, 6),
    cut=st.tuples(st.integers(1, 9), st.integers(1, 3)),
)
def test_every_host_agrees(
    before: list[list[Row]],
    after: list[Row],
    key: tuple[str, ...],
    delay: int,
    turns: int,
    cut: tuple[int, int],
) -> None:
    with scratch() as name:
        folder = Path(name)
        plain = field(folder, f"DELAY {delay} MINUTES")
        with LogDirectory(folder, LogSettings(segment_bytes=1_500)).log(plain.catalog.stream("air")) as log:
            for batch in before:
                log.append(frame(batch))
        database = field(folder, f"DELAY {delay} MINUTES KEY ({', '.join(key)})")
        accepted, late = naive([row for batch in before for row in batch], key, delay)
        expected = frame(accepted).rows()
        for host in ("reference", "gateway", "fjord"):
            assert sorted(database.sql(EVERY).run(host).rows, key=str) == sorted(expected, key=str), host
        assert on_spark(database, folder, *cut) == expected

        frame(after).write_csv(folder / "in" / "a.csv")
        with Station(database, folder) as station:
            station.install(database.sql(EVERY), "every", start=BEGINNING, durable=True)
            left = iter(range(turns))
            station.run(lambda: next(left, None) is None)
            station.abandon()
        with Station(database, folder) as station:
            standing = station.install(database.sql(EVERY), "every", start=BEGINNING, durable=True)
            live = station.install(database.sql(EVERY), start=BEGINNING)
            finish(station)
            found = [row for answer in live.take() for row in answer.rows]
            whole = [row for batch in before for row in batch] + after
            accepted, late = naive(whole, key, delay)
            expected = frame(accepted).rows()
            assert sorted(found, key=str) == sorted(expected, key=str)
            for each in (standing, live):
                assert each.ledger.balanced
                assert (each.ledger.read, each.ledger.late) == (len(expected) + late, late)
        answers = [row for rows in result_log(folder, "every").answers() for row in rows.rows()]
        assert sorted(answers, key=str) == sorted(expected, key=str)
        for host in ("reference", "gateway", "fjord"):
            answer = database.sql(EVERY).run(host)
            assert sorted(answer.rows, key=str) == sorted(expected, key=str), host
            if host != "reference":
                books = answer.ledgers["air"]
                doubles = len(whole) - len(expected) - late
                assert books["late"] == late
                assert books["accepted"] == len(expected)
                # Those that came under the KEY never got into the log.
                assert books["read"] == books["duplicate"] + books["late"] + books["accepted"]
                assert books["duplicate"] <= doubles
        assert on_spark(database, folder, *cut) == expected


COUNT = "SELECT COUNT(*) AS n FROM air [RANGE 10 MINUTES SLIDE 10 MINUTES]"


def sizes(folder: Path, readings: int, *, later: bool) -> list[int]:
    """The bytes of the checkpoints of ten queries over so many readings."""
    database = field(folder, "" if later else "KEY (id, time)")
    with LogDirectory(folder).log(database.catalog.stream("air")) as log:
        log.keep_key()
        for first in range(0, readings, 50_000):
            numbers = np.arange(first, min(first + 50_000, readings))
            if later:
                numbers = np.concatenate([numbers, numbers[::10]])
            times = START + numbers // 100 * SECOND
            log.append(pl.DataFrame({"time": times, "id": numbers % 100, "number": numbers}).cast(pl.Int64))
    database = field(folder, "DELAY 1 HOUR KEY (id, time)")
    with Station(database, folder) as station:
        for number in range(10):
            live = station.install(database.sql(COUNT), f"q{number}", start=BEGINNING, durable=True)
        finish(station)
        assert (live.ledger.read, live.ledger.late) == (readings, 0)
    found = []
    for number in range(10):
        kept = StateFiles(folder).load(f"q{number}")
        assert kept is not None
        found.append(sum(len(data) for panes in kept.panes.values() for data in panes.values()))
    return found


@pytest.mark.promise("keys-bound")
@pytest.mark.slow
@pytest.mark.parametrize("later", [False, True])
def test_the_state_of_a_query_does_not_grow_with_its_readings(tmp_path: Path, later: bool) -> None:
    """With the KEY from the beginning on, and declared when the log has a tenth of its readings twice."""
    for name in ("few", "many"):
        (tmp_path / name).mkdir()
    few = sizes(tmp_path / "few", 60_000, later=later)
    many = sizes(tmp_path / "many", 600_000, later=later)
    assert max(many) < 100_000
    # The window's own state is the same; numbers get a digit longer.
    assert max(many) <= max(few) + 2_000, (few, many)
