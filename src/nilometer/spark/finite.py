"""A plan over logs that are at hand -> its whole answer: one query of Spark that ends by itself."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.plan import physical
from nilometer.spark.job import Job, TablesAtHand
from nilometer.spark.layout import lay_out
from nilometer.spark.pipeline import MicroBatch
from nilometer.spark.places import Place, Places
from nilometer.spark.running import Running
from nilometer.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKETS = 4


@dataclass(frozen=True)
class Finite:
    """What a run gave."""

    frames: list[pl.DataFrame]
    watermark: int | None
    counted: Mapping[str, int]
    batches: int


def run_finite(
    plan: physical.Node,
    streams: Mapping[str, Stream],
    extents: TablesAtHand,
    place: str,
    *,
    max_rows: int | None = None,
    ends: bool = True,
    buckets: int = BUCKETS,
    session: SparkSession | None = None,
) -> Finite:
    """Run a plan over the logs of a data directory, from their beginning to what they hold now."""
    spark = session or spark_session()
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or "1")
    job = Job(
        name="finite",
        plan=plan,
        layout=lay_out(plan, buckets, combine=True),
        streams=streams,
        extents=extents,
        place=place,
        start=Places({name: Place() for name in streams}),
        finite=True,
        ends=ends,
        max_rows=max_rows,
        tasks=partitions,
        partitions=partitions,
    )
    batches: list[MicroBatch] = []
    with tempfile.TemporaryDirectory(prefix="nilometer-", ignore_cleanup_errors=True) as checkpoint:
        running = Running(spark, job, checkpoint, batches.append, available_now=True)
        running.start()
        running.wait()
    counted: Counter[str] = Counter()
    for batch in batches:
        counted.update(batch.counted)
    watermark = batches[-1].clock.watermark if batches and streams else None
    return Finite([rows for batch in batches for rows in batch.rows], watermark, counted, len(batches))
