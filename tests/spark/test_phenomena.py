"""Phenomena on a real Spark: candidates in buckets, one tracker; the rows are those of the reference."""

from __future__ import annotations

import pytest

import nilometer
from nilometer.plan.reference import same_answer
from nilometer.types import SECOND

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.usefixtures("spark")]

DEFINITION = "ON air.v ABOVE 5 RANGE 2 SECONDS SLIDE 1 SECOND NEIGHBOURS WITHIN 2 M MEMBERS 2"


@pytest.fixture(scope="module")
def field() -> nilometer.Database:
    """Nine sensors in a row. Two plumes appear, meet, part again, and one goes."""
    database = nilometer.connect()
    database.execute("CREATE STREAM air (v FLOAT) PUSHED DELAY 1 SECOND COORDINATES 'm'")
    for sensor in range(9):
        database.execute(f"CREATE SENSOR {sensor} OF air AT ({sensor}, {sensor % 2})")
    high = [
        {0, 1, 6, 7},
        {0, 1, 2, 6, 7},
        {1, 2, 3, 4, 5, 6},
        {2, 3, 4, 5},
        {1, 2, 5, 6},
        {1, 2},
        {1, 2, 3},
        set(),
    ]
    readings = [
        {"time": second * SECOND, "id": sensor, "v": 8.0 + sensor if sensor in there else 1.0}
        for second, there in enumerate(high, 1)
        for sensor in range(9)
    ]
    # Out of order within DELAY.
    database.append(
        "air", sorted(readings, key=lambda row: (row["time"] + (row["id"] % 2) * SECOND, row["id"]))
    )
    return database


@pytest.mark.parametrize(
    "question",
    [f"PHENOMENA({DEFINITION})", f"ARRIVALS({DEFINITION} BUFFER 1 M, 3 SECONDS)", f"SUMMARY({DEFINITION})"],
)
def test_spark_gives_the_rows_of_the_reference(field: nilometer.Database, question: str) -> None:
    query = field.sql(f"SELECT * FROM {question}")
    expected = query.run("reference")
    assert len(expected), "a question without rows shows nothing"
    assert same_answer(expected.rows, query.run("spark").rows) is None
