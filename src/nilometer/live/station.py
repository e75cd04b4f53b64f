"""The station: one loop in which sources fill the logs, the logs feed the queries, and the queries' demands
go to the sensors.

    manager.poll -> (log) -> manager.take -> graph.push, run -> answers
    fleet -> manager.command -> sensors

The loop runs in one thread. The law: an answer is a function of the log. So a query that is installed again
at the offset it had reached goes on as if it had never stopped, and no query can tell which others run.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl

from nilometer.catalog import Sensor, Stream, Table
from nilometer.catalog.near_misses import near_misses
from nilometer.dataflow.graph import Graph
from nilometer.dataflow.policy import Policy
from nilometer.errors import ConfigurationError, DataError, NilometerError
from nilometer.ingest.adapters import ReadResult
from nilometer.ingest.manager import StreamManager
from nilometer.live.answer_catch_up import catch_up
from nilometer.live.apart import Apart
from nilometer.live.control import control_of, folder_of, has_folder
from nilometer.live.dead_letters import write_letters
from nilometer.live.declarations import CompiledQuery, Declarations
from nilometer.live.groups import Groups, ReaderGroup
from nilometer.live.guidance import Guidance
from nilometer.live.live_query import LiveQuery
from nilometer.live.on_spark import OnSpark
from nilometer.live.outside import Outside
from nilometer.live.own_log_queries import OwnLogQueries, keeps_own_log
from nilometer.live.peers.peering import Peering
from nilometer.live.pipelines.pipelines import Pipelines
from nilometer.live.proxies import Fleet
from nilometer.live.push_sources import PushSources
from nilometer.live.query_reports import QueryReports
from nilometer.live.replaced_state import Choice
from nilometer.live.shared_queries import SharedQueries
from nilometer.live.starts import NOW, Start, offsets_at
from nilometer.live.station_settings import StationSettings
from nilometer.live.still_heap import StillHeap
from nilometer.live.stored_tables import Kept, StoredTables
from nilometer.live.stream_adapters import StreamAdapters
from nilometer.live.versions import Version, version_of
from nilometer.log import LogDirectory, Offset
from nilometer.log.private import close_to_others
from nilometer.log.results.committed import CommittedOffsets
from nilometer.plan import physical
from nilometer.spark.installed import require_spark
from nilometer.types import MILLISECOND, SECOND

HOSTS = ("gateway", "spark")
"""The hosts on which live queries run."""
PAUSE = SECOND // 4
"""The longest time that the loop waits for a source before it attends to the sensors and the clock again."""


class Station:
    """Runs live queries. `directory` holds the logs and states; without one, they last as long as the
    station. `settings` are a person's choices, `outside` has the clocks, sources and sensors."""

    def __init__(
        self,
        database: Declarations,
        directory: Path | str | None = None,
        settings: StationSettings | None = None,
        outside: Outside | None = None,
    ) -> None:
        settings, outside = settings or StationSettings(), outside or Outside()
        self._kept = None if directory is not None else tempfile.TemporaryDirectory(prefix="nilometer-")
        self.directory = Path(directory if self._kept is None else self._kept.name)  # type: ignore[arg-type]
        kept = self.directory / ".nilometer"
        if kept.exists() and not kept.is_dir():
            raise ConfigurationError(
                f"'{kept}' is no directory", hint="logs and answers are kept there: move the file away"
            )
        told = close_to_others(self.directory)
        self.notes = () if told is None else (told,)
        """Messages for people about the data directory."""
        self.database = database
        self.clock = outside.clock
        self._begin_read = outside.begin_read
        self._failpoint = outside.failpoint
        self._steady = steady = outside.steady_clock or outside.clock
        self.logs = LogDirectory(
            self.directory,
            settings.logging,
            outside.failpoint,
            committed=CommittedOffsets(self.directory),
            clock=lambda: steady() / SECOND,
        )
        self._adapters = StreamAdapters(database, self.directory, outside)
        self.manager = StreamManager(
            self.logs,
            self.clock,
            self._adapters.make,
            sensors_of=self.sensors,
            steady=outside.steady_clock,
            settings=settings.managing,
        )
        self.manager.listeners.append(self._heard)
        self.pushes = PushSources(self.manager)
        # Answers are neither dropped nor divided: a commit says that everything up to its offsets has been
        # answered. ROUND_ROWS and the bounds of the operators limit what one round answers.
        self.graph = Graph(self, answer_policy=Policy.BLOCK, answer_rows=sys.maxsize)
        self._groups = Groups(self.manager, self.graph, self.sensors)
        self.fleet = Fleet(
            self.sensors,
            self.manager.command,
            self.clock,
            self.manager.record_demand,
            mailbox=lambda stream: self._adapters.of(stream).mailbox,
            program_for=outside.program_for,
            heartbeat=settings.heartbeat,
        )
        self.guidance = Guidance(
            self.fleet,
            self.database.sql,
            lambda query, name, start: self.install(query, name, start=start),
            lambda name: self.remove(name) if name in self.queries else None,
            self.clock,
        )
        self.queries: dict[str, LiveQuery] = {}
        self._own = OwnLogQueries(
            self.directory, self.logs, self.manager, self.graph, self._groups, self, outside
        )
        self._shared = SharedQueries(
            self.directory,
            self.logs,
            self.manager,
            self.graph,
            self._groups,
            self,
            self.clock,
            outside.failpoint,
        )
        self._spark = OnSpark(self.directory, self.logs, self.manager, self.clock, outside.failpoint)
        self._pipelines = Pipelines(
            self.directory, self.logs, self.manager, self._shared, self.clock, self._stored_tables
        )
        self._apart = Apart(steady, self._own_times)
        self.heap = StillHeap()
        self._numbers = self._together = 0
        self._expected: dict[str, Stream] = {}
        """The streams of queries that are being installed together."""
        self.reports = QueryReports(
            self.queries,
            self.graph,
            self.manager,
            self._groups,
            self._own,
            self._shared,
            self._spark,
            self._pipelines,
            self.clock,
        )

    @property
    def peering(self) -> Peering | None:
        """The other gateways of a ring (live/peers), if this one is a peer."""
        return self._adapters.peering

    @peering.setter
    def peering(self, peering: Peering) -> None:
        self._adapters.peering = peering

    # ---- queries come and go -----------------------------------------------------------------------------------------

    def install(
        self,
        query: CompiledQuery,
        name: str | None = None,
        *,
        start: Start = NOW,
        durable: bool = False,
        on: str = "gateway",
        state: Choice | None = None,
        same_state: Sequence[Version] = (),
        stops: bool | None = None,
        pipeline: str | None = None,
    ) -> LiveQuery:
        """Run a query from now, from the beginning of the logs, or from a time. A durable query goes on from
        where it was when it, or the machine, last stopped. If its text has changed, `state` says where its state
        comes from; `same_state` are older versions whose state is the same (replaced_state.py). `stops`: a row
        without a value stops it; otherwise that row is set aside (dead_letters.py). By default a durable query goes
        on, and one that a person waits for stops. `pipeline` is the one that a durable query on Spark runs in."""
        stops = not durable if stops is None else stops
        query = query.standing()
        if name is None:
            self._numbers += 1
            name = f"query-{self._numbers}"
        if durable:
            asked = control_of(self.directory, name).start if has_folder(self.directory, name) else None
            start = start if asked is None else asked
        if self.peering is not None and on == "gateway":
            query = self.peering.overlay(name, query, start, standing=durable)
        if name in self.queries:
            raise ConfigurationError(
                f"a query '{name}' is running already", hint="remove it, or name this one otherwise"
            )
        if on not in HOSTS:
            raise ConfigurationError(f"live queries do not run on '{on}'", hint=near_misses(on, HOSTS))
        streams = physical.streams_of(query.physical)
        self.catch_up(streams)
        if on == "spark" and durable:
            require_spark()
            live = self._pipelines.install(
                name,
                query,
                streams,
                start,
                state,
                same_state=same_state,
                stops=stops,
                pipeline=pipeline,
                at_once=not self._together,
            )
        elif on == "spark":
            live = self._spark.install(name, query, streams, start, stops=stops)
        elif durable and not keeps_own_log(query):
            tables_of = partial(self._tables_of, name, query)
            live = self._shared.install(
                name, query, streams, start, tables_of, state, same_state=same_state, stops=stops
            )
            if not self._together:
                self._shared.record(name)
        elif durable:
            self._shared.hand_over(name)
            live = self._own.install(name, query, streams, start, state, same_state=same_state, stops=stops)
        else:
            logs = {key: self.logs.log(stream) for key, stream in streams.items()}
            offsets = offsets_at(logs, start)
            live = self._add(name, query, streams, offsets, stops=stops)
        self.queries[name] = live
        if self.peering is not None and name in self.peering.notes:
            live.note = "; ".join(filter(None, (live.note, self.peering.notes[name])))
        self.fleet.start(name, query.physical, summaries=on != "spark")
        self.guidance.start(name, query.physical)
        if self._together:
            self._expected |= streams
        else:
            self._expect(streams)
            self.heap.came(len(self.queries))
        return live

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Install many standing queries with one commit: they are durable at the end of the `with`."""
        self._together += 1
        self._shared.held_logs = {}
        # Garbage is looked for once at the end, not again and again in all queries while thousands of them are made.
        collects = gc.isenabled()
        gc.disable()
        try:
            with self.fleet.together():
                yield
        finally:
            if collects:
                gc.enable()
            self._together -= 1
            if not self._together:
                self._shared.held_logs = None
                self._shared.record()
                self._pipelines.begin()
                expected, self._expected = self._expected, {}
                self._expect(expected)
                self.heap.came(len(self.queries))

    def remove(self, name: str) -> dict[str, Offset]:
        """Stop a query. Sensors that no other query needs may sleep. A durable query can be installed again; it
        goes on at the returned offsets."""
        live = self.queries.pop(name, None)
        if live is None:
            raise ConfigurationError(
                f"no query '{name}' is running", hint=f"running: {', '.join(self.queries) or 'none'}"
            )
        self.heap.left()
        self.fleet.stop(name)
        if self.peering is not None:
            self.peering.removed(name)
        self.guidance.stop(name)
        if name in self._spark:
            self._expect(physical.streams_of(live.query.physical))
            return dict(self._spark.remove(live).offsets)
        if name in self._pipelines:
            self._expect(physical.streams_of(live.query.physical))
            return self._pipelines.remove(live)
        self._expect(self._groups.of(live).streams)
        if name in self._shared:
            self._shared.begin()
            self.graph.run()
            self._write_letters({**self.queries, name: live})
            self._settle_shared(at_once=True, leaving=live)
            left = self._shared.remove(live)
            self._groups.leave(live)
            return left
        self.graph.run()
        self._write_letters({**self.queries, name: live})
        self._settle(live, all_of_it=True)
        left = dict(live.offsets)
        self._groups.leave(live)
        return self._own.remove(name) if name in self._own else left

    def end_readers(self, stream: str) -> None:
        """The stream is declared anew. The queries that still read it as it was end, and say so."""
        for live in list(self.queries.values()):
            if live.name in self.queries and stream.lower() in physical.streams_of(live.query.physical):
                self.remove(live.name)
                live.failure = ConfigurationError(
                    f"stream '{stream}' was replaced while the query read it",
                    hint="ask again; the query then reads the stream as it is declared now",
                )
                live.finished = True

    def _add(
        self,
        name: str,
        query: CompiledQuery,
        streams: dict[str, Stream],
        offsets: dict[str, Offset],
        *,
        stops: bool,
    ) -> LiveQuery:
        """Add the query to the group that is at these offsets, or to a new group."""
        group = self._groups.at(streams, offsets)
        if group is not None:
            return self._groups.fold(name, query, group, stops=stops)
        tables = self._no_tables()
        group = self._groups.begin(name, streams, offsets, tables)
        try:
            live = self._groups.fold(name, query, group, stops=stops)
            self.manager.register(group.name, streams.values(), offsets)
        except BaseException:
            self._groups.abolish(name, group)
            raise
        return live

    # ---- the loop ----------------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """Run the loop once. Returns whether anything happened."""
        moved = self.manager.poll()
        began = self._steady()
        self._shared.begin()
        fed = [(group, self._feed(group)) for group in self._groups if not group.apart]
        moved |= any(new for _, new in fed)
        dear = self._timed(self.graph.run)
        for group in self._groups:
            if group.apart and self._apart.due(group):
                fed.append((group, new := self._feed(group)))
                moved |= new
                started = self._apart.clock()
                self.graph.run()
                self._apart.rested(group, self._apart.clock() - started)
        for group, new in fed:
            self._groups.refresh(group, self.clock(), caught_up=not new)
            self._look_at(group)
        self._write_letters(self.queries)
        self._settle_shared()
        for name in [*self.graph.ready, *self._own]:
            if name in self.queries:
                self._settle(self.queries[name])
        if dear is not None and dear in self.queries:
            self.set_apart(dear)
        if moved:
            self.reports.round_milliseconds = round((self._steady() - began) / MILLISECOND)
        for name in self._spark.names:
            if name in self.queries:
                moved |= self._spark.follow(self.queries[name])
        moved |= self._pipelines.follow()
        self._expect(self.guidance.follow())
        self.fleet.tick(self.clock())
        self._promise()
        return moved

    def _timed(self, run: Callable[[], None]) -> str | None:
        """Run a round of the queries that are together. Returns one that holds up the others."""
        started = self._apart.clock()
        run()
        return self._apart.ran(self._apart.clock() - started)

    def _own_times(self) -> dict[str, int]:
        """The time, in microseconds, of each standing query that is with others."""
        return {
            name: time // 1_000
            for group in self._groups
            if group.number >= 0 and not group.apart and len(group.queries) > 1
            for name, time in self.graph.own_times(group.name).items()
        }

    def run(self, until: Callable[[], bool]) -> None:
        """Run the loop until `until` returns true, or until all queries end because their sources have."""
        while not until() and not self.finished:
            self.advance()

    def advance(self) -> None:
        """Run the loop once, and wait for a source if nothing happened."""
        if not self.step():
            self.manager.wait(self.clock() + PAUSE)

    def rows(self, live: LiveQuery, until: Callable[[], bool] = lambda: False) -> Iterator[dict[str, Any]]:
        """A query's rows as dictionaries, as they come, until `until` returns true or its sources end."""
        while True:
            over = until() or live.finished
            for answer in live.take():
                yield from answer
            if over:
                return
            self.advance()

    @property
    def finished(self) -> bool:
        """Whether every query has read all its streams to the end, or has failed."""
        return bool(self.queries) and all(live.finished for live in self.queries.values())

    def _feed(self, group: ReaderGroup) -> bool:
        """Feed new entries to a group, unless its answers wait for room on the disk, or for a slow client."""
        if group.number >= 0:
            if self._shared.trouble is not None or group.replay is not None:
                return False
        else:
            self._detach_slow(group)
            if len(group.queries) == 1 and all(self.queries[name].full for name in group.queries):
                return False
        if self._own.waits(group):
            return False
        if all(self.queries[name].failure is not None for name in group.queries):
            return False
        try:
            durable = group.number >= 0 or any(name in group.queries for name in self._own)
            before = group.skipped
            moved = self._groups.feed(group, durable=durable)
            if group.number >= 0 and group.skipped > before:
                self._shared.note_trimmed(group.queries, group.skipped - before)
            return moved
        except DataError as error:
            # Damage in a log stops those who read it there, and nobody else.
            for live in (self.queries[name] for name in group.queries):
                live.failure, live.finished = error, True
            return False

    def _detach_slow(self, group: ReaderGroup) -> None:
        """Give the queries whose clients are slow readers of their own, at the same place of the logs and with the same
        state: they fall behind alone."""
        for live in [self.queries[name] for name in group.queries if self.queries[name].full]:
            # One that joins tables stays: beyond WAITING_ROWS its oldest rows are dropped, and its client is told.
            if len(group.queries) > 1 and not group.ended and not physical.tables_of(live.query.physical):
                self._groups.set_apart(live, group, self._no_tables())

    def _tables_of(self, name: str, query: CompiledQuery, restored: bool) -> StoredTables:
        """The tables of a standing query on the gateway; most join none."""
        if not physical.tables_of(query.physical):
            return self._no_tables()
        return self._stored_tables(name, query, version_of(query), restored)

    def _stored_tables(
        self, name: str, query: CompiledQuery, meaning: Version, restored: bool
    ) -> StoredTables:
        """The tables of a standing query, with the versions that it has met. `restored`: it goes on with a state."""
        return StoredTables(
            physical.tables_of(query.physical),
            self.table,
            self.clock(),
            Kept(folder_of(self.directory, name), meaning.name, self._failpoint, meaning.same_plan),
            self._begin_read,
            restored=restored,
        )

    def _no_tables(self) -> StoredTables:
        return StoredTables({}, self.table, self.clock(), begin=self._begin_read)

    def set_apart(self, name: str) -> None:
        """Give a standing query that is much dearer than the others a reader of its own: it falls behind alone."""
        group = self._groups.of(live := self.queries[name])
        if name not in self._shared or group.apart or len(group.queries) < 2 or live.failure is not None:
            return
        self._settle_shared(at_once=True)
        if self._shared.trouble is None and live.failure is None:
            self._shared.set_apart(live)
            live.apart = "it is much dearer than the others, and has a reader of its own"

    def _look_at(self, group: ReaderGroup) -> None:
        """Tell the queries of a group what has happened to all of them."""
        ended = len(group.ended) == len(group.streams)
        trouble = group.unread or group.tables.trouble
        if ended or trouble != group.trouble or self._shared.trouble != group.waits:
            for name in group.queries:
                live = self.queries[name]
                live.stale = trouble
                if group.number >= 0:
                    live.trouble = self._shared.trouble
                live.finished = live.failure is not None or (ended and name not in self.graph.ready)
            group.trouble, group.waits = trouble, self._shared.trouble

    def _write_letters(self, lives: Mapping[str, LiveQuery]) -> None:
        """Write down the rows that queries have set aside, before the answers without them are committed."""
        for name in list(self.graph.lettered):
            letters = self.graph.letters(name)
            if name in lives and letters:
                lives[name].dead = letters[-1].reason
                if name in self._shared or name in self._own:
                    write_letters(self.directory, name, letters)

    def _settle_shared(self, *, at_once: bool = False, leaving: LiveQuery | None = None) -> None:
        """Fetch and commit the answers of all queries that commit together."""
        lives = self.queries if leaving is None else {**self.queries, leaving.name: leaving}
        ready = [lives[name] for name in list(self.graph.ready) if name in self._shared and name in lives]
        self._shared.settle(ready, at_once=at_once)

    def _settle(self, live: LiveQuery, *, all_of_it: bool = False) -> None:
        """Fetch a query's answers, and commit those of a durable one."""
        if live.failure is not None:
            return
        group = self._groups.of(live)
        try:
            frames = self.graph.answers(live.name)
        except NilometerError as error:
            live.failure, live.finished = error.at(live.query.text, None), True
            return
        live.give(frames)
        live.finished = len(group.ended) == len(group.streams) and not frames
        if live.name in self._own:
            self._own.commit(live, frames, all_of_it=all_of_it)

    def catch_up(self, streams: Mapping[str, Stream]) -> None:
        """Let the streams of standing queries' answers hold all answers so far."""
        if catch_up(self.manager, self._adapters, streams) and self._together:
            self._shared.held_logs = {}

    # ---- sensors -----------------------------------------------------------------------------------------------------

    def _heard(self, stream: str, result: ReadResult) -> None:
        self.fleet.heard(self.database.catalog.stream(stream).name, result)

    def _expect(self, streams: Mapping[str, Stream]) -> None:
        """Expect the readings that the demand asks for; only they can be missing. Nothing is expected of
        sensors that filter."""
        for key, stream in streams.items():
            demand = self.fleet.demand(stream.name)
            owed = None if demand is None or demand.thins else min(demand.intervals, default=None)
            self.manager.expect(key, owed, self.fleet.intervals(stream.name))

    def _promise(self) -> None:
        """Advance event time without readings, by a heartbeat, where all sensors of a stream have promised to
        send nothing earlier."""
        read = [stream for group in self._groups for stream in group.streams.values()]
        for stream in {
            stream.name: stream for stream in (*read, *self._spark.streams, *self._pipelines.streams)
        }.values():
            tick = self.fleet.promise(stream.name)
            if tick is not None:
                self.manager.heartbeat(stream.name, tick)

    # ---- what the graph and the manager ask for ----------------------------------------------------------------------

    def table(self, table: Table) -> pl.DataFrame:
        """The snapshot of a stored extent."""
        return self.database.data.table(table, self.database.catalog)

    def sensors(self, stream: Stream) -> Sequence[Sensor]:
        """The declared sensors of a stream."""
        return self.database.catalog.sensors(stream.name)

    # ---- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Commit, make everything durable, and release all resources."""
        self.remove_together()
        for name in list(self.queries):
            if name in self.queries:  # a query of the station's own goes with the last that needs it
                self.remove(name)
        self.heap.thaw()
        self.manager.close()
        if self._kept is not None:
            self._kept.cleanup()

    def remove_together(self) -> None:
        """Stop all standing queries that commit together, with one commit and one checkpoint."""
        on_spark = set(self._pipelines.stop_all())
        together = [live for name, live in self.queries.items() if name in self._shared or name in on_spark]
        self._shared.begin()
        self.graph.run()
        self._settle_shared(at_once=True)
        self._shared.close()
        with self.fleet.together():
            for live in together:
                self.fleet.stop(live.name)
                del self.queries[live.name]
                if live.name not in on_spark:
                    self._groups.leave(live)
        for live in together:
            self.guidance.stop(live.name)
        self.heap.left(len(together))

    def abandon(self) -> None:
        """Release everything without a commit, as if the process had died."""
        self._groups.abandon()
        self._own.abandon()
        self._pipelines.abandon()
        self._shared.abandon()
        self._spark.abandon()
        self.queries.clear()
        self.heap.thaw()
        self.manager.abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
