"""A job -> a DataFrame of Spark: the source, then one `transformWithState` after the other.

All stages are one query in append mode without timers: a stage sees what the stage before it gave in the same micro-batch. Spark's
own watermark is not used (design.md, "Stages on Spark").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import polars as pl

from nilometer.spark.job import Job
from nilometer.spark.packing import ANSWER, COLUMNS, REPORT, Packet, in_order, unpack

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_REGISTERED: WeakKeyDictionary[SparkSession, set[str]] = WeakKeyDictionary()


def packets(session: SparkSession, job: Job, *, streaming: bool = True) -> DataFrame:
    """The answer's packets, and the reports."""
    from nilometer.spark.processor import Stage
    from nilometer.spark.source import NAME, PacketSource

    if NAME not in _REGISTERED.get(session, ()):
        session.dataSource.register(PacketSource)
        _REGISTERED[session] = {NAME}
    text = job.pack()
    reader: Any = session.readStream if streaming else session.read
    frame: DataFrame = reader.format(NAME).option("job", text).load()
    for number in range(1, job.layout.stages + 1):
        frame = frame.groupBy("key").transformWithState(Stage(text, number), COLUMNS, "append", "none")
    return frame


def arrived(frame: DataFrame) -> list[Packet]:
    """The packets of a micro-batch, in the driver."""
    column = frame.select("packet").toArrow().column("packet")
    return in_order(unpack(value.as_py()) for value in column)


def answer_of(found: list[Packet]) -> Iterator[pl.DataFrame]:
    """The answer's frames."""
    return (packet.rows for packet in found if packet.target == ANSWER and packet.rows is not None)


def reports_of(found: list[Packet]) -> dict[str, int]:
    """What was counted, added up."""
    total: dict[str, int] = {}
    for packet in found:
        if packet.target == REPORT:
            for name, count in packet.report.items():
                total[name] = total.get(name, 0) + count
    return total
