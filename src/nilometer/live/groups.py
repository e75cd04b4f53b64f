"""Groups live queries by the offsets at which they began: one reader of the logs for each group, and one
graph for all.

manager.take -> (the versions of tables that an entry meets) -> graph.push
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nilometer.catalog import Sensor, Stream
from nilometer.dataflow import Batch, Entry, TableVersion
from nilometer.dataflow.graph import Graph
from nilometer.dataflow.sources import greatest_time
from nilometer.errors import ResourceError
from nilometer.ingest.manager import StreamManager
from nilometer.live.declarations import CompiledQuery
from nilometer.live.live_query import LiveQuery
from nilometer.live.stored_tables import GroupExtents, StoredTables
from nilometer.log import LogDirectory, Offset, StreamLog
from nilometer.log.results.eras import Era
from nilometer.types import INT_MAXIMUM

ROUND_ROWS = 262_144
"""The number of rows that a group takes before the graph runs."""


@dataclass
class ReaderGroup:
    """Queries at the same offsets of the same streams. They share one reader, and one version of each table.

    `number` is the group's in the commit log; -1: its queries do not commit together. `replay`: where its queries
    must begin to read again, before they get anything new, and `eras` how its streams were declared then. `apart`:
    it stays alone, because it is slow (apart.py): it rests until a moment, and takes so many rows in a round.
    """

    name: str
    streams: dict[str, Stream]
    offsets: dict[str, Offset]
    tables: StoredTables
    queries: dict[str, None] = field(default_factory=dict)
    number: int = -1
    replay: dict[str, Offset] | None = None
    eras: tuple[Era, ...] = ()
    apart: bool = False
    rests_until: int = 0
    round_rows: int = ROUND_ROWS
    moved: bool = False
    skipped: int = 0
    """The readings that were trimmed from the logs before its queries had read them."""
    ended: set[str] = field(default_factory=set)
    unread: str | None = None
    """Why its logs cannot be read now; they are tried again in the next round."""
    trouble: str | None = None
    waits: str | None = None


class Groups:
    """All groups. The answers of their queries wait in the graph until the station commits them."""

    def __init__(
        self, manager: StreamManager, graph: Graph, sensors: Callable[[Stream], Sequence[Sensor]]
    ) -> None:
        self._manager = manager
        self._graph = graph
        self._sensors = sensors
        self._groups: dict[str, ReaderGroup] = {}
        self._lives: dict[str, LiveQuery] = {}
        self._numbers = 0

    def __iter__(self) -> Iterator[ReaderGroup]:
        return iter(list(self._groups.values()))

    def of(self, live: LiveQuery) -> ReaderGroup:
        """The group of a query."""
        return self._groups[live.group]

    def lives(self, group: ReaderGroup) -> list[LiveQuery]:
        """The queries of a group."""
        return [self._lives[name] for name in group.queries]

    def of_name(self, name: str) -> ReaderGroup:
        """The group of a query."""
        return self.of(self._lives[name])

    # ---- queries come and go -----------------------------------------------------------------------------------------

    def at(self, streams: Mapping[str, Stream], offsets: Mapping[str, Offset]) -> ReaderGroup | None:
        """The group that is still at these offsets of the same streams, if there is one."""
        for group in self._groups.values():
            alike = group.streams.keys() == streams.keys() and group.offsets == offsets
            if alike and not group.moved and group.number < 0:
                return group
        return None

    def standing_at(
        self,
        streams: Mapping[str, Stream],
        offsets: Mapping[str, Offset],
        start: Mapping[str, Offset],
        eras: Sequence[Era],
        tables: StoredTables,
    ) -> ReaderGroup | None:
        """The group of standing queries at these offsets of the same streams, all of which read again from `start` and
        join the same tables."""
        for group in self._groups.values():
            alike = group.number >= 0 and not group.apart and group.streams.keys() == streams.keys()
            # Queries that read nothing again may have been declared otherwise before.
            declared = start == offsets or group.eras == tuple(eras)
            here = group.offsets == offsets and (group.replay or group.offsets) == start
            if alike and declared and here and group.tables.key == tables.key:
                return group
        return None

    def begin(
        self, name: str, streams: dict[str, Stream], offsets: dict[str, Offset], tables: StoredTables
    ) -> ReaderGroup:
        """Start a new group, named after its first query."""
        self._numbers += 1
        group = ReaderGroup(f"{name}@{self._numbers}", streams, dict(offsets), tables)
        self._groups[group.name] = group
        return group

    def fold(
        self,
        name: str,
        query: CompiledQuery,
        group: ReaderGroup,
        live: LiveQuery | None = None,
        *,
        stops: bool = False,
    ) -> LiveQuery:
        """Add a query to a group: a new one, or one that was in another group before. `stops`: a row without a value
        stops it."""
        extents = GroupExtents(group.tables, self._sensors)
        stops = stops if live is None else live.stops
        self._graph.install(name, query.physical, start=group.name, extents=extents, skips=not stops)
        group.queries[name] = None
        if live is None:
            live = LiveQuery(name, query, group.name, group.offsets, stops=stops)
        live.group, live.offsets = group.name, group.offsets
        live.follow(lambda: self._graph.ledger(name), lambda: self._graph.watermark(name))
        self._lives[name] = live
        return live

    def leave(self, live: LiveQuery) -> None:
        """Remove a query, and its group if it was the last one."""
        live.freeze()
        self._lives.pop(live.name, None)
        self._graph.remove(live.name)
        group = self.of(live)
        del group.queries[live.name]
        if not group.queries:
            group.tables.close()
            self._manager.unregister(group.name)
            del self._groups[group.name]

    def withdraw(self, name: str, group: ReaderGroup) -> None:
        """Take back a query that could not be installed, and its group if it has no other."""
        self._lives.pop(name, None)
        group.queries.pop(name, None)
        if not group.queries:
            self._manager.forget(group.name)
            self.abolish(name, group)
        elif name in self._graph.queries:
            self._graph.remove(name)

    def merge(self, group: ReaderGroup, into: ReaderGroup) -> None:
        """Two groups at the same offsets become one."""
        self._graph.rename_start(group.name, into.name)
        for name in group.queries:
            into.queries[name] = None
            live = self._lives[name]
            live.group, live.offsets = into.name, into.offsets
        into.moved = True
        group.tables.close()
        self._manager.unregister(group.name)
        del self._groups[group.name]

    def set_apart(
        self, live: LiveQuery, group: ReaderGroup, tables: StoredTables, number: int = -1
    ) -> ReaderGroup:
        """Move a query into a group of its own, at the same place of the logs and with the same state."""
        panes = self._graph.snapshot(live.name)
        streams, offsets = dict(group.streams), dict(group.offsets)
        self.leave(live)
        own = self.begin(live.name, streams, offsets, tables)
        own.number, own.eras, own.apart = number, group.eras, number >= 0
        own.round_rows = 1 if own.apart else ROUND_ROWS
        self.fold(live.name, live.query, own, live)
        self._graph.restore(live.name, panes)
        self._manager.register(own.name, streams.values(), offsets)
        own.moved = True
        return own

    def abolish(self, name: str, group: ReaderGroup) -> None:
        """Remove all traces of a query that could not be installed."""
        if name in self._graph.queries:
            self._graph.remove(name)
        group.tables.close()
        del self._groups[group.name]

    # ---- from the logs to the answers --------------------------------------------------------------------------------

    def feed(self, group: ReaderGroup, *, durable: bool) -> bool:
        """Run one round over the new entries of the logs. Returns whether there were any."""
        rows, moved = 0, False
        while rows < group.round_rows and (taken := self._take(group)) is not None:
            name, entry = taken
            self._push(group, name, entry)
            rows += entry.rows.height if isinstance(entry, Batch) else 1
            moved = True
        group.moved |= moved
        group.offsets.update(self._manager.offsets(group.name))
        skipped = self._manager.skipped(group.name)
        for name in group.queries if skipped > group.skipped else ():
            self._lives[name].trimmed += skipped - group.skipped
        group.skipped = skipped
        if not moved:
            for key, stream in group.streams.items():
                if key not in group.ended and self._manager.ended(stream.name):
                    group.ended.add(key)
                    # The end of a source does not end a durable query: the log does not record it, and may
                    # grow again.
                    if not durable:
                        self._graph.end(key, start=group.name)
                    moved = True
        return moved

    def _take(self, group: ReaderGroup) -> tuple[str, Entry] | None:
        """The next entry. A disk that fails to read makes the group wait."""
        try:
            taken = self._manager.take(group.name)
        except ResourceError as error:
            group.unread = error.message
            return None
        group.unread = None
        return taken

    def replay(
        self,
        group: ReaderGroup,
        start: Mapping[str, Offset],
        kept: LogDirectory,
        eras: Sequence[Era],
    ) -> None:
        """Replay the entries between the checkpoint of a group's queries and their last commit, each under the
        declarations of its time, and discard the answers. `group.replay` says how far that has come: if the disk
        fails to read, the next call goes on from there."""
        at = {key: start.get(key, end) for key, end in group.offsets.items()}
        group.replay = at
        for era in eras:
            streams = {
                key: replace(
                    stream,
                    delay=era.declared[key]["delay"],
                    key=tuple(era.declared[key]["key"]),
                    future=era.declared[key]["future"],
                )
                if key in era.declared
                else stream
                for key, stream in group.streams.items()
            }
            ended = era.until or {}
            until = {key: min(end, ended.get(key, end)) for key, end in group.offsets.items()}
            self._graph.declare(streams, start=group.name)
            self._replay(group, at, until, {key: kept.log(stream) for key, stream in streams.items()})
            at.update({key: max(at[key], end) for key, end in until.items()})
        self._graph.declare(group.streams, start=group.name)
        group.replay = None

    def _replay(
        self,
        group: ReaderGroup,
        at: dict[str, Offset],
        end: Mapping[str, Offset],
        kept: Mapping[str, StreamLog],
    ) -> None:
        logs = {key: log.read(at[key]) for key, log in kept.items() if at[key] < end[key]}
        while logs:
            # The stream that is furthest behind comes next, so that memory stays bounded by the windows.
            key = min(logs, key=lambda stream: self._graph.start_watermark(group.name, stream))
            until = end[key]
            entry = next(logs[key], None)
            if entry is None or Offset(entry.after.number - 1, entry.position) >= until:
                del logs[key]
                continue
            if entry.after > until and entry.rows is not None:
                entry = replace(entry, rows=entry.rows[: until.position - entry.position])
            self._push(group, key, entry.entry())
            at[key] = min(entry.after, until)
            self._graph.run()
            # If an error stops a query here, the station meets it when it asks for answers.
            self._graph.discard(group.queries)

    def refresh(self, group: ReaderGroup, now: int, *, caught_up: bool) -> None:
        """Read the tables that are due again. A changed table takes effect after everything that the group's
        queries have answered."""
        if not group.streams:
            return
        if caught_up:
            # No entry waits that would need an older version. So tables can be refreshed before the next
            # reading comes.
            self._hand(group, group.tables.recorded(INT_MAXIMUM))
        if group.tables.due(now):
            self._hand(group, group.tables.refreshed(self._graph.frontier(group.name), now))

    def _push(self, group: ReaderGroup, stream: str, entry: Entry) -> None:
        """Push an entry to the queries of a group, after the recorded versions of tables that apply to it."""
        if group.tables.replaying:
            self._hand(group, group.tables.recorded(greatest_time(entry)))
        self._graph.push(stream, entry, start=group.name)

    def _hand(self, group: ReaderGroup, versions: Iterable[TableVersion]) -> None:
        for version in versions:
            self._graph.refresh(version, start=group.name)
            group.moved = True

    def abandon(self) -> None:
        """Abandon the tables of all groups, as if the process had died."""
        for group in self._groups.values():
            group.tables.abandon()
