"""Measured statistics change the plan of a query, never its answer, and not the plan of a standing query."""

from __future__ import annotations

from pathlib import Path

import nilometer
from nilometer.engine.measuring import column_record, measure_streams, stream_record

SCHEMA = """
CREATE STREAM air (pm25 INT) PUSHED;
CREATE STREAM wind (speed INT) PUSHED;
"""
JOIN = "SELECT a.pm25, w.speed FROM air [RANGE 1 MINUTE SLIDE 1 MINUTE] a, wind [RANGE 1 MINUTE SLIDE 1 MINUTE] w WHERE a.id = w.id AND a.pm25 > {}"


def field(directory: Path) -> nilometer.Database:
    (directory / "schema.sql").write_text(SCHEMA)
    times = [f"2026-03-01T00:00:{second:02}Z" for second in range(60)]
    readings = [f"{time},{place % 4},{{}}" for place, time in enumerate(times)]
    (directory / "air.csv").write_text(
        "time,id,pm25\n" + "\n".join(row.format(n) for n, row in enumerate(readings))
    )
    (directory / "wind.csv").write_text(
        "time,id,speed\n" + "\n".join(row.format(n) for n, row in enumerate(readings[::3]))
    )
    return nilometer.connect(directory)


def first_leaf(query: nilometer.engine.Query) -> str:
    return next(
        line.split()[1].strip("[") for line in query.explain("physical").splitlines() if "SP_ACQUIRE" in line
    )


def test_the_plan_follows_the_values(tmp_path: Path) -> None:
    database = field(tmp_path)
    low, high = JOIN.format(0), JOIN.format(57)
    assert first_leaf(database.sql(low)) == first_leaf(database.sql(high))
    before = [sorted(map(str, database.sql(text))) for text in (low, high)]
    found = {one.stream: one for one in measure_streams(database)}
    assert found["air"].sources == 4
    assert found["wind"].readings == 20
    assert first_leaf(database.sql(low)) == "wind"
    assert first_leaf(database.sql(high)) == "air"
    assert [sorted(map(str, database.sql(text))) for text in (low, high)] == before
    # State is kept for a standing query, so its plan must not change with the readings.
    assert first_leaf(database.sql(low).standing()) == first_leaf(database.sql(high).standing())


def test_what_people_read(tmp_path: Path) -> None:
    database = field(tmp_path)
    air = next(one for one in measure_streams(database) if one.stream == "air")
    record = stream_record(air)
    assert record["interval"] == "4 SECONDS"
    assert record["rate"] == "1/s"
    assert record["garbled"] == "0 %"
    pm25 = air.column("pm25")
    assert pm25 is not None
    shown = column_record("air", pm25)
    assert (shown["least"], shown["greatest"], shown["distinct"]) == (0, 59, 60)
