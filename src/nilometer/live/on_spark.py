"""The queries of a station that Spark runs with a StreamingQuery of their own. The station keeps their streams open and
tells the sensors; Spark reads the logs. Standing queries share a pipeline (pipelines/).

The law: these queries are temporary. Their files are in folders of their own beside the logs, where a cluster sees them
too, and are deleted when the query is removed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.errors import ResourceError
from nilometer.live.asked_folders import AskedFolder
from nilometer.live.live_query import LiveQuery
from nilometer.live.spark_query import SparkQuery
from nilometer.live.starts import Start
from nilometer.log.private import make_directory
from nilometer.spark.installed import require_spark
from nilometer.spark.java_ended import JAVA_ENDED
from nilometer.spark.settings import SparkSettings

if TYPE_CHECKING:
    from nilometer.catalog import Stream
    from nilometer.ingest.manager import StreamManager
    from nilometer.live.declarations import CompiledQuery
    from nilometer.log import LogDirectory
    from nilometer.log.failpoints import Failpoint


class OnSpark:
    """The queries on Spark, by name."""

    def __init__(
        self,
        directory: Path,
        logs: LogDirectory,
        manager: StreamManager,
        clock: Callable[[], int],
        failpoint: Failpoint | None,
    ) -> None:
        self._directory = directory
        self._logs = logs
        self._manager = manager
        self._clock = clock
        self._failpoint = failpoint
        self._queries: dict[str, SparkQuery] = {}
        self._streams: dict[str, Mapping[str, Stream]] = {}
        self._asked: dict[str, AskedFolder] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._queries

    def get(self, name: str) -> SparkQuery | None:
        """The query of a name."""
        return self._queries.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the queries."""
        return tuple(self._queries)

    @property
    def streams(self) -> Iterator[Stream]:
        """The streams that the queries read."""
        return (stream for streams in self._streams.values() for stream in streams.values())

    def install(
        self,
        name: str,
        query: CompiledQuery,
        streams: Mapping[str, Stream],
        start: Start,
        *,
        stops: bool = False,
    ) -> LiveQuery:
        """Start a query."""
        require_spark()
        from nilometer.spark.job import refuse_refresh

        refuse_refresh(query.physical)
        place = self._directory / ".nilometer"
        make_directory(place)
        asked = AskedFolder(place)
        spark, attended = None, False
        try:
            spark = SparkQuery(
                self._directory,
                name,
                query,
                start=start,
                clock=self._clock,
                settings=SparkSettings.from_environment(self._directory),
                failpoint=self._failpoint,
                kept=asked.path,
                stops=stops,
            )
            self._manager.attend(name, streams.values())
            attended = True
            spark.start()
        except BaseException:
            if attended:
                self._manager.unregister(name)
            if spark is not None:
                spark.close()
            asked.cleanup()
            raise
        self._queries[name], self._streams[name] = spark, dict(streams)
        self._asked[name] = asked
        live = LiveQuery(name, query, "", dict(spark.offsets), stops=stops)
        live.rows, live.note = spark.rows, spark.note
        return live

    def follow(self, live: LiveQuery) -> bool:
        """Pass on the rows that Spark has answered since the last call. Returns whether there were any."""
        spark = self._queries[live.name]
        streams = self._streams[live.name]
        over = [key for key, stream in streams.items() if self._manager.ended(stream.name)]
        spark.end({key: self._logs.log(streams[key]).end for key in over})
        ended = spark.ended  # read before the rows: all rows up to these ends are among those taken
        frames = spark.take()
        live.rows = spark.rows - sum(frame.height for frame in frames)
        live.give(frames)
        metrics = spark.metrics
        live.note_books(metrics.ledger, metrics.watermark)
        live.dead = spark.dead
        if not spark.active and not frames and live.failure is None:
            failure = spark.failure
            # A new Java takes long to start, and the loop would wait for it: whoever asks again waits instead.
            passes = isinstance(failure, ResourceError) and failure.message != JAVA_ENDED
            if passes and self._clock() >= spark.retry_at:
                live.trouble = failure.message if failure is not None else None
                try:
                    spark.restart()
                except ResourceError as error:
                    failure, passes = error, False
            if failure is not None and not passes:
                live.failure, live.finished = failure.at(live.query.text, None), True
        elif spark.active:
            live.trouble = None
        answered = ended >= streams.keys()
        live.finished = live.finished or (not frames and len(over) == len(streams) and answered)
        return bool(frames)

    def remove(self, live: LiveQuery) -> SparkQuery:
        """Stop a query, and pass on the rows that it has answered by then. Returns what has run."""
        spark = self._queries.pop(live.name)
        del self._streams[live.name]
        if spark.active:
            # It is not resumed, so it still answers for all that is in the logs by now. If Spark ends first, that is all.
            with contextlib.suppress(ResourceError):
                spark.catch_up()
        spark.close()
        live.note_books(spark.metrics.ledger, live.watermark)
        frames = spark.take()
        live.rows = spark.rows - sum(frame.height for frame in frames)
        live.give(frames)
        self._manager.unregister(live.name)
        self._asked.pop(live.name).cleanup()
        return spark

    def abandon(self) -> None:
        """Drop all queries as a crash of the process would."""
        for spark in self._queries.values():
            spark.close()
        for asked in self._asked.values():
            asked.cleanup()
        self._queries.clear()
        self._streams.clear()
        self._asked.clear()
