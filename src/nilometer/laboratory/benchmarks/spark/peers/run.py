"""Runs a stock query over micro-batch files to its end: seconds, progress, and its answers as Parquet files.

The sink is Spark's own Parquet sink, which is exactly once: the files of a micro-batch count once its entry
is in the sink's log. The trigger is AvailableNow: one file of each stream per micro-batch, then a last one
without data, if the watermark moved.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import DataFrame, SparkSession

from nilometer.laboratory.benchmarks.spark.peers.micro_batches import Folder, streams
from nilometer.laboratory.benchmarks.spark.peers.settings import StockSettings, session_for

Query = Callable[[Mapping[str, DataFrame]], DataFrame]


@dataclass(frozen=True)
class StockRun:
    """The seconds of a run, and Spark's progress report for each micro-batch."""

    seconds: float
    progress: tuple[Mapping[str, Any], ...]


def run(
    session: SparkSession,
    query: Query,
    folders: Mapping[str, Folder],
    place: Path,
    settings: StockSettings | None = None,
) -> StockRun:
    """Run it in `place`, an empty folder: `place/answers` and `place/checkpoint`."""
    own = session_for(session, settings or StockSettings())
    started = time.perf_counter()
    writer = query(streams(own, folders)).writeStream.format("parquet").outputMode("append")
    running = (
        writer.option("path", str(place / "answers"))
        .option("checkpointLocation", str(place / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        running.awaitTermination()
    finally:
        running.stop()
    seconds = time.perf_counter() - started
    return StockRun(seconds, tuple(dict(each) for each in running.recentProgress))


def answers(place: Path) -> pl.DataFrame:
    """The answers of a run."""
    files = sorted((place / "answers").glob("*.parquet"))
    return times_as_ours(pl.concat([pl.read_parquet(file) for file in files]))


def times_as_ours(frame: pl.DataFrame) -> pl.DataFrame:
    """Times as microseconds since 1970."""
    times = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime)]
    return frame.with_columns(pl.col(name).dt.epoch("us") for name in times)
