"""Makes a Spark DataFrame from a job: the source, then one `transformWithState` after the other.

All stages are one query in append mode without timers: a stage sees the output of the stage before it in the
same micro-batch. A batch keeps no state from one to the next, so its stages are plain functions: without state stores
a small question takes half the time. Spark's own watermark is not used (design.md, "Stages on Spark").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import polars as pl

from nilometer.spark.counts import Counts
from nilometer.spark.job import Job
from nilometer.spark.layout import Clock, by_tick
from nilometer.spark.packing import ANSWER, Packet, in_order, unpack
from nilometer.spark.places import Places

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_REGISTERED: WeakKeyDictionary[SparkSession, set[str]] = WeakKeyDictionary()


def packets(session: SparkSession, job: Job, *, streaming: bool = True) -> DataFrame:
    """The answer's packets, and the reports."""
    from nilometer.spark.source import COLUMNS, NAME, PacketSource
    from nilometer.spark.stage import Stage, at_once

    if NAME not in _REGISTERED.get(session, ()):
        session.dataSource.register(PacketSource)
        _REGISTERED[session] = {NAME}
    job.keep_keys()
    text = job.pack()
    reader: Any = session.readStream if streaming else session.read
    frame: DataFrame = reader.format(NAME).option("job", text).load()
    for number in range(1, job.layout.stages + 1):
        if streaming:
            frame = frame.groupBy("key").transformWithState(Stage(text, number), COLUMNS, "append", "none")
        else:
            # Said here, because a session may divide every shuffle into 200.
            buckets = frame.repartition(job.partitions, "key").groupBy("key")
            frame = buckets.applyInArrow(at_once(text, number), COLUMNS)
    return frame


@dataclass(frozen=True)
class MicroBatch:
    """The result of a micro-batch: rows of the answer, the offsets up to which it has read, and its counters."""

    rows: tuple[pl.DataFrame, ...]
    end: Places
    clock: Clock
    counts: Counts


def micro_batch(frame: DataFrame) -> MicroBatch:
    """Run a micro-batch and fetch its result."""
    column = frame.select("packet").toArrow().column("packet")
    return gathered_batch(unpack(value.as_py()) for value in column)


def gathered_batch(packets: Iterable[Packet]) -> MicroBatch:
    """The result in the packets that leave the last stage; rows in the order of their ticks, whichever
    buckets they come from.
    """
    found = in_order(packets)
    rows = by_tick([p.rows for p in found if p.target == ANSWER and p.rows is not None and p.rows.height])
    end = next(packet.end for packet in found if packet.end is not None)
    counts = sum((packet.counts for packet in found if packet.counts is not None), Counts())
    return MicroBatch(rows, Places.of_json(end), found[0].clock, counts)
