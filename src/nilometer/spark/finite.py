"""A plan over logs that are at hand -> its whole answer: one query of Spark that ends by itself."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.plan import physical
from nilometer.spark.job import Job, TablesAtHand
from nilometer.spark.layout import lay_out
from nilometer.spark.packing import Packet
from nilometer.spark.pipeline import answer_of, arrived, packets, reports_of
from nilometer.spark.places import Place, Places
from nilometer.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BUCKETS = 4


@dataclass
class Finite:
    """What a run gave."""

    frames: list[pl.DataFrame] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=dict)
    watermark: int | None = None
    batches: int = 0

    def take(self, found: list[Packet]) -> None:
        """The packets of one more micro-batch."""
        self.batches += 1
        self.frames += [rows for rows in answer_of(found) if rows.height]
        for name, count in reports_of(found).items():
            self.counted[name] = self.counted.get(name, 0) + count
        self.watermark = max((packet.clock.watermark for packet in found), default=self.watermark)


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
        layout=lay_out(plan, buckets),
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
    result = Finite()

    def take(frame: DataFrame, _: int) -> None:
        result.take(arrived(frame))

    checkpoint = tempfile.mkdtemp(prefix="nilometer-checkpoint-")
    try:
        writer = packets(spark, job).writeStream.foreachBatch(take).outputMode("append")
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)
    return result
