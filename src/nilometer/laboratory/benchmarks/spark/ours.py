"""Our side of `bench spark`: runs a question over the logs of a data directory on Spark, to their end.

The sink is the result log: every micro-batch's answers are one commit, made durable (fsync) before Spark
commits the micro-batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from nilometer.dataflow.ledger import QueryLedger
from nilometer.engine import connect
from nilometer.engine.query import Query
from nilometer.engine.spark import job_over_logs
from nilometer.log.local_files import LocalFiles
from nilometer.log.results.result_log import Commit, ResultLog
from nilometer.operators.frames import dtypes, empty
from nilometer.spark.job import Job, partitions_of
from nilometer.spark.pipeline import MicroBatch
from nilometer.spark.running import Running
from nilometer.spark.settings import SparkSettings


@dataclass(frozen=True)
class OurRun:
    """The seconds of a run, and Spark's progress report for each micro-batch."""

    seconds: float
    progress: tuple[Mapping[str, Any], ...]


Watch = Callable[[MicroBatch], None]


class OurQuery:
    """A question that runs in `place`, an empty folder: `place/answers` is its result log, `place/checkpoint`
    Spark's. Without `live` it ends with the logs. `watch` is called for every micro-batch once its answers
    are durable."""

    def __init__(
        self,
        session: Any,
        directory: Path,
        question: str,
        rows: int | None,
        place: Path,
        *,
        live: bool = False,
        watch: Watch | None = None,
    ) -> None:
        query = connect(directory).sql(question)
        self._columns = dtypes(query.schema)
        self._log = ResultLog(LocalFiles(place / "answers"), self._columns)
        self._number = 0
        self._watch = watch
        job = _job(session, query, directory, rows)
        checkpoint = place / "checkpoint"
        self._running = Running(session, job, checkpoint, self._commit, available_now=not live)
        self._session = session
        self._name = job.name
        self._spark: Any = None

    def start(self) -> None:
        """Start the query."""
        self._running.start()
        self._spark = next(each for each in self._session.streams.active if each.name == self._name)

    def wait(self) -> None:
        """Wait until it has read everything."""
        self._running.wait()

    def catch_up(self) -> None:
        """Wait until it has answered for everything that is in the logs now."""
        self._running.catch_up()

    def stop(self) -> None:
        """Stop the query."""
        self._running.stop()
        self._log.close()

    @property
    def progress(self) -> tuple[Mapping[str, Any], ...]:
        """Spark's progress reports for the last hundred micro-batches."""
        return tuple(dict(each) for each in self._spark.recentProgress)

    def _commit(self, batch: MicroBatch) -> None:
        rows = pl.concat(batch.rows) if batch.rows else empty(self._columns)
        offsets = {name: place.offset for name, place in batch.end.streams.items()}
        self._log.commit(rows, Commit("bench", self._number, offsets, QueryLedger()))
        self._number += 1
        if self._watch is not None:
            self._watch(batch)


def run(
    session: Any, directory: Path, question: str, rows: int, place: Path, watch: Watch | None = None
) -> OurRun:
    """Run all micro-batches of `rows` rows, from the text of the question to the last commit."""
    started = time.perf_counter()
    query = OurQuery(session, directory, question, rows, place, watch=watch)
    query.start()
    try:
        query.wait()
        seconds = time.perf_counter() - started
        return OurRun(seconds, query.progress)
    finally:
        query.stop()


def answers(place: Path) -> pl.DataFrame:
    """The answers of a run."""
    log = ResultLog(LocalFiles(place / "answers"))
    return pl.concat([empty(log.columns), *log.answers()])


def _job(session: Any, query: Query, directory: Path, rows: int | None) -> Job:
    settings = SparkSettings.from_environment()
    return job_over_logs(
        query, settings.bucket_count, partitions_of(session), str(directory), ends=False, max_rows=rows
    )
