"""Queries by the place in their streams' logs at which they began: one reader for each place, and one graph for all.

manager.take -> (the versions of tables that an entry meets) -> graph.push, run -> answers
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from nilometer.catalog import Sensor, Stream
from nilometer.dataflow import Batch, Entry, TableVersion
from nilometer.dataflow.graph import Graph
from nilometer.dataflow.policy import Outcome
from nilometer.errors import NilometerError
from nilometer.ingest.manager import StreamManager
from nilometer.live.declarations import CompiledQuery
from nilometer.live.live_query import LiveQuery
from nilometer.live.stored_tables import GroupExtents, StoredTables, greatest_time
from nilometer.log import LogDirectory, Offset
from nilometer.types import INT_MAXIMUM

ROUND_ROWS = 262_144
"""So many rows of a group are taken before the graph runs."""


@dataclass
class Group:
    """Queries that began at one place in the same streams' logs: one reader for all of them, and one version of each table."""

    name: str
    streams: dict[str, Stream]
    offsets: dict[str, Offset]
    tables: StoredTables
    queries: list[str] = field(default_factory=list)
    moved: bool = False
    ended: set[str] = field(default_factory=set)


class Groups:
    """All groups, and what their queries have answered and nobody has fetched yet."""

    def __init__(
        self, manager: StreamManager, graph: Graph, sensors: Callable[[Stream], Sequence[Sensor]]
    ) -> None:
        self._manager = manager
        self._graph = graph
        self._sensors = sensors
        self._groups: dict[str, Group] = {}
        self._numbers = 0
        self.answers: dict[str, list[pl.DataFrame]] = {}
        self.failed: dict[str, NilometerError] = {}

    def __iter__(self) -> Iterator[Group]:
        return iter(list(self._groups.values()))

    def of(self, live: LiveQuery) -> Group:
        """The group of a query."""
        return self._groups[live.group]

    # ---- queries come and go -----------------------------------------------------------------------------------------

    def at(self, streams: Mapping[str, Stream], offsets: Mapping[str, Offset]) -> Group | None:
        """A group that still stands at these offsets of the same streams, if there is one."""
        for group in self._groups.values():
            if not group.moved and group.streams.keys() == streams.keys() and group.offsets == offsets:
                return group
        return None

    def begin(
        self, name: str, streams: dict[str, Stream], offsets: dict[str, Offset], tables: StoredTables
    ) -> Group:
        """A new group, called after its first query."""
        self._numbers += 1
        group = Group(f"{name}@{self._numbers}", streams, dict(offsets), tables)
        self._groups[group.name] = group
        return group

    def fold(self, name: str, query: CompiledQuery, group: Group) -> LiveQuery:
        """Let a query run with the others of a group."""
        extents = GroupExtents(group.tables, self._sensors)
        self._graph.install(name, query.physical, start=group.name, extents=extents)
        group.queries.append(name)
        return LiveQuery(name, query, group.name, group.offsets)

    def leave(self, live: LiveQuery) -> None:
        """A query goes, and the group with its last one."""
        self.failed.pop(live.name, None)
        self._graph.remove(live.name)
        group = self.of(live)
        group.queries.remove(live.name)
        if not group.queries:
            group.tables.close()
            self._manager.unregister(group.name)
            del self._groups[group.name]

    def abolish(self, name: str, group: Group) -> None:
        """A query that could not be installed leaves nothing behind."""
        if name in self._graph.queries:
            self._graph.remove(name)
        group.tables.close()
        del self._groups[group.name]

    # ---- from the logs to the answers --------------------------------------------------------------------------------

    def feed(self, group: Group, *, durable: bool) -> bool:
        """A round of what is new in the logs; whether there was anything."""
        rows, moved = 0, False
        while rows < ROUND_ROWS and (taken := self._manager.take(group.name)) is not None:
            name, entry = taken
            self._push(group, name, entry)
            rows += entry.rows.height if isinstance(entry, Batch) else 1
            moved = True
        group.moved |= moved
        group.offsets.update(self._manager.offsets(group.name))
        if not moved:
            for key, stream in group.streams.items():
                if key not in group.ended and self._manager.ended(stream.name):
                    group.ended.add(key)
                    # For a durable query a source's end is no end: its log may grow again, and the end is not in it.
                    if not durable:
                        self._graph.end(key, start=group.name)
                    moved = True
        return moved

    def replay(self, name: str, group: Group, start: Mapping[str, Offset], kept: LogDirectory) -> None:
        """Read again what a query has answered, from its checkpoint to its last commit, and throw the answers away."""
        logs = {
            key: kept.log(stream).read(start.get(key, group.offsets[key]))
            for key, stream in group.streams.items()
        }
        while logs:
            # The stream that is furthest behind comes next, so that windows stay the bound of memory.
            key = min(logs, key=lambda stream: self._graph.stream_watermark(name, stream))
            until = group.offsets[key]
            entry = next(logs[key], None)
            if entry is None or Offset(entry.after.number - 1, entry.position) >= until:
                del logs[key]
                continue
            if entry.after > until and entry.rows is not None:
                entry = replace(entry, rows=entry.rows[: until.position - entry.position])
            self._push(group, key, entry.entry())
            self.work()
            self.answers.pop(name, None)

    def refresh(self, group: Group, now: int, *, caught_up: bool) -> None:
        """Tables that are due are read anew; those that have changed hold from beyond what the queries of the group have answered."""
        if not group.streams:
            return
        if caught_up:
            # Nothing waits that they would have to keep apart: so that tables can be read anew before the next reading comes.
            self._hand(group, group.tables.recorded(INT_MAXIMUM))
        if group.tables.due(now):
            self._hand(group, group.tables.refreshed(self._graph.frontier(group.name), now))

    def work(self) -> None:
        """Let the graph work until all that was pushed is answered, and fetch the answers of all queries."""
        more = True
        while more:
            self._graph.run()
            more = False
            for name in self._graph.queries:
                if name in self.failed:
                    continue
                try:
                    frames = self._graph.answers(name)
                except NilometerError as error:
                    self.failed[name] = error
                    continue
                if frames:
                    self.answers.setdefault(name, []).extend(frames)
                    more = True

    def _push(self, group: Group, stream: str, entry: Entry) -> None:
        """An entry to the queries of a group, after the recorded versions of tables that it meets; where answers are in the way, they
        are fetched first."""
        if group.tables.replaying:
            self._hand(group, group.tables.recorded(greatest_time(entry)))
        while self._graph.push(stream, entry, start=group.name) is Outcome.FULL:
            self.work()

    def _hand(self, group: Group, versions: Iterable[TableVersion]) -> None:
        for version in versions:
            self._graph.refresh(version, start=group.name)
            group.moved = True

    def abandon(self) -> None:
        """Let go as the death of the process would."""
        for group in self._groups.values():
            group.tables.abandon()
