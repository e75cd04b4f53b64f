"""A job -> a DataFrame of Spark: the source, then one `transformWithState` after the other.

All stages are one query in append mode without timers: a stage sees what the stage before it gave in the same micro-batch. Spark's
own watermark is not used (design.md, "Stages on Spark").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import polars as pl

from nilometer.plan import physical
from nilometer.spark.job import Job
from nilometer.spark.layout import Clock
from nilometer.spark.packing import ANSWER, REPORT, in_order, unpack
from nilometer.spark.places import Places

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_REGISTERED: WeakKeyDictionary[SparkSession, set[str]] = WeakKeyDictionary()


def packets(session: SparkSession, job: Job, *, streaming: bool = True) -> DataFrame:
    """The answer's packets, and the reports."""
    from nilometer.spark.source import COLUMNS, NAME, PacketSource
    from nilometer.spark.stage import Stage

    if NAME not in _REGISTERED.get(session, ()):
        session.dataSource.register(PacketSource)
        _REGISTERED[session] = {NAME}
    job.keep_keys()
    text = job.pack()
    reader: Any = session.readStream if streaming else session.read
    frame: DataFrame = reader.format(NAME).option("job", text).load()
    for number in range(1, job.layout.stages + 1):
        frame = frame.groupBy("key").transformWithState(Stage(text, number), COLUMNS, "append", "none")
    return frame


@dataclass(frozen=True)
class MicroBatch:
    """What a micro-batch gave: rows of the answer, up to where it has read, and what was counted on the way."""

    rows: tuple[pl.DataFrame, ...]
    end: Places
    clock: Clock
    counted: Mapping[str, int]


def micro_batch(job: Job, frame: DataFrame) -> MicroBatch:
    """Run a micro-batch and fetch what it gave; what carries ticks, in their order, from whichever buckets it came."""
    column = frame.select("packet").toArrow().column("packet")
    found = in_order(unpack(value.as_py()) for value in column)
    rows = tuple(p.rows for p in found if p.target == ANSWER and p.rows is not None and p.rows.height)
    if len(rows) > 1 and isinstance(job.plan, physical.Deliver) and job.plan.tick:
        rows = (pl.concat(rows).sort("tick", maintain_order=True),)
    reports = [packet.report for packet in found if packet.target == REPORT]
    end = next(report["end"] for report in reports if "end" in report)
    counted: Counter[str] = Counter()
    for report in reports:
        counted.update({name: count for name, count in report.items() if name != "end"})
    return MicroBatch(rows, Places.of_json(end), found[0].clock, counted)
