"""Two stateful operators of Spark's own, one after the other: doubles removed, then a sliding window."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from nilometer.laboratory.benchmarks.spark.peers.hop import hop


def two_stages(streams: Mapping[str, DataFrame]) -> DataFrame:
    """What an almost empty micro-batch of them costs is the floor of a plan of two stages."""
    return hop(60, 5)({"readings": streams["readings"].dropDuplicatesWithinWatermark(["id", "time"])})
