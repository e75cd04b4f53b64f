"""A poison reading does not stop a standing query on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import nilometer
from poison import FIRST, SECOND_PART, feed, field, judge, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.promise("poison-everywhere")
@pytest.mark.spark
def test_poison_readings_stop_nobody_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    feed(tmp_path, "a", FIRST)
    feed(tmp_path, "b", SECOND_PART)
    database = field(tmp_path)
    assert run(database, tmp_path, "spark")["twice"] == "integer overflow in s.n * 2"
    judge(database, tmp_path)


@pytest.mark.spark
def test_a_question_sets_aside_what_a_function_fails_on(spark: SparkSession) -> None:
    database = nilometer.connect()
    database.execute("CREATE STREAM p (n INT) PUSHED")
    database.execute("CREATE FUNCTION two_to(x INT, n INT) RETURNS INT AS 'numpy:power'")
    database.append("p", [{"time": k, "id": i, "n": n} for k, i, n in ((1, 1, 4), (2, 2, -9), (3, 2, 16))])
    text = "SELECT id, SUM(two_to(2, n)) AS s FROM p [RANGE 9 SECONDS SLIDE 9 SECONDS] GROUP BY id"
    for host in ("spark", "gateway"):
        answer = database.sql(text).run(host)
        assert sorted(answer.rows) == [(9_000_000, 1, 16), (9_000_000, 2, 65_536)]
        (note,) = answer.notes
        assert note.startswith("1 row is set aside: the function numpy:power failed: ValueError: Integers to")
        assert note.endswith("(the first: id 2, p.n -9)")
