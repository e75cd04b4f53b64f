"""The standing queries of a station that have result logs of their own: those that join tables which are refreshed, whose
versions are kept with their answers. All others commit together (shared_queries.py), or run on Spark.

The law: a query that is installed again goes on at the offsets of its last commit, with the state that belongs to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from nilometer.catalog import Stream
from nilometer.dataflow.graph import Graph
from nilometer.dataflow.group import fits
from nilometer.dataflow.sources import Extents
from nilometer.ingest.manager import StreamManager
from nilometer.live.control import folder_of
from nilometer.live.declarations import CompiledQuery
from nilometer.live.groups import Groups, ReaderGroup
from nilometer.live.live_query import LiveQuery
from nilometer.live.outside import Outside
from nilometer.live.recovery import check_ends
from nilometer.live.replaced_state import Choice, new_state
from nilometer.live.standing import DurableQuery, reader_of
from nilometer.live.starts import Start, goes_on_at, offsets_at
from nilometer.live.stored_tables import Kept, StoredTables
from nilometer.live.versions import Version
from nilometer.log import LogDirectory, Offset, StreamLog
from nilometer.plan import physical


def keeps_own_log(query: CompiledQuery) -> bool:
    """Whether a standing query has result logs of its own."""
    return any(table.refresh is not None for table in physical.tables_of(query.physical).values())


class OwnLogQueries:
    """These queries, by name. `extents` has the tables and the sensors."""

    def __init__(
        self,
        directory: Path,
        logs: LogDirectory,
        manager: StreamManager,
        graph: Graph,
        groups: Groups,
        extents: Extents,
        outside: Outside,
    ) -> None:
        self._directory = directory
        self._logs = logs
        self._manager = manager
        self._graph = graph
        self._groups = groups
        self._extents = extents
        self._outside = outside
        self._queries: dict[str, DurableQuery] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._queries

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def get(self, name: str) -> DurableQuery | None:
        """The durable side of a query."""
        return self._queries.get(name)

    def install(
        self,
        name: str,
        query: CompiledQuery,
        streams: dict[str, Stream],
        start: Start,
        state: Choice | None,
        *,
        same_state: Sequence[Version],
        stops: bool,
    ) -> LiveQuery:
        """Start or resume a query. It has a group of its own, because its state is not shared."""
        standing = DurableQuery(self._directory, name, query, self._outside.failpoint)
        try:
            logs = {key: self._logs.log(stream) for key, stream in streams.items()}
            told = self._find_state(name, query, standing, logs, start, state, same_state)
            live = self._begin(name, query, streams, standing, logs, start, told, stops=stops)
        except BaseException:
            standing.close()
            raise
        self._queries[name] = standing
        return live

    def waits(self, group: ReaderGroup) -> bool:
        """Whether a query of the group cannot commit now."""
        return any(each.trouble for name, each in self._queries.items() if name in group.queries)

    def commit(self, live: LiveQuery, frames: list[pl.DataFrame], *, all_of_it: bool) -> None:
        """Commit answers of a query, with the offsets that they were made from."""
        standing = self._queries[live.name]
        standing.commit(
            frames,
            self._groups.of(live).offsets,
            live.ledger,
            lambda: self._graph.snapshot(live.name),
            self._outside.clock(),
            all_of_it=all_of_it,
        )
        live.trouble = standing.trouble

    def remove(self, name: str) -> dict[str, Offset]:
        """Close a query's logs. Returns the offsets of its last commit."""
        standing = self._queries.pop(name)
        standing.close()
        return standing.committed

    def abandon(self) -> None:
        """Release everything without a commit."""
        for standing in self._queries.values():
            standing.abandon()
        self._queries.clear()

    # ---- the state to go on with -------------------------------------------------------------------------------------

    def _find_state(
        self,
        name: str,
        query: CompiledQuery,
        standing: DurableQuery,
        logs: dict[str, StreamLog],
        start: Start,
        state: Choice | None,
        same_state: Sequence[Version],
    ) -> str:
        """Let `standing` have the state with which the query goes on. Returns what to say about a state that was
        chosen for a new text."""
        if standing.recovered is not None:
            check_ends(name, standing.recovered.committed, logs)
            standing.recovered = standing.recovered.at(goes_on_at(standing.recovered.committed, logs, start))
        if standing.recovered is not None and standing.recovered.fresh:
            last = standing.recovered.last.version
            before = standing.before if any(one.same_plan(last) for one in same_state) else None
            usable = before is not None and fits(before.panes, query.physical, self._extents)
            found = new_state(state, standing.recovered, before, query.physical, same_state=usable, logs=logs)
            standing.take_state(found.found)
            return f"; {found.told}"
        if standing.recovered is not None and (
            standing.recovered.layout not in ("", standing.layout)
            or not fits(standing.recovered.panes, query.physical, self._extents)
        ):
            standing.forget_state()
        return ""

    def _begin(
        self,
        name: str,
        query: CompiledQuery,
        streams: dict[str, Stream],
        standing: DurableQuery,
        logs: dict[str, StreamLog],
        start: Start,
        told: str,
        *,
        stops: bool,
    ) -> LiveQuery:
        recovered, clock = standing.recovered, self._outside.clock
        offsets = offsets_at(logs, start) if recovered is None else dict(recovered.committed)
        trimmed = standing.find_trimmed(logs)
        # The query skips entries that retention was forced to delete.
        offsets = {key: max(offset, logs[key].start) for key, offset in offsets.items()}
        folder = folder_of(self._directory, name)
        tables = StoredTables(
            physical.tables_of(query.physical),
            self._extents.table,
            clock(),
            Kept(folder, standing.version, self._outside.failpoint, standing.same_plan),
            self._outside.begin_read,
            restored=recovered is not None and bool(recovered.panes),
        )
        group = self._groups.begin(name, streams, offsets, tables)
        try:
            live = self._groups.fold(name, query, group, stops=stops)
            if recovered is not None:
                if recovered.panes:
                    self._graph.restore(name, recovered.panes)
                self._groups.replay(group, recovered.start, self._logs, standing.eras)
            if told:
                standing.discount(self._graph.ledger(name))
            standing.begin(offsets, clock(), logs, (lambda: self._graph.snapshot(name)) if told else dict)
            for key in sorted(set(self._logs.streams()) - streams.keys()):
                # An older version of the query may have read this stream.
                self._logs.log(key).forget_reader(reader_of(name))
            live.rows = standing.rows
            live.note = None if (note := standing.note(name)) is None else note + told
            # Last, because it cannot be taken back: from here on nothing may fail.
            self._manager.register(group.name, streams.values(), offsets)
        except BaseException:
            self._groups.abolish(name, group)
            raise
        if trimmed:
            live.trimmed = trimmed.unread
            live.note = f"{live.note}; {trimmed}"
        group.moved = True
        return live
