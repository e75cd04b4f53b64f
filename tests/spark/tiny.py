"""The smallest stream that goes through a stateful stage: a source that counts, and a processor that adds up.

Every micro-batch holds one row for every bucket, with its own number; the stage answers with the sum so far. So what batch n says of
any bucket is 1 + 2 + ... + n, whatever was killed on the way.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming import StatefulProcessor

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import what stands among tests

SCHEMA = "bucket int, packet binary"
BUCKETS = 4


class CountingReader(DataSourceStreamReader):
    """Offsets 0, 1, ... `batches`; one step of them is a micro-batch."""

    def __init__(self, batches: int) -> None:
        self.batches = batches

    def initialOffset(self) -> dict[str, int]:
        return {"number": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        return {"number": min(self.batches, start["number"] + 1)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [InputPartition(end["number"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        packets = [partition.value.to_bytes(8, "little")] * BUCKETS
        yield pa.RecordBatch.from_pydict({"bucket": pa.array(range(BUCKETS), pa.int32()), "packet": packets})

    def commit(self, end: dict[str, int]) -> None:
        """Nothing is kept."""


class Counting(DataSource):
    @classmethod
    def name(cls) -> str:
        return "counting"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> CountingReader:
        return CountingReader(int(self.options["batches"]))


class Summing(StatefulProcessor):
    def init(self, handle: Any) -> None:
        self.total = handle.getValueState("total", "total binary")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timer: Any) -> Iterator[Row]:
        was = self.total.get()
        total = int.from_bytes(was[0], "little") if was else 0
        total += sum(int.from_bytes(row.packet, "little") for row in rows)
        packet = total.to_bytes(8, "little")
        self.total.update((packet,))
        yield Row(bucket=key[0], packet=packet)

    def close(self) -> None:
        """Nothing to let go of."""


def sums(spark: SparkSession, batches: int, stages: int = 1) -> DataFrame:
    """The stream of sums, through so many stateful stages one after the other."""
    spark.dataSource.register(Counting)
    frame = spark.readStream.format("counting").option("batches", batches).load()
    for _ in range(stages):
        frame = frame.groupBy("bucket").transformWithState(Summing(), SCHEMA, "append", "none")
    return frame


def as_numbers(frame: DataFrame) -> list[tuple[int, int]]:
    """(bucket, sum), in order."""
    return sorted((row.bucket, int.from_bytes(row.packet, "little")) for row in frame.collect())


def triangle(number: int) -> int:
    """1 + 2 + ... + number."""
    return number * (number + 1) // 2
