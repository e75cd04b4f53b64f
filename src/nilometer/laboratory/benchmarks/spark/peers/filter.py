"""A stateless filter and projection."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as f


def filter_readings(streams: Mapping[str, DataFrame]) -> DataFrame:
    """The positive values among a tenth of the readings."""
    readings = streams["readings"]
    return readings.where((f.col("w") < 0.1) & (f.col("v") > 0)).select("time", "id", "v")
