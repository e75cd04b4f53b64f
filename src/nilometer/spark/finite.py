"""Runs a job over finite logs and returns the whole answer: as one batch if the logs are small, else as a
StreamingQuery that ends by itself, whose micro-batches bound the memory.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from nilometer.errors import NilometerError
from nilometer.spark.counts import Counts
from nilometer.spark.java_ended import asking_java
from nilometer.spark.job import Job
from nilometer.spark.pipeline import MicroBatch, micro_batch, packets
from nilometer.spark.running import Running, error_of, settings_of
from nilometer.spark.session import require_driver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Finite:
    """The result of a run."""

    frames: list[pl.DataFrame]
    watermark: int | None
    counts: Counts


def run_at_once(session: SparkSession, job: Job) -> Finite:
    """Run a job over its logs as one batch: no checkpoint, no state store on disk, half the time."""
    require_driver(session, "a query whose answers come to this process")
    try:
        with asking_java(), settings_of(session, job):
            batch = micro_batch(packets(session, job, streaming=False))
    except NilometerError:
        raise
    except Exception as error:
        raise error_of(str(error)) from None
    return Finite(list(batch.rows), batch.clock.watermark if job.streams else None, batch.counts)


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
