"""Answers as DataFrames, and DataFrames as streams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import nilometer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SCHEMA = "CREATE STREAM river (id INT, time TIME, depth FLOAT) PUSHED DELAY 2 SECONDS;"
QUESTION = "SELECT id, AVG(depth) AS mean FROM river [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY id"
ROWS = [{"id": n % 3, "time": f"2026-01-01T00:00:{n:02}Z", "depth": float(n)} for n in range(20)]


def test_a_frame_is_typed_and_composes(spark: SparkSession) -> None:
    database = nilometer.connect()
    database.execute(SCHEMA)
    database.append("river", ROWS)
    query = database.sql(QUESTION)
    frame = query.dataframe(streaming=False)
    assert dict(frame.dtypes) == {"tick": "timestamp", "id": "bigint", "mean": "double"}
    found = frame.where("mean > 10").select("id", "mean").collect()
    expected = [(row["id"], row["mean"]) for row in query if row["mean"] > 10]
    assert sorted(tuple(row) for row in found) == sorted(expected)


def test_a_streaming_frame_becomes_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    files, field = tmp_path / "files", tmp_path / "field"
    field.mkdir()
    (field / "schema.sql").write_text(SCHEMA)
    frame = spark.createDataFrame(
        [(r["id"], r["time"], r["depth"]) for r in ROWS], "id long, time string, depth double"
    )
    frame.selectExpr("id", "CAST(time AS TIMESTAMP) AS time", "depth").coalesce(1).write.parquet(str(files))
    database = nilometer.connect(field)
    source = spark.readStream.schema("id long, time timestamp, depth double").parquet(str(files))
    for _ in range(2):  # a second time there is nothing new
        with database.stream_from(source, "river", available_now=True) as landing:
            landing.wait()
            assert landing.ledger.appended == len(ROWS)
    again = nilometer.connect()
    again.execute(SCHEMA)
    again.append("river", ROWS)
    assert list(nilometer.connect(field).sql(QUESTION)) == list(again.sql(QUESTION))
