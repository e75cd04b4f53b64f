"""Readings of the same sensor in three or four streams, every two at most some seconds apart: Spark's
interval joins in a chain.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from nilometer.laboratory.benchmarks.spark.peers.run import Query

COLUMNS = {"a": "x", "b": "y", "c": "z", "d": "u"}


def chained_joins(seconds: int, count: int) -> Query:
    """Join the first stream with the second, both with the third, and so on. Each join's condition bounds it
    against all streams before it."""

    def query(streams: Mapping[str, DataFrame]) -> DataFrame:
        names = list(COLUMNS)[:count]
        own = {
            name: streams[name].select(
                f.col("time").alias(f"t_{name}"), f.col("id").alias(f"id_{name}"), COLUMNS[name]
            )
            for name in names
        }
        joined = own[names[0]]
        for number, name in enumerate(names[1:], start=1):
            condition = f.col(f"id_{names[0]}") == f.col(f"id_{name}")
            for before in names[:number]:
                near = f"t_{name} >= t_{before} - INTERVAL {seconds} SECONDS AND t_{name} <= t_{before} + INTERVAL {seconds} SECONDS"
                condition = condition & f.expr(near)
            joined = joined.join(own[name], condition)
            # Spark allows one event time per stream: the first one's stays; the others' become plain timestamps.
            joined = joined.withColumn(f"t_{name}", f.expr(f"timestamp_micros(unix_micros(t_{name}))"))
        return joined.select(
            f.greatest(*(f"t_{name}" for name in names)).alias("time"),
            f.col(f"id_{names[0]}").alias("id"),
            *(COLUMNS[name] for name in names),
        )

    return query
