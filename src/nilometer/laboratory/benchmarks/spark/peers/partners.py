"""The number of earlier readings of other sensors, at most ten seconds old, with a reading's value: Spark's
self-join and a count.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

WINDOW = "INTERVAL 10 SECONDS"


def partners(streams: Mapping[str, DataFrame]) -> DataFrame:
    """An inner join: a reading without a partner gives no row on our side either."""
    readings = streams["readings"]
    mine = readings.select("time", "id", "v")
    theirs = readings.select(f.col("time").alias("t"), f.col("id").alias("other"), f.col("v").alias("w"))
    earlier = f.expr(f"t >= time - {WINDOW} AND (t < time OR (t = time AND other < id))")
    pairs = mine.join(theirs, (f.col("v") == f.col("w")) & (f.col("id") != f.col("other")) & earlier)
    return pairs.groupBy("time", "id").agg(f.count("*").alias("matches"))
