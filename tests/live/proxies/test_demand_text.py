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
    assert lines[1] == (
        "  2 of 2 sensors: takes a reading every 15 minutes and sends every 1 hour one summary of all of them:"
        " how many, count and sum of depth"
    )
    lines = told("SELECT STDEV(depth) AS m FROM river [RANGE 1 HOUR SLIDE 1 HOUR]")
    assert "  STDEV(depth) PER 1 HOUR would be enough for this query, but a sensor cannot compute it" in lines
    lines = told("SELECT MAX(id) AS m FROM river [RANGE 1 HOUR SLIDE 1 HOUR]")
    assert lines[1].endswith("and sends all of them, but in 1 hour no repetition of id")
    lines = told("SELECT pm25 FROM air")
    assert lines[1] == "  every sensor that is heard: takes readings at its own rate and sends all of them"
    assert lines[2].startswith("  -- the stream declares no rate")


def test_which_query_asks_for_which_part() -> None:
    database = nilometer.connect()
    database.execute(
        SCHEMA + "CREATE QUERY deep AS SELECT time, depth FROM river WHERE depth > 90 AND id = 2;"
        " CREATE QUERY top AS SELECT MAX(depth) AS top FROM river [RANGE 2 HOURS SLIDE 1 HOUR];"
    )
    text = "SELECT AVG(depth) AS m FROM river [RANGE 1 HOUR SLIDE 30 MINUTES]"
    assert database.sql(text).explain("demand").splitlines()[-8:] == [
        "  with the declared queries, 1 of 2 sensors: takes a reading every 15 minutes and sends every 30 minutes"
        " one summary of all of them: how many, count and max and sum of depth",
        "    -- this query asks for depth; EVERY 15 MINUTES; AS AVG(depth) PER 30 MINUTES",
        "    -- top asks for depth; EVERY 15 MINUTES; AS MAX(depth) PER 1 HOUR",
        "  with the declared queries, 1 of 2 sensors: takes a reading every 15 minutes and sends all of them",
        "    -- this query asks for depth; EVERY 15 MINUTES; AS AVG(depth) PER 30 MINUTES",
        "    -- deep asks for depth, id, time; WHERE depth > 90; EVERY 15 MINUTES",
        "    -- top asks for depth; EVERY 15 MINUTES; AS MAX(depth) PER 1 HOUR",
        "    -- no summary: deep needs readings",
    ]


def test_a_query_without_streams() -> None:
    assert told("SELECT 1 AS one") == ["the query reads no stream"]


def test_what_follows_a_phenomenon() -> None:
    guide = "GUIDE FAST 15 MINUTES IDLE 1 HOUR REACH 2"
    high = f"CREATE PHENOMENON high ON river.depth ABOVE 60 RANGE 2 HOURS {guide};"
    database = nilometer.connect()
    database.execute(SCHEMA + high)
    assert database.sql("SELECT time, id FROM PHENOMENA(high)").explain("demand").splitlines() == [
        "river: depth; EVERY 15 MINUTES -- of sensors at 'high', 2 hops around",
        "river: depth; EVERY 1 HOUR -- of all others",
        "  -- these are demands of the phenomenon's own, while a query follows it: phenomenon high",
        "  -- who is there changes as it moves: nilometer log demand shows what was asked when",
    ]
    text = "SELECT time, depth FROM river WHERE depth > 70 GUIDED BY high"
    assert "SENSORS OF high HOPS 2" in database.sql(text).explain("physical")
    lines = database.sql(text).explain("demand").splitlines()
    asked = (
        "river: depth, id, time; WHERE depth > 70; EVERY 15 MINUTES -- of sensors at 'high', 2 hops around"
    )
    assert asked in lines
