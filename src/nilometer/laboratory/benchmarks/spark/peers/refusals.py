"""Stock Spark's errors for the plain form of queries for which it has no streaming operator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from nilometer.laboratory.benchmarks.spark.peers.micro_batches import Folder, streams
from nilometer.laboratory.benchmarks.spark.peers.run import Query


def plain_row_window(inputs: Mapping[str, DataFrame]) -> DataFrame:
    """As one would write it over a table."""
    frame = Window.orderBy("time").rowsBetween(-99, 0)
    return inputs["readings"].select("time", f.avg("v").over(frame).alias("mean"))


def plain_asof_join(inputs: Mapping[str, DataFrame]) -> DataFrame:
    """Spark's own as-of join, the one behind pandas-on-Spark's `merge_asof`."""
    left, right = inputs["a"], inputs["b"]
    return left._joinAsOf(right, left["time"], right["time"], on="id", how="left").select(
        left["time"], left["id"], "x", "y"
    )


def refusal(session: SparkSession, query: Query, folders: Mapping[str, Folder], place: Path) -> str | None:
    """The name of Spark's error when the query is started; None if it runs after all."""
    try:
        writer = query(streams(session, folders)).writeStream.format("noop").outputMode("append")
        running = writer.option("checkpointLocation", str(place)).trigger(availableNow=True).start()
    except PySparkException as error:
        condition = error.getCondition() or ""
        if condition and not condition.startswith("_LEGACY"):
            return condition
        return str(error).splitlines()[0].split("]")[-1].strip()
    running.stop()
    return None
