"""Readings of the same sensor in two streams, at most two seconds apart: Spark's stream-stream interval join."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as f


def interval_join(streams: Mapping[str, DataFrame]) -> DataFrame:
    """Both sides have a watermark and a bounded interval, so that Spark can drop their state."""
    left, right = streams["a"].alias("a"), streams["b"].alias("b")
    near = f.expr("b.time >= a.time - INTERVAL 2 SECONDS AND b.time <= a.time + INTERVAL 2 SECONDS")
    return left.join(right, (f.col("a.id") == f.col("b.id")) & near).select(
        f.greatest("a.time", "b.time").alias("time"),
        f.col("a.id").alias("id"),
        f.col("a.x").alias("x"),
        f.col("b.y").alias("y"),
    )
