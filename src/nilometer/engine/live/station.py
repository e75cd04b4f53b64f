"""The station: one loop in which sources fill the logs, the logs feed the queries, and the queries tell the sensors.

    manager.poll -> (log) -> manager.take -> fjord.push, run -> answers            fleet -> manager.command -> sensors

One thread. The law: an answer is a function of the log, so a query that is installed again at the offset where it stood
goes on as if nothing had happened; and no query can tell which others run.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl

from nilometer.catalog import Sensor, Stream, Table
from nilometer.catalog.near_misses import near_misses
from nilometer.edge.adapters import Adapter, Clock, ReadResult, adapter_for
from nilometer.edge.adapters.generate import Generators
from nilometer.edge.buffers import Outcome, Policy
from nilometer.edge.fjord import ANSWER_ROWS, Fjord
from nilometer.edge.gateway import Batch, Entry, TableVersion
from nilometer.edge.ledger import QueryLedger
from nilometer.edge.log import LogDirectory, LogSettings, Offset
from nilometer.edge.log.failpoints import Failpoint
from nilometer.edge.manager import ManagerSettings, StreamManager, running
from nilometer.edge.manager.source import AdapterFor
from nilometer.edge.proxies import Fleet
from nilometer.edge.proxies.fleet import Programs
from nilometer.engine.database import Database
from nilometer.engine.live.background_read import BackgroundRead, Read, Reading
from nilometer.engine.live.control import control_of, folder_of
from nilometer.engine.live.identity import identity_of
from nilometer.engine.live.live_query import LiveQuery
from nilometer.engine.live.on_spark import OnSpark
from nilometer.engine.live.query_metrics import QueryMetrics, completeness_of
from nilometer.engine.live.standing import Standing, reader_of
from nilometer.engine.live.starts import NOW, Start, offset_at
from nilometer.engine.live.stored_tables import GroupExtents, Kept, StoredTables, greatest_time
from nilometer.engine.query import Query
from nilometer.errors import ConfigurationError, NilometerError
from nilometer.plan import physical
from nilometer.types import INT_MAXIMUM, INT_MINIMUM, SECOND

ROUND_ROWS = 262_144
"""So many rows of a group are taken before the Fjord runs."""

HOSTS = ("gateway", "spark")
"""Where live queries run."""

PAUSE = SECOND // 4
"""How long the loop waits for a source, at most, before it looks after the sensors and the clock again."""


def system_clock() -> int:
    """The present moment in microseconds since the epoch."""
    return time.time_ns() // 1_000


@dataclass
class Group:
    """Queries that began at one place in the same streams' logs: one reader for all of them."""

    name: str
    streams: dict[str, Stream]
    offsets: dict[str, Offset]
    queries: list[str] = field(default_factory=list)
    moved: bool = False
    ended: set[str] = field(default_factory=set)
    tables: StoredTables | None = None


class Station:
    """Runs live queries. `directory` is where logs and states are kept; without one, for as long as the station lives.
    `adapter_of` makes a stream's source, by default from its address; `heartbeat` is how often sensors that filter say that they have nothing to say;
    `begin_read` how tables are read anew, by default in a thread."""

    def __init__(
        self,
        database: Database,
        directory: Path | str | None = None,
        *,
        clock: Clock = system_clock,
        steady: Clock | None = None,
        generators: Generators | None = None,
        adapter_of: AdapterFor | None = None,
        program_for: Programs = lambda *_: None,
        heartbeat: int = 10 * SECOND,
        logging: LogSettings | None = None,
        managing: ManagerSettings | None = None,
        answer_rows: int = ANSWER_ROWS,
        failpoint: Failpoint | None = None,
        begin_read: Callable[[Read], Reading] = BackgroundRead,
    ) -> None:
        self._kept = None if directory is not None else tempfile.TemporaryDirectory(prefix="nilometer-")
        self.directory = Path(directory if self._kept is None else self._kept.name)  # type: ignore[arg-type]
        kept = self.directory / ".nilometer"
        if kept.exists() and not kept.is_dir():
            raise ConfigurationError(
                f"'{kept}' is no directory", hint="logs and answers are kept there: move the file away"
            )
        self.database = database
        self.clock = clock
        self._generators = generators
        self._failpoint = failpoint
        self._begin_read = begin_read
        self.logs = LogDirectory(self.directory, logging, failpoint)
        self._adapters: dict[str, Adapter] = {}
        self._adapter_of = adapter_of or self._by_address
        self.manager = StreamManager(
            self.logs,
            clock,
            self._adapter,
            sensors_of=self.sensors,
            # The wall clock may jump; a clock that is given runs as it is given.
            steady=running if steady is None and clock is system_clock else steady,
            settings=managing,
        )
        self.manager.listeners.append(self._heard)
        # Answers are never dropped on the way: a commit says that all up to its offsets is answered.
        self.fjord = Fjord(self, answer_policy=Policy.BLOCK, answer_rows=answer_rows)
        self._answers: dict[str, list[pl.DataFrame]] = {}
        self._failed: dict[str, NilometerError] = {}
        self.fleet = Fleet(
            self.sensors,
            self.manager.command,
            clock,
            self.manager.record_demand,
            mailbox=lambda stream: self._adapters[stream.lower()].mailbox,
            program_for=program_for,
            heartbeat=heartbeat,
        )
        self.queries: dict[str, LiveQuery] = {}
        self._standing: dict[str, Standing] = {}
        self._spark = OnSpark(self.directory, self.logs, self.manager, clock, failpoint)
        self._groups: dict[str, Group] = {}
        self._numbers = 0
        self._round_milliseconds: int | None = None

    # ---- queries come and go -----------------------------------------------------------------------------------------

    def install(
        self,
        query: Query,
        name: str | None = None,
        *,
        start: Start = NOW,
        durable: bool = False,
        on: str = "gateway",
    ) -> LiveQuery:
        """Let a query run from now on, from the beginning of the logs, or from a time. A durable one goes on where it stood
        when it, or the machine, was last stopped."""
        if name is None:
            self._numbers += 1
            name = f"query-{self._numbers}"
        if name in self.queries:
            raise ConfigurationError(
                f"a query '{name}' is running already", hint="remove it, or name this one otherwise"
            )
        if on not in HOSTS:
            raise ConfigurationError(f"live queries do not run on '{on}'", hint=near_misses(on, HOSTS))
        streams = physical.streams_of(query.physical)
        if durable:
            asked = control_of(self.directory, name).start
            start = start if asked is None else asked
        if on == "spark":
            live = self._spark.install(name, query, streams, start, durable=durable)
        elif durable:
            standing = Standing(self.directory, name, query, self._failpoint)
            try:
                live = self._resume(name, query, streams, standing, start)
            except BaseException:
                standing.close()
                raise
            self._standing[name] = standing
        else:
            offsets = {key: offset_at(self.logs.log(stream), start) for key, stream in streams.items()}
            live = self._add(name, query, streams, offsets)
        self.queries[name] = live
        self.fleet.start(name, query.physical)
        self._expect(streams)
        return live

    def remove(self, name: str) -> None:
        """Stop a query; its sensors may sleep if nobody else asks them. A durable one can be installed again."""
        live = self.queries.pop(name, None)
        if live is None:
            raise ConfigurationError(
                f"no query '{name}' is running", hint=f"running: {', '.join(self.queries) or 'none'}"
            )
        self.fleet.stop(name)
        if name in self._spark:
            self._expect(physical.streams_of(live.query.physical))
            self._spark.remove(live)
            return
        self._work()
        self._settle(live, all_of_it=True)
        self._failed.pop(name, None)
        self.fjord.remove(name)
        group = self._groups[live.group]
        self._expect(group.streams)
        group.queries.remove(name)
        if not group.queries and group.tables is not None:
            group.tables.close()
        standing = self._standing.pop(name, None)
        if standing is not None:
            standing.close()
        if not group.queries:
            self.manager.unregister(group.name)
            del self._groups[group.name]

    def _add(
        self, name: str, query: Query, streams: dict[str, Stream], offsets: dict[str, Offset]
    ) -> LiveQuery:
        """Into the group that stands at these offsets, or a new one."""
        group = next(
            (
                group
                for group in self._groups.values()
                if not group.moved and group.streams.keys() == streams.keys() and group.offsets == offsets
            ),
            None,
        )
        if group is not None:
            return self._fold(name, query, group)
        group = self._group(name, streams, offsets)
        group.tables = StoredTables({}, self.table, self.clock(), begin=self._begin_read)
        try:
            live = self._fold(name, query, group)
            self.manager.register(group.name, streams.values(), offsets)
        except BaseException:
            self._abolish(name, group)
            raise
        return live

    def _group(self, name: str, streams: dict[str, Stream], offsets: dict[str, Offset]) -> Group:
        self._numbers += 1
        group = Group(f"{name}@{self._numbers}", streams, dict(offsets))
        self._groups[group.name] = group
        return group

    def _abolish(self, name: str, group: Group) -> None:
        """A query that could not be installed leaves nothing behind."""
        if name in self.fjord.queries:
            self.fjord.remove(name)
        if group.tables is not None:
            group.tables.close()
        del self._groups[group.name]

    def _fold(self, name: str, query: Query, group: Group) -> LiveQuery:
        extents = None if group.tables is None else GroupExtents(group.tables, self.sensors)
        self.fjord.install(name, query.physical, start=group.name, extents=extents)
        group.queries.append(name)
        return LiveQuery(name, query, group.name, group.offsets)

    def _resume(
        self, name: str, query: Query, streams: dict[str, Stream], standing: Standing, start: Start
    ) -> LiveQuery:
        """A durable query, in a group of its own: its state is nobody else's."""
        recovered = standing.recovered
        logs = {key: self.logs.log(stream) for key, stream in streams.items()}
        if recovered is None:
            offsets = {key: offset_at(log, start) for key, log in logs.items()}
        else:
            # A stream that the query did not read before begins where it is now; and so does one whose log has lost its end.
            offsets = {key: min(recovered.committed.get(key, log.end), log.end) for key, log in logs.items()}
        trimmed = standing.find_trimmed(logs)
        # What retention was forced to take cannot be read any more.
        offsets = {key: max(offset, logs[key].start) for key, offset in offsets.items()}
        group = self._group(name, streams, offsets)
        try:
            group.tables = StoredTables(
                physical.tables_of(query.physical),
                self.table,
                self.clock(),
                Kept(folder_of(self.directory, name), standing.version, self._failpoint),
                self._begin_read,
                restored=recovered is not None and bool(recovered.panes),
            )
            live = self._fold(name, query, group)
            if recovered is not None:
                if recovered.panes:
                    self.fjord.restore(name, recovered.panes)
                self._replay(name, group, recovered.start)
            standing.begin(offsets, self.clock(), logs)
            self.manager.register(group.name, streams.values(), offsets)
        except BaseException:
            self._abolish(name, group)
            raise
        for key in set(self.logs.streams()) - streams.keys():
            # An older version may have read it.
            self.logs.log(key).forget_reader(reader_of(name))
        live.rows = standing.rows
        live.note = standing.note(name)
        if trimmed:
            live.trimmed = trimmed.unread
            live.note = f"{live.note}; {trimmed}"
        group.moved = True
        return live

    def _replay(self, name: str, group: Group, start: Mapping[str, Offset]) -> None:
        """Read again what the query has answered, from its checkpoint to its last commit, and throw the answers away."""
        logs = {
            key: self.logs.log(stream).read(start.get(key, group.offsets[key]))
            for key, stream in group.streams.items()
        }
        while logs:
            # The stream that is furthest behind comes next, so that windows stay the bound of memory.
            key = min(logs, key=lambda stream: self.fjord.stream_watermark(name, stream))
            until = group.offsets[key]
            entry = next(logs[key], None)
            if entry is None or Offset(entry.after.number - 1, entry.position) >= until:
                del logs[key]
                continue
            if entry.after > until and entry.rows is not None:
                entry = replace(entry, rows=entry.rows[: until.position - entry.position])
            self._push(group, key, entry.entry())
            self._work()
            self._answers.pop(name, None)

    # ---- the loop ----------------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """One turn of everything; whether anything moved."""
        moved = self.manager.poll()
        began = time.perf_counter()
        fed = {name: self._feed(group) for name, group in list(self._groups.items())}
        moved |= any(fed.values())
        self._work()
        for name, group in self._groups.items():
            self._refresh(group, caught_up=not fed[name])
        for live in list(self.queries.values()):
            if live.name not in self._spark:
                self._settle(live)
        if moved:
            self._round_milliseconds = round(1_000 * (time.perf_counter() - began))
        for live in list(self.queries.values()):
            if live.name in self._spark:
                moved |= self._spark.follow(live)
        self.fleet.tick(self.clock())
        self._promise()
        return moved

    def run(self, until: Callable[[], bool]) -> None:
        """Turn until told to stop, or until every query has ended because its sources have."""
        while not until() and not self.finished:
            if not self.step():
                self.manager.wait(self.clock() + PAUSE)

    def rows(self, live: LiveQuery, until: Callable[[], bool] = lambda: False) -> Iterator[dict[str, Any]]:
        """A query's rows as they come, as dictionaries, until told to stop or its sources have ended."""
        while True:
            over = until() or live.finished
            for answer in live.take():
                yield from answer
            if over:
                return
            if not self.step():
                self.manager.wait(self.clock() + PAUSE)

    @property
    def finished(self) -> bool:
        """Whether all queries have seen the end of all their streams, or failed."""
        return bool(self.queries) and all(live.finished for live in self.queries.values())

    def metrics(self, name: str) -> QueryMetrics:
        """How a query does."""
        live, now = self.queries[name], self.clock()
        took: int | None
        if name in self._spark:
            spark = self._spark[name]
            host, version, earlier = "spark", spark.version, spark.earlier
            found = spark.metrics
            state, took = (found.state_panes, found.state_bytes), found.batch_milliseconds
        else:
            standing = self._standing.get(name)
            host, version = "gateway", "" if standing is None else standing.version
            earlier = QueryLedger() if standing is None else standing.earlier
            state, took = (0, 0) if standing is None else standing.state, self._round_milliseconds
        tables = self._groups[live.group].tables if live.group in self._groups else None
        ledger = earlier + live.ledger
        # Before the first reading, and after the end, event time is nowhere.
        heard = live.watermark not in (None, INT_MINIMUM, INT_MAXIMUM)
        watermark = live.watermark if heard else None
        return QueryMetrics(
            now,
            host,
            version,
            ledger.read,
            live.rows,
            ledger.late,
            watermark,
            None if watermark is None else now - watermark,
            took,
            *state,
            completeness_of(self.manager, physical.streams_of(live.query.physical)),
            live.failure is not None,
            (live.trouble or live.stale) if live.failure is None else live.failure.message,
            0 if tables is None else tables.reads,
            0 if tables is None else tables.failures,
        )

    def _push(self, group: Group, stream: str, entry: Entry) -> None:
        """An entry to the queries of a group, after the recorded versions of tables that it meets; where answers are in the way, they
        are fetched first."""
        if group.tables is not None and group.tables.replaying:
            self._hand(group, group.tables.recorded(greatest_time(entry)))
        while self.fjord.push(stream, entry, start=group.name) is Outcome.FULL:
            self._work()

    def _work(self) -> None:
        """Let the Fjord work until all that was pushed is answered, and fetch the answers of all queries."""
        more = True
        while more:
            self.fjord.run()
            more = False
            for name in self.fjord.queries:
                if name in self._failed:
                    continue
                try:
                    frames = self.fjord.answers(name)
                except NilometerError as error:
                    self._failed[name] = error
                    continue
                if frames:
                    self._answers.setdefault(name, []).extend(frames)
                    more = True

    def _feed(self, group: Group) -> bool:
        rows, moved = 0, False
        if any(name in self._standing and self._standing[name].trouble for name in group.queries):
            return False
        while rows < ROUND_ROWS and (taken := self.manager.take(group.name)) is not None:
            name, entry = taken
            self._push(group, name, entry)
            rows += entry.rows.height if isinstance(entry, Batch) else 1
            moved = True
        group.moved |= moved
        group.offsets.update(self.manager.offsets(group.name))
        if not moved:
            for key, stream in group.streams.items():
                if key not in group.ended and self.manager.ended(stream.name):
                    group.ended.add(key)
                    # For a durable query a source's end is no end: its log may grow again, and the end is not in it.
                    if not any(name in self._standing for name in group.queries):
                        self.fjord.end(key, start=group.name)
                    moved = True
        return moved

    def _refresh(self, group: Group, *, caught_up: bool) -> None:
        """Tables that are due are read anew; those that have changed hold from beyond what the queries of the group have answered."""
        tables = group.tables
        if tables is None or not group.streams:
            return
        if caught_up:
            # Nothing waits that they would have to keep apart: so that tables can be read anew before the next reading comes.
            self._hand(group, tables.recorded(INT_MAXIMUM))
        now = self.clock()
        if tables.due(now):
            self._hand(group, tables.refreshed(self.fjord.frontier(group.name), now))
        for name in group.queries:
            self.queries[name].stale = tables.trouble

    def _hand(self, group: Group, versions: Iterable[TableVersion]) -> None:
        for version in versions:
            self.fjord.refresh(version, start=group.name)
            group.moved = True

    def _settle(self, live: LiveQuery, *, all_of_it: bool = False) -> None:
        """Fetch a query's answers, and commit those of a durable one."""
        if live.failure is not None:
            return
        group = self._groups[live.group]
        frames = self._answers.pop(live.name, [])
        failure = self._failed.get(live.name)
        if failure is not None and not frames:
            live.failure, live.finished = failure.at(live.query.text, None), True
            return
        live.ledger = self.fjord.ledger(live.name)
        live.watermark = self.fjord.watermark(live.name)
        live.give(frames)
        live.finished = len(group.ended) == len(group.streams) and not frames
        standing = self._standing.get(live.name)
        if standing is not None:
            standing.commit(
                frames,
                group.offsets,
                live.ledger,
                lambda: self.fjord.snapshot(live.name),
                self.clock(),
                all_of_it=all_of_it,
            )
            live.trouble = standing.trouble

    # ---- sensors -----------------------------------------------------------------------------------------------------

    def _heard(self, stream: str, result: ReadResult) -> None:
        self.fleet.heard(self.database.catalog.stream(stream).name, result)

    def _expect(self, streams: Mapping[str, Stream]) -> None:
        """What is asked of sensors is what may be missed. Those that filter owe nobody a reading."""
        for key, stream in streams.items():
            demand = self.fleet.demand(stream.name)
            owed = None if demand is None or demand.predicate is not None else demand.interval
            self.manager.expect(key, owed, self.fleet.intervals(stream.name))

    def _promise(self) -> None:
        """Where all sensors of a stream promise that nothing earlier comes, event time goes on without a reading."""
        read = [stream for group in self._groups.values() for stream in group.streams.values()]
        for stream in {stream.name: stream for stream in (*read, *self._spark.streams)}.values():
            tick = self.fleet.promise(stream.name)
            if tick is not None:
                self.manager.heartbeat(stream.name, tick)

    # ---- what the Fjord and the manager ask for ----------------------------------------------------------------------

    def table(self, table: Table) -> pl.DataFrame:
        """The snapshot of a stored extent."""
        return self.database.data.table(table, self.database.catalog)

    def sensors(self, stream: Stream) -> Sequence[Sensor]:
        """The declared sensors of a stream."""
        return self.database.catalog.sensors(stream.name)

    def _adapter(self, stream: Stream, clock: Clock) -> Adapter:
        adapter = self._adapters[stream.name.lower()] = self._adapter_of(stream, clock)
        return adapter

    def _by_address(self, stream: Stream, clock: Clock) -> Adapter:
        """A file that was attached, or the stream's own address."""
        path = self.database.data.files.get(stream.name.lower())
        url = None if path is None else f"file://{path.resolve()}"
        identity = identity_of(self.directory)
        return adapter_for(stream, clock, url=url, generators=self._generators, identity=identity)

    # ---- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Commit, make everything durable, and let go."""
        for name in list(self.queries):
            self.remove(name)
        self.manager.close()
        if self._kept is not None:
            self._kept.cleanup()

    def abandon(self) -> None:
        """Let go of everything as the death of the process would."""
        for group in self._groups.values():
            if group.tables is not None:
                group.tables.abandon()
        for standing in self._standing.values():
            standing.abandon()
        self._standing.clear()
        self._spark.abandon()
        self.queries.clear()
        self.manager.abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
