"""Runs a job over finite logs as one Spark query that ends by itself, and returns the whole answer."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from nilometer.spark.counts import Counts
from nilometer.spark.job import Job
from nilometer.spark.pipeline import MicroBatch
from nilometer.spark.running import Running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Finite:
    """The result of a run."""

    frames: list[pl.DataFrame]
    watermark: int | None
    counts: Counts


def run_finite(session: SparkSession, job: Job) -> Finite:
    """Run a job over its logs, up to their present ends."""
    batches: list[MicroBatch] = []
    with tempfile.TemporaryDirectory(prefix="nilometer-", ignore_cleanup_errors=True) as checkpoint:
        running = Running(session, job, checkpoint, batches.append, available_now=True)
        running.start()
        running.wait()
    counts = sum((batch.counts for batch in batches), Counts())
    watermark = batches[-1].clock.watermark if batches and job.streams else None
    return Finite([rows for batch in batches for rows in batch.rows], watermark, counts)
