"""Sliding averages by sensor, with Spark's own `window()`.

Spark's windows are half-open at the end, ours at the start: shifted by the microsecond that is the resolution of both, the
window that ends at T + 1 us holds exactly T - range < time <= T. The shift is `window()`'s own `startTime` and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as f


def hop(length: int, slide: int) -> Callable[[Mapping[str, DataFrame]], DataFrame]:
    """The mean of the last `length` seconds by sensor, every `slide` seconds."""

    def query(streams: Mapping[str, DataFrame]) -> DataFrame:
        window = f.window("time", f"{length} seconds", f"{slide} seconds", "1 microsecond")
        return (
            streams["readings"]
            .groupBy(window, "id")
            .agg(f.avg("v").alias("mean"))
            .select((f.col("window.end") - f.expr("INTERVAL 1 MICROSECOND")).alias("tick"), "id", "mean")
        )

    return query
