"""EXPLAIN says why a guided query may read few sensors."""

from __future__ import annotations

import nilometer


def notes(text: str) -> list[str]:
    made = nilometer.connect()
    made.execute(
        """CREATE STREAM air (v INT, w FLOAT, place POINT) PUSHED EXPECT EVERY 1 SECOND COORDINATES 'm';
        CREATE VIEW moved AS SELECT id, v AS level, place FROM air;
        CREATE PHENOMENON high ON air.v ABOVE 5 RANGE 4 SECONDS WHERE w < 9;
        CREATE PHENOMENON some ON air.v BETWEEN 5 AND 8 RANGE 4 SECONDS;
        CREATE PHENOMENON seen ON moved.level ABOVE 5 RANGE 4 SECONDS SLIDE 1 SECOND;"""
    )
    lines = made.sql(text).explain("physical").splitlines()
    return [line.removeprefix("-- proved: ") for line in lines if line.startswith("-- proved")]


def test_the_proof_is_printed() -> None:
    assert notes("SELECT id FROM air WHERE v > 6 AND w < 3 GUIDED BY high") == [
        "v > 6 AND w < 3.0 implies v > 5.0 AND w < 9.0, so air is read at 'high' and 1 step around alone"
    ]
    assert notes("SELECT id FROM air WHERE v >= 6 AND v < 8 GUIDED BY some REACH 0") == [
        "v >= 6 AND v < 8 implies v >= 5.0 AND v <= 8.0, so air is read at 'some' alone"
    ]
    assert notes("SELECT id FROM air WHERE v > 6 GUIDED BY seen REACH 2") == [
        "v > 6 implies v > 5.0, so air is read at 'seen' and 2 steps around alone"
    ]


def test_inside_proves_nothing_by_itself() -> None:
    assert notes("SELECT id FROM air WHERE INSIDE(high)") == []
    assert notes("SELECT id FROM air WHERE v > 2 AND INSIDE(high)") == []
