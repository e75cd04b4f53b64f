"""All pipelines of a station: which standing query is in which, and what the station asks of them.

A query is in the pipeline `main`, or in the one that `CREATE QUERY ... IN PIPELINE p` names. If an error ends
a pipeline's run again and again, the pipeline is divided in two, and so the query at fault is alone in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.errors import DataError, ResourceError
from nilometer.live.live_query import LiveQuery
from nilometer.live.pipelines.pipeline import Pipeline
from nilometer.live.pipelines.pipeline_query import PipelineQuery
from nilometer.live.spark_query import TRIES
from nilometer.live.starts import Start
from nilometer.log import Offset
from nilometer.spark.settings import SparkSettings

if TYPE_CHECKING:
    from nilometer.catalog import Stream
    from nilometer.ingest.manager import StreamManager
    from nilometer.live.declarations import CompiledQuery
    from nilometer.live.replaced_state import Choice
    from nilometer.live.shared_queries import SharedQueries
    from nilometer.live.versions import Version
    from nilometer.log import LogDirectory

MAIN = "main"
"""The pipeline of the queries that name none."""


class Pipelines:
    """The standing queries on Spark, by name."""

    def __init__(
        self,
        directory: Path,
        logs: LogDirectory,
        manager: StreamManager,
        shared: SharedQueries,
        clock: Callable[[], int],
    ) -> None:
        self._directory = directory
        self._logs = logs
        self._manager = manager
        self._shared = shared
        self._clock = clock
        self._pipelines: dict[str, Pipeline] = {}
        self._queries: dict[str, PipelineQuery] = {}
        self._waiting: dict[object, int] = {}
        """The groups of the queries that wait to be recorded."""

    def __contains__(self, name: str) -> bool:
        return name in self._queries

    def get(self, name: str) -> PipelineQuery | None:
        """The query of a name."""
        return self._queries.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    @property
    def streams(self) -> Iterator[Stream]:
        """The streams that the queries read."""
        return (stream for query in self._queries.values() for stream in query.streams.values())

    # ---- queries come and go -----------------------------------------------------------------------------------------

    def install(
        self,
        name: str,
        query: CompiledQuery,
        streams: Mapping[str, Stream],
        start: Start,
        state: Choice | None,
        *,
        same_state: Sequence[Version],
        stops: bool,
        pipeline: str | None,
        at_once: bool,
    ) -> LiveQuery:
        """Start or resume a query. If not `at_once`, others follow, and `begin` lets them all join together."""
        from nilometer.spark.shared.ways import state_fits

        one = self._pipeline(pipeline or MAIN)
        opened = self._shared.open(
            name,
            query,
            streams,
            start,
            state,
            same_state=same_state,
            on_spark=True,
            fitting=lambda panes, plan, extents: state_fits(panes, plan, extents, one.parts),
        )
        standing, commits = opened.standing, self._shared.commits
        if standing.changed:
            self._shared.close_if_idle()
            raise DataError(
                f"{standing.changed} has changed since '{name}' last ran, and its state is of the old declaration",
                hint=f"declare it as before; or nilometer queries replay {name} answers again from the logs;"
                " the gateway takes such a change over",
            )
        place = tuple(sorted(opened.offsets.items())), tuple(sorted(opened.state_at.items()))
        group = self._waiting.get((one.name, place))
        if group is None:
            group = self._waiting[one.name, place] = commits.log.begin_group()
        try:
            self._manager.attend(name, streams.values())
        except BaseException:
            self._shared.close_if_idle()
            raise
        commits.join(standing, group, opened.offsets, opened.trimmed.unread)
        commits.forget_private(standing)
        live = LiveQuery(name, query, "", dict(opened.offsets), stops=stops)
        live.rows, live.note = standing.rows, opened.note
        if opened.trimmed:
            live.trimmed = opened.trimmed.unread
            live.note = f"{live.note}; {opened.trimmed}"
        found = PipelineQuery(query, streams, opened, group, stops, one, self._clock, live)
        panes = standing.recovered.panes if standing.recovered is not None else None
        found.goes_on = panes or None, opened.state_at, opened.offsets
        found.taking = standing.takes_state
        if standing.recovered is not None and not standing.recovered.fresh:
            found.ledger = standing.place.ledger
        self._queries[name] = one.queries[name] = found
        if at_once:
            try:
                self.begin()
                if commits.trouble is not None and commits.cancel(standing):
                    trouble, commits.trouble = commits.trouble, None
                    raise ResourceError(trouble, hint="make space, then install the query again")
            except BaseException:
                self._forget(found)
                commits.queries.pop(standing.key, None)
                self._shared.close_if_idle()
                raise
        return live

    def _pipeline(self, name: str) -> Pipeline:
        key = name.lower()
        if key not in self._pipelines:
            settings = SparkSettings.from_environment(self._directory)
            self._pipelines[key] = Pipeline(
                key, self._directory, lambda: self._shared.commits, self._clock, settings
            )
        return self._pipelines[key]

    def _forget(self, query: PipelineQuery) -> None:
        self._manager.unregister(query.name)
        self._queries.pop(query.name, None)
        query.pipeline.queries.pop(query.name, None)

    def begin(self) -> None:
        """Record the queries that have come, then let them join their pipelines."""
        waiting = {query.pipeline for query in self._queries.values() if query.goes_on is not None}
        if not waiting:
            return
        commits = self._shared.commits
        commits.begin(self._clock())
        if commits.trouble is not None:
            return
        self._waiting.clear()
        for pipeline in waiting:
            if pipeline.active:
                pipeline.join()
            else:
                pipeline.start()

    def remove(self, live: LiveQuery) -> dict[str, Offset]:
        """Stop a query, after everything that it has answered is committed. Returns where it stands."""
        query = self._queries.pop(live.name)
        query.pipeline.leave(query)
        self._pass_on(query)
        self._manager.unregister(live.name)
        if not query.pipeline.queries:
            query.pipeline.stop()
            self._pipelines.pop(query.pipeline.name, None)
        return dict(query.opened.standing.place.offsets)

    def stop_all(self) -> list[str]:
        """Save all states and stop. The queries stay in the commit log. Returns their names."""
        for pipeline in self._pipelines.values():
            if pipeline.active:
                pipeline.save()
            pipeline.stop()
        for query in self._queries.values():
            self._pass_on(query)
            self._manager.unregister(query.name)
        names = list(self._queries)
        self._queries.clear()
        self._pipelines.clear()
        return names

    def abandon(self) -> None:
        """Stop as a crash of the process would."""
        for pipeline in self._pipelines.values():
            pipeline.stop()
        self._queries.clear()
        self._pipelines.clear()

    # ---- the loop ----------------------------------------------------------------------------------------------------

    def follow(self) -> bool:
        """Pass on the rows that were answered since the last call, and look after the pipelines. Returns whether there were
        rows."""
        if not self._queries:
            return False
        self.begin()
        for pipeline in list(self._pipelines.values()):
            if not pipeline.active and pipeline.queries:
                self._revive(pipeline)
        streams = {key: stream for query in self._queries.values() for key, stream in query.streams.items()}
        # Read before the rows: all rows up to these offsets are among those passed on.
        ends = {key: self._logs.log(one).end for key, one in streams.items() if self._manager.ended(one.name)}
        reached = {name: query.offsets for name, query in self._queries.items()} if ends else {}
        moved = False
        for name in [name for pipeline in self._pipelines.values() for name in pipeline.changed()]:
            query = self._queries.get(name)
            if query is not None:
                moved |= self._pass_on(query)
                live = query.live
                if query.failure is not None and live.failure is None:
                    live.failure, live.finished = query.failure.at(live.query.text, None), True
        if not moved:
            for name, at in reached.items():
                query = self._queries[name]
                query.live.finished |= all(key in ends and at.get(key) == ends[key] for key in query.streams)
        return moved

    def _pass_on(self, query: PipelineQuery) -> bool:
        live = query.live
        rows = [query.fresh.popleft() for _ in range(len(query.fresh))]
        live.give(rows)
        live.note_books(query.ledger, query.heard)
        live.dead = query.dead
        if query.pipeline.active:
            live.trouble = None
        return bool(rows)

    def _revive(self, pipeline: Pipeline) -> None:
        """Begin another run of a pipeline whose run has ended."""
        failure = pipeline.failure
        if failure is None or self._clock() < pipeline.retry_at:
            return
        for query in pipeline.queries.values():
            query.live.trouble = failure.message
        if isinstance(failure, ResourceError):
            pipeline.restart()
        elif len(pipeline.queries) > 1:
            self._divide(pipeline) if pipeline.tries >= TRIES else pipeline.restart()
        else:
            for query in pipeline.queries.values():
                query.failure = failure
                query.live.failure, query.live.finished = failure.at(query.live.query.text, None), True

    def _divide(self, pipeline: Pipeline) -> None:
        """Divide a pipeline whose runs fail: one half goes on in another."""
        other = self._pipeline(f"{pipeline.name}-{1 + len(self._pipelines)}")
        moving = list(pipeline.queries.values())[len(pipeline.queries) // 2 :]
        for query in moving:
            del pipeline.queries[query.name]
            other.queries[query.name] = query
            query.pipeline = other
            query.live.apart = f"pipeline '{pipeline.name}' failed: this half of its queries is on its own"
        pipeline.tries = 0
        pipeline.start()
        other.start()
