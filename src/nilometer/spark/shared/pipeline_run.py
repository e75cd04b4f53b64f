"""One run of a pipeline: a StreamingQuery whose rounds are passed, one by one, to a function in the driver.

The law: the next round begins after the function has returned. If it raises, or if Spark fails, the run is over; the next
one begins where the commit log ends.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from nilometer.errors import NilometerError
from nilometer.spark.running import Progress, error_of
from nilometer.spark.session import require_driver
from nilometer.spark.shared.changes import Change, ChangeWriter
from nilometer.spark.shared.rounds import RoundResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Take = Callable[[RoundResult], None]
_REGISTERED: WeakKeyDictionary[SparkSession, bool] = WeakKeyDictionary()


class PipelineRun:
    """A run. `folder` is its own, and is deleted with it; all machines see it. A round of several parts with `task_rows`
    readings or more is run in tasks."""

    def __init__(
        self,
        session: SparkSession,
        name: str,
        place: str,
        folder: Path,
        max_rows: int,
        parts: int,
        take: Take,
        task_rows: int = 0,
    ) -> None:
        require_driver(session, "a query whose answers come to this process")
        self._session = session
        self._name = name
        self._folder = folder
        self._options = {
            "place": place,
            "folder": str(folder),
            "max_rows": str(max_rows),
            "parts": str(parts),
            "task_rows": str(task_rows),
        }
        self._take = take
        self._query: StreamingQuery | None = None
        self._failure: NilometerError | None = None
        folder.mkdir(parents=True, mode=0o700)
        self._changes = ChangeWriter(folder)

    def tell(self, change: Change) -> None:
        """Let the next round take a change up."""
        self._changes.add(change)

    def start(self, trigger: str | None) -> None:
        """Begin."""
        from nilometer.spark.shared.round_source import NAME, RoundSource

        if self._session not in _REGISTERED:
            self._session.dataSource.register(RoundSource)
            _REGISTERED[self._session] = True
        reader: Any = self._session.readStream.format(NAME)
        frame: DataFrame = reader.options(**self._options).load()
        writer = frame.writeStream.foreachBatch(self._pass_on).outputMode("append").queryName(self._name)
        writer = writer.option("checkpointLocation", (self._folder / "checkpoint").absolute().as_uri())
        if trigger is not None:
            writer = writer.trigger(processingTime=trigger)
        self._query = writer.start()

    def _pass_on(self, frame: DataFrame, _: int) -> None:
        from nilometer.spark.shared.round_work import read_result

        try:
            found = sorted((int(row.part), bytes(row.result)) for row in frame.collect())
            self._take(read_result(self._folder, [data for _, data in found]))
        except NilometerError as error:
            # Spark would wrap the error in a page of Java.
            self._failure = error
            raise

    @property
    def active(self) -> bool:
        """Whether it is running."""
        return self._query is not None and self._query.isActive

    @property
    def failure(self) -> NilometerError | None:
        """The error that ended it."""
        if self._failure is not None:
            return self._failure
        found: Any = None if self._query is None else self._query.exception()
        return None if found is None else error_of(str(found))

    @property
    def reports(self) -> list[Any]:
        """Spark's reports on the last rounds."""
        return [] if self._query is None else list(self._query.recentProgress)

    @property
    def progress(self) -> Progress | None:
        """Spark's report on the last round; None if there was none yet."""
        found: Any = None if self._query is None else self._query.lastProgress
        if found is None:
            return None
        steps = {str(name): int(value) for name, value in dict(found["durationMs"]).items()}
        return Progress(int(found["batchId"]), steps.get("triggerExecution", 0), steps)

    def stop(self) -> None:
        """Stop, after the current round or without it."""
        if self._query is not None:
            self._query.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
