"""A stock query while files arrive: every micro-batch is written as Parquet, and its time is recorded."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from nilometer.laboratory.benchmarks.spark.peers.micro_batches import Folder, streams
from nilometer.laboratory.benchmarks.spark.peers.run import Query, times_as_ours
from nilometer.laboratory.benchmarks.spark.peers.settings import StockSettings, session_for


class LiveStock:
    """Runs in `place`, an empty folder."""

    def __init__(
        self,
        session: SparkSession,
        query: Query,
        folders: Mapping[str, Folder],
        place: Path,
        settings: StockSettings | None = None,
    ) -> None:
        self._session = session_for(session, settings or StockSettings())
        self._query = query
        self._folders = folders
        self._place = place
        self._running: StreamingQuery | None = None
        self._written: list[tuple[int, Path]] = []

    def start(self) -> None:
        """Start. The next micro-batch begins when the one before is done, if there is a new file."""

        def take(frame: DataFrame, number: int) -> None:
            folder = self._place / "answers" / str(number)
            frame.write.mode("overwrite").parquet(str(folder))
            self._written.append((time.time_ns() // 1000, folder))

        writer = self._query(streams(self._session, self._folders)).writeStream.foreachBatch(take)
        self._running = (
            writer.outputMode("append").option("checkpointLocation", str(self._place / "checkpoint")).start()
        )

    def catch_up(self) -> None:
        """Wait until all present files have been read."""
        assert self._running is not None, "a query that was not started"
        self._running.processAllAvailable()

    def stop(self) -> None:
        """Stop the query."""
        if self._running is not None:
            self._running.stop()

    def committed(self) -> Iterator[tuple[int, pl.DataFrame]]:
        """Each micro-batch's answers with the time at which they were written, in microseconds since 1970."""
        for at, folder in self._written:
            files = sorted(folder.glob("*.parquet"))
            if files:
                yield at, times_as_ours(pl.concat([pl.read_parquet(file) for file in files]))
