"""A data directory with one keyed stream and standing queries, and the judge of what is in it after the storm."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl

import nilometer
from nilometer.engine import Database
from nilometer.live.books import query_books, stream_books
from nilometer.live.standing import result_log
from nilometer.log import LogDirectory, StreamLog
from nilometer.plan.reference import same_answer
from storm.publishers import Reading, value_of

QUERIES = {
    "every": "SELECT time, id, pm25 FROM air",
    "high": "SELECT time, id, pm25 * 2 AS double FROM air WHERE pm25 > 5",
    "means": "SELECT id, AVG(pm25) AS mean, COUNT(*) AS n FROM air [RANGE 3 SECONDS SLIDE 1 SECOND] GROUP BY id",
}


def write_schema(folder: Path, url: str, topic: str = "air") -> None:
    """The stream and its queries; `url` is the broker's."""
    stream = f"CREATE STREAM air (pm25 FLOAT) PUSHED FROM '{url}/{topic}/{{id}}?retry=50ms' DELAY 2 SECONDS KEY (id, time);\n"
    queries = "".join(
        f"CREATE QUERY {name} STARTING AT BEGINNING AS {sql};\n" for name, sql in QUERIES.items()
    )
    (folder / "schema.sql").write_text(stream + queries)


def database(folder: Path) -> Database:
    """As another process sees it."""
    return nilometer.connect(folder)


def logged(folder: Path) -> list[tuple[int, int, float]]:
    """The rows of the stream's log."""
    frames = [frame.select("time", "id", "pm25") for frame in LogDirectory(folder).log("air").scan()]
    return [row for frame in frames for row in frame.rows()]


def check_books(folder: Path) -> None:
    """At any moment: each reading at most once and as it was sent; the books balance and agree with the log."""
    rows = logged(folder)
    doubled = [row for row, count in Counter(row[:2] for row in rows).items() if count > 1]
    assert not doubled, f"doubled: {doubled[:3]} of {len(doubled)}"
    assert all(value == value_of(time, sensor) for time, sensor, value in rows)
    found = database(folder)
    for books in stream_books(found):
        assert books["balanced"], books
        assert books["appended"] == len(rows), books
    for books in query_books(found):
        assert books["balanced"], books
        assert books["read"] <= len(rows), books


def check_all(folder: Path, acknowledged: set[Reading], judge: str = "reference") -> int:
    """In the end: nothing acknowledged is lost, nothing is doubled, and every standing query has answered for all of it, once.
    Gives how many rows the log holds."""
    check_books(folder)
    rows = logged(folder)
    lost = acknowledged - {(time, sensor) for time, sensor, _ in rows}
    assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged readings are lost, such as {min(lost)}"
    found = database(folder)
    for name, sql in QUERIES.items():
        expected = found.sql(sql).run(judge, finished=False)
        frames = list(result_log(folder, name).answers())
        given = pl.concat(frames).rows() if frames else []
        difference = same_answer(expected.rows, given)
        assert difference is None, f"{name}: {difference}"
        assert StreamLog(result_log(folder, name).files).verify().damages == ()
    for books in query_books(found):
        assert books["read"] == len(rows), books
    verdict = LogDirectory(folder).log("air").verify()
    assert not verdict.damages, verdict
    return len(rows)
