"""Joins over files are what DuckDB makes of the same rows: every window that holds a row, to the last one."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

import nilometer
from nilometer.types import SECOND, parse_time

duckdb = pytest.importorskip("duckdb")

BASE = parse_time("2026-01-01T00:00:00Z")
COLUMNS = {"time": pl.Int64, "id": pl.Int64, "v": pl.Int64}
WINDOWS = [(4, 4), (6, 2), (9, 3), (2, 5)]
"""Range and slide, in seconds."""


def rows(seed: int, count: int, last: int) -> list[dict[str, Any]]:
    """Readings in the order of time, with ties and NULLs; `last` bounds their times."""
    chosen = random.Random(seed)
    times = sorted(chosen.randrange(last * 2) * SECOND // 2 for _ in range(count))
    return [
        {"time": BASE + at, "id": chosen.choice((1, 2, 3, None)), "v": chosen.randrange(5)} for at in times
    ]


@pytest.fixture(params=range(3))
def logs(request: pytest.FixtureRequest) -> dict[str, list[dict[str, Any]]]:
    # The second stream ends earlier than the first, begins later, or is empty.
    seed = request.param
    later = [row for row in rows(seed + 10, 20, 30) if row["time"] >= BASE + 20 * SECOND]
    return {"a": rows(seed, 25, 30), "b": [rows(seed + 10, 20, 12), later, []][seed]}


def ours(logs: dict[str, list[dict[str, Any]]], sql: str) -> list[tuple[Any, ...]]:
    database = nilometer.connect()
    database.execute("CREATE STREAM a (v INT) PUSHED; CREATE STREAM b (v INT) PUSHED")
    for name, readings in logs.items():
        database.append(name, readings)
    return sorted(database.sql(sql).run("gateway").given.rows(), key=str)


def theirs(logs: dict[str, list[dict[str, Any]]], sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for name, readings in logs.items():
            connection.register(name, pl.DataFrame(readings, schema=COLUMNS).to_arrow())
        return sorted(connection.sql(sql).fetchall(), key=str)


def windowed(length: int, slide: int) -> str:
    """Every window of both streams that holds a row, with the tick at which it is evaluated."""
    parts = []
    for name in ("a", "b"):
        first = f"(SELECT (min(time) + {slide * SECOND - 1}) // {slide * SECOND} FROM {name})"
        last = f"(SELECT (max(time) + {length * SECOND}) // {slide * SECOND} FROM {name})"
        parts.append(
            f"w{name} AS (SELECT n * {slide * SECOND} AS tick, {name}.* "
            f"FROM generate_series({first}, {last}) AS g(n), {name} "
            f"WHERE time <= n * {slide * SECOND} AND time > n * {slide * SECOND} - {length * SECOND})"
        )
    return "WITH " + ", ".join(parts)


@pytest.mark.parametrize("kind", ["INNER", "LEFT", "RIGHT", "FULL"])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows(logs: dict[str, list[dict[str, Any]]], kind: str, window: tuple[int, int]) -> None:
    length, slide = window
    brackets = f"[RANGE {length} SECONDS SLIDE {slide} SECONDS]"
    for link in ("a.id = b.id", "a.v < b.v", "a.id = b.id AND a.v > 2"):
        found = ours(logs, f"SELECT a.id, a.v, b.v AS w FROM a {brackets} {kind} JOIN b {brackets} ON {link}")
        expected = theirs(
            logs,
            f"{windowed(length, slide)} SELECT coalesce(a.tick, b.tick), a.id, a.v, b.v "
            f"FROM wa a {kind} JOIN wb b ON a.tick = b.tick AND {link}",
        )
        assert found == expected


@pytest.mark.parametrize("kind", ["INNER", "LEFT", "RIGHT", "FULL"])
@pytest.mark.parametrize("width", [0, 1, 5])
def test_streams_within_a_window(logs: dict[str, list[dict[str, Any]]], kind: str, width: int) -> None:
    for link in ("a.id = b.id", "a.v < b.v", "a.id = b.id AND a.v > 2 AND b.v < 4"):
        found = ours(
            logs, f"SELECT a.time, a.v, b.v AS w FROM a {kind} JOIN b ON {link} WINDOW = {width} SECONDS"
        )
        near = f"abs(a.time - b.time) <= {width * SECOND}"
        expected = theirs(logs, f"SELECT a.time, a.v, b.v FROM a {kind} JOIN b ON {link} AND {near}")
        assert found == expected


@pytest.mark.parametrize("kind", ["INNER", "LEFT"])
def test_intervals_that_are_not_symmetric(logs: dict[str, list[dict[str, Any]]], kind: str) -> None:
    ours_near = "b.time BETWEEN a.time - 1 SECONDS AND a.time + 4 SECONDS"
    near = f"b.time BETWEEN a.time - {SECOND} AND a.time + {4 * SECOND}"
    found = ours(logs, f"SELECT a.time, a.v, b.v AS w FROM a {kind} JOIN b ON a.id = b.id AND {ours_near}")
    expected = theirs(logs, f"SELECT a.time, a.v, b.v FROM a {kind} JOIN b ON a.id = b.id AND {near}")
    assert found == expected


@pytest.mark.parametrize("kind", ["INNER", "LEFT"])
def test_asof_after_the_end_of_the_right(logs: dict[str, list[dict[str, Any]]], kind: str) -> None:
    found = ours(logs, f"SELECT a.time, a.id, b.time AS at FROM a ASOF {kind} JOIN b ON a.id = b.id")
    expected = theirs(
        logs, f"SELECT a.time, a.id, b.time FROM a ASOF {kind} JOIN b ON a.id = b.id AND a.time >= b.time"
    )
    assert found == expected
