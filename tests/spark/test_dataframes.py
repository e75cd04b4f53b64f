"""Answers as DataFrames, and DataFrames as streams."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pytest

import nilometer
from nilometer.plan.reference import same_answer
from nilometer.spark.layout import Clock
from nilometer.spark.packing import ANSWER, Packet
from nilometer.spark.typed import arrow_schema, spark_schema, unpacker
from nilometer.types import INT, TIME, Column, Schema, list_of, struct_of
from spark.test_kill import append, empty_field

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


def test_every_type_has_its_column(spark: SparkSession) -> None:
    database = nilometer.connect()
    database.execute(
        "CREATE STREAM boats (name STRING, position POINT, moored BOOLEAN, berth INT) PUSHED DELAY 0 SECONDS;"
    )
    rows = [
        {
            "id": 1,
            "time": "2026-01-01T00:00:01Z",
            "name": "a",
            "position": [1.0, 2.0],
            "moored": True,
            "berth": 7,
        },
        {
            "id": 2,
            "time": "2026-01-01T00:00:02Z",
            "name": None,
            "position": None,
            "moored": None,
            "berth": None,
        },
    ]
    database.append("boats", rows)
    query = database.sql("SELECT *, time - TIME '2026-01-01T00:00:00Z' AS since, NULL AS nothing FROM boats")
    frame = query.dataframe(streaming=False)
    assert dict(frame.dtypes) == {
        "time": "timestamp",
        "id": "bigint",
        "name": "string",
        "position": "struct<x:double,y:double>",
        "moored": "boolean",
        "berth": "bigint",
        "since": "interval day to second",
        "nothing": "void",
    }
    first, second = frame.orderBy("id").collect()
    assert first.position.asDict() == {"x": 1.0, "y": 2.0}
    assert first.time.timestamp() == 1_767_225_601
    assert (first.name, first.moored, first.berth) == ("a", True, 7)
    assert first.since == timedelta(seconds=1)
    assert second[2:6] == (None, None, None, None)
    assert second.nothing is None


def test_lists_of_structs() -> None:
    schema = Schema(
        (Column("members", list_of(struct_of(Column("id", INT), Column("times", list_of(TIME))))),)
    )
    assert (
        spark_schema(schema).simpleString()
        == "struct<members:array<struct<id:bigint,times:array<timestamp>>>>"
    )
    members = [{"id": 4, "times": [1_000_000]}, None]
    dtype = pl.List(pl.Struct({"id": pl.Int64, "times": pl.List(pl.Int64)}))
    rows = pl.DataFrame({"members": [members]}, schema={"members": dtype})
    packet = Packet(0, ANSWER, 0, (0,), Clock(0, {}), rows).pack()
    (found,) = unpacker(schema)(iter([pa.RecordBatch.from_pydict({"packet": [packet]})]))
    assert found.schema == arrow_schema(schema)
    second = datetime.fromtimestamp(1, UTC)
    assert found.to_pylist() == [{"members": [{"id": 4, "times": [second]}, None]}]


def test_a_streaming_frame_goes_where_spark_writes(spark: SparkSession, tmp_path: Path) -> None:
    field = empty_field(tmp_path)
    (field / "nilometer.toml").unlink()  # the session of the tests, not one of its own
    append(field, 0, 300)
    query = nilometer.connect(field).query("windows")
    frame = query.dataframe().where("mean > 10").selectExpr("id", "mean * 2 AS twice")
    assert frame.isStreaming
    running = (
        frame.writeStream.format("memory")
        .queryName("twice")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
    )
    started = running.start()
    try:
        started.processAllAvailable()
        append(field, 300, 600)
        started.processAllAvailable()
    finally:
        started.stop()
    other = nilometer.connect(field).sql(query.text.replace("10 SECONDS", "20 SECONDS")).dataframe()
    unfit = (
        other.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    )
    with pytest.raises(Exception, match="this checkpoint does not fit"):
        unfit.processAllAvailable()
    assert not unfit.isActive
    found = [tuple(row) for row in spark.table("twice").collect()]
    given = query.run("gateway", finished=False)
    rows = [dict(zip(given.schema.names, row, strict=True)) for row in given.rows]
    expected = [(row["id"], row["mean"] * 2) for row in rows if row["mean"] > 10]
    assert expected
    assert same_answer(expected, found) is None


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


def test_a_new_checkpoint_takes_nothing_for_a_repeat(spark: SparkSession, tmp_path: Path) -> None:
    files, field = tmp_path / "files", tmp_path / "field"
    files.mkdir()
    field.mkdir()
    (field / "schema.sql").write_text(SCHEMA)
    database = nilometer.connect(field)
    source = spark.readStream.schema("id long, time timestamp, depth double").parquet(str(files))
    for time in range(2):
        spark.sql(
            f"SELECT {time} AS id, TIMESTAMP '2026-01-01 00:00:0{time}' AS time, 1.5D AS depth"
        ).write.parquet(str(files), mode="overwrite")
        with database.stream_from(source, "river", available_now=True) as landing:
            landing.wait()
            assert landing.ledger.appended == time + 1
        shutil.rmtree(field / ".nilometer" / "landings")
