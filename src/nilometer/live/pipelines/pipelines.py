"""All pipelines of a station: which standing query is in which, and what the station asks of them.

A query is in the pipeline `main`, or in the one that `CREATE QUERY ... IN PIPELINE p` names. If an error ends
a pipeline's run again and again, the pipeline is divided in two, and so the query at fault is alone in the end. A query that
is much dearer than the others gets a pipeline of its own, and falls behind alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.dataflow.part import Rows
from nilometer.errors import DataError, ResourceError
from nilometer.live.live_query import LiveQuery
from nilometer.live.pipelines.pipeline import Pipeline
from nilometer.live.pipelines.pipeline_query import PipelineQuery
from nilometer.live.pipelines.pipeline_tables import PipelineTables
from nilometer.live.spark_query import TRIES
from nilometer.live.starts import Start
from nilometer.live.versions import Version, version_of
from nilometer.log import Offset
from nilometer.memory import budget
from nilometer.plan import physical
from nilometer.spark.settings import SparkSettings

if TYPE_CHECKING:
    from nilometer.catalog import Stream
    from nilometer.ingest.manager import StreamManager
    from nilometer.live.declarations import CompiledQuery
    from nilometer.live.replaced_state import Choice
    from nilometer.live.shared_queries import SharedQueries
    from nilometer.live.stored_tables import StoredTables
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
        tables_of: Callable[[str, CompiledQuery, Version, bool], StoredTables],
    ) -> None:
        self._directory = directory
        self._logs = logs
        self._manager = manager
        self._shared = shared
        self._clock = clock
        self._tables_of = tables_of
        self._pipelines: dict[str, Pipeline] = {}
        self._queries: dict[str, PipelineQuery] = {}
        self._waiting: dict[object, int] = {}
        """The groups of the queries that wait to be recorded."""
        self._read: dict[str, Stream] | None = None
        """The streams that the queries read, by lower-case name; None: to be made again."""
        self._joining: list[PipelineQuery] = []
        """The queries that join tables, as they were when `_read` was made."""

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
        panes = standing.recovered.panes if standing.recovered is not None else None
        # A query that joins tables has a group of its own: the versions that it meets are its own.
        joins = bool(physical.tables_of(query.physical))
        key = one.name, place, name if joins else ""
        group = self._waiting.get(key)
        if group is None:
            group = self._waiting[key] = commits.log.begin_group()
        tables = None
        try:
            if joins:
                meaning = version_of(query, on_spark=True)
                tables = PipelineTables(name, self._tables_of(name, query, meaning, bool(panes)))
            self._manager.attend(name, streams.values())
        except BaseException:
            if tables is not None:
                tables.stored.close()
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
        found.tables = tables
        found.goes_on = panes or None, opened.state_at, opened.offsets
        found.taking = standing.takes_state
        if standing.recovered is not None and not standing.recovered.fresh:
            found.ledger = standing.place.ledger
        self._queries[name] = found
        one.add(found)
        self._read = None
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

    def _pipeline(self, name: str, settings: SparkSettings | None = None) -> Pipeline:
        """The pipeline of a name. Without settings, it has those of its name."""
        key = name.lower()
        if key not in self._pipelines:
            settings = settings or SparkSettings.from_environment(self._directory).of_pipeline(name)
            self._pipelines[key] = Pipeline(
                key, self._directory, self._logs, lambda: self._shared.commits, self._clock, settings
            )
        return self._pipelines[key]

    def _forget(self, query: PipelineQuery) -> None:
        if query.tables is not None:
            query.tables.stored.close()
        self._manager.unregister(query.name)
        self._queries.pop(query.name, None)
        self._read = None
        query.pipeline.forget(query)

    def begin(self) -> None:
        """Record the queries that have come, then let them join their pipelines."""
        if not self._waiting:
            return  # nobody has come; asked in every turn of the loop
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
        commits.states.loaded()

    def remove(self, live: LiveQuery) -> dict[str, Offset]:
        """Stop a query, after everything that it has answered is committed. Returns where it stands."""
        query, self._read = self._queries.pop(live.name), None
        query.pipeline.leave(query)
        self._pass_on(query)
        if query.tables is not None:
            query.tables.stored.close()
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
            if query.tables is not None:
                query.tables.stored.close()
            self._manager.unregister(query.name)
        names = list(self._queries)
        self._queries.clear()
        self._read = None
        self._pipelines.clear()
        return names

    def abandon(self) -> None:
        """Stop as a crash of the process would."""
        for pipeline in self._pipelines.values():
            pipeline.stop()
        for query in self._queries.values():
            if query.tables is not None:
                query.tables.stored.abandon()
        self._queries.clear()
        self._read = None
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
            elif pipeline.dear is not None:
                self._set_apart(pipeline)
        if self._read is None:
            self._joining = [query for query in self._queries.values() if query.tables is not None]
            self._read = {
                key: stream for query in self._queries.values() for key, stream in query.streams.items()
            }
        for joining in self._joining:
            assert joining.tables is not None
            joining.pipeline.refresh(joining, self._clock())
            joining.live.stale = joining.tables.stored.trouble
        # Read before the rows: all rows up to these offsets are among those passed on.
        ends = {
            key: self._logs.log(one).end for key, one in self._read.items() if self._manager.ended(one.name)
        }
        reached = {name: query.offsets for name, query in self._queries.items()} if ends else {}
        moved = False
        most = budget().results
        for pipeline in list(self._pipelines.values()):
            active = pipeline.active
            for name in pipeline.changed():
                query = self._queries.get(name)
                if query is not None:
                    moved |= self._pass_on(query, most, active=active)
                    live = query.live
                    if query.failure is not None and live.failure is None:
                        live.failure, live.finished = query.failure.at(live.query.text, None), True
        if not moved:
            for name, at in reached.items():
                query = self._queries[name]
                query.live.finished |= all(key in ends and at.get(key) == ends[key] for key in query.streams)
        return moved

    def _pass_on(self, query: PipelineQuery, most: int | None = None, *, active: bool | None = None) -> bool:
        """Pass a query's rows on. The last two are the same for all queries of a pipeline: thousands answer in a round."""
        live, rows = query.live, list[Rows]()
        while query.fresh:
            rows.append(query.fresh.popleft())
        live.give(rows, most)
        live.note_books(query.ledger, query.heard)
        live.dead = query.dead
        if query.pipeline.active if active is None else active:
            live.trouble = None
        return bool(rows)

    def _revive(self, pipeline: Pipeline) -> None:
        """Begin another run of a pipeline whose run has ended."""
        from nilometer.spark.running import PROCESS_DIED

        failure = pipeline.failure
        if failure is None or self._clock() < pipeline.retry_at:
            return
        for query in pipeline.queries.values():
            query.live.trouble = failure.message
        # A full disk is nobody's fault, nor is a Java that does not start. That a process dies may be one query's.
        passes = isinstance(failure, ResourceError)
        known = failure.message != PROCESS_DIED or not pipeline.begun
        if passes and (known or len(pipeline.queries) == 1):
            pipeline.restart()
        elif len(pipeline.queries) > 1 and pipeline.begun:
            if pipeline.tries >= TRIES:
                half = list(pipeline.queries.values())[len(pipeline.queries) // 2 :]
                why = f"pipeline '{pipeline.name}' failed: this half of its queries is on its own"
                self._divide(pipeline, half, why)
            else:
                pipeline.restart()
        else:
            for query in pipeline.queries.values():
                query.failure = failure
                query.live.failure, query.live.finished = failure.at(query.live.query.text, None), True

    def _set_apart(self, pipeline: Pipeline) -> None:
        """Give the query that holds up the others a pipeline of its own."""
        name, pipeline.dear = pipeline.dear, None
        query = pipeline.queries.get(name or "")
        if query is not None and query.failure is None and len(pipeline.queries) > 1:
            why = "it is much dearer than the others, and has a pipeline of its own"
            self._divide(pipeline, [query], why)

    def _divide(self, pipeline: Pipeline, moving: Sequence[PipelineQuery], why: str) -> None:
        """Let some queries of a pipeline go on in another."""
        pipeline.stop()  # a round that is being taken is still for all of them
        if not pipeline.settled():
            return  # nobody knows where they go on
        names = (f"{pipeline.name}-{number}" for number in count(2))
        name = next(name for name in names if name not in self._pipelines)
        other = self._pipeline(name, pipeline.settings)
        other.take_over(moving)
        for query in moving:
            query.live.apart = why
        pipeline.tries = 0
        pipeline.start()
        other.start()
