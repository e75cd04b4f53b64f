"""Two stateful operators of Spark's own in a chain: duplicates are removed, then a sliding window."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from nilometer.laboratory.benchmarks.spark.peers.hop import hop


def two_stages(streams: Mapping[str, DataFrame]) -> DataFrame:
    """The cost of an almost empty micro-batch of these is the floor of a plan with two stages."""
    return hop(60, 5)({"readings": streams["readings"].dropDuplicatesWithinWatermark(["id", "time"])})
