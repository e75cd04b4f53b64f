"""EXPLAIN's stage `demand` says what sensors would be told."""

from __future__ import annotations

import nilometer

SCHEMA = """
CREATE STREAM river (depth INT) SENSED EVERY 15 MINUTES;
CREATE STREAM air (pm25 FLOAT) PUSHED;
CREATE SENSOR 1 OF river WITH kind = 'gauge';
CREATE SENSOR 2 OF river WITH kind = 'float';
"""


def told(query: str) -> list[str]:
    database = nilometer.connect()
    database.execute(SCHEMA)
    return database.sql(query).explain("demand").splitlines()


def test_a_window_of_single_ticks_asks_for_no_more() -> None:
    lines = told("SELECT depth FROM river [NOW SLIDE 1 HOUR] WHERE depth > 60 AND id = 2")
    assert lines[0] == "river: depth, id; WHERE depth > 60 AND id = 2; EVERY 1 HOUR"
    assert lines[1] == "  1 of 2 sensors: takes a reading every 1 hour and sends those with depth > 60"
    assert lines[2] == "  1 of 2 sensors: may sleep, if no other query needs them"


def test_a_window_of_other_ticks_asks_for_all() -> None:
    assert "EVERY 15 MINUTES" in told("SELECT depth FROM river [AT NOW - 15 MINUTES SLIDE 1 HOUR]")[0]
    assert "EVERY 15 MINUTES" in told("SELECT depth FROM river [NOW SLIDE 20 MINUTES]")[0]


def test_a_summary_and_a_stream_without_a_rate() -> None:
    lines = told("SELECT AVG(depth) AS m FROM river [RANGE 1 HOUR SLIDE 1 HOUR]")
    assert "  AVG(depth) PER 1 HOUR would be enough for this query" in lines
    lines = told("SELECT pm25 FROM air")
    assert lines[1] == "  every sensor that is heard: takes readings at its own rate and sends all of them"
    assert lines[2].startswith("  -- the stream declares no rate")


def test_a_query_without_streams() -> None:
    assert told("SELECT 1 AS one") == ["the query reads no stream"]
