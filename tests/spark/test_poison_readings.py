"""A poison reading does not stop a standing query on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from poison import FIRST, SECOND_PART, feed, field, judge, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_poison_readings_stop_nobody_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    feed(tmp_path, "a", FIRST)
    feed(tmp_path, "b", SECOND_PART)
    database = field(tmp_path)
    assert run(database, tmp_path, "spark")["twice"] == "integer overflow in s.n * 2"
    judge(database, tmp_path)
