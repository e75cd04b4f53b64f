"""The standing queries of a station that run and commit together.

    install ─► group: one reader for all queries at one place of their streams
    step    ─► the answers of all groups ─► one commit (shared_commits.py) ─► now and then one checkpoint

A query that goes on after a restart joins those that stand at the same offsets with a state of the same offsets;
they read what lies between state and commit again, once for all. A query that is behind has a group of its own, and
joins the others when it has caught up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nilometer.catalog import Stream
from nilometer.dataflow.graph import Graph
from nilometer.dataflow.group import fits
from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.part import Rows
from nilometer.dataflow.sources import Extents
from nilometer.errors import DataError, NilometerError, ResourceError
from nilometer.live.aside import export
from nilometer.live.checkpoints import Panes
from nilometer.live.control import folder_of
from nilometer.live.declarations import CompiledQuery
from nilometer.live.groups import Groups, ReaderGroup
from nilometer.live.live_query import LiveQuery
from nilometer.live.recovery import check_ends
from nilometer.live.replaced_state import Choice, new_state
from nilometer.live.shared_commits import SharedCommits, SharedQuery
from nilometer.live.standing import Trimmed, shared_logs
from nilometer.live.starts import Start, goes_on_at, offsets_at
from nilometer.live.stored_tables import StoredTables
from nilometer.live.versions import Version
from nilometer.log import LogDirectory, Offset, StreamLog
from nilometer.log.failpoints import Failpoint
from nilometer.memory import budget
from nilometer.plan import physical

if TYPE_CHECKING:
    from nilometer.ingest.manager import StreamManager


@dataclass(frozen=True)
class Opened:
    """A query that is about to run. Its answers up to `offsets` are durable, its state is the one at `state_at`."""

    standing: SharedQuery
    offsets: dict[str, Offset]
    state_at: dict[str, Offset]
    trimmed: Trimmed
    told: str

    @property
    def note(self) -> str | None:
        """A message about where it goes on; None if it begins."""
        said = self.standing.note()
        return None if said is None else said + self.told


class SharedQueries:
    """All of them. `commits` is opened by the first; then no other process runs standing queries here."""

    def __init__(
        self,
        directory: Path,
        logs: LogDirectory,
        manager: StreamManager,
        graph: Graph,
        groups: Groups,
        extents: Extents,
        clock: Callable[[], int],
        failpoint: Failpoint | None,
    ) -> None:
        self._directory = directory
        self._logs = logs
        self._manager = manager
        self._graph = graph
        self._groups = groups
        self._extents = extents
        self._clock = clock
        self._failpoint = failpoint
        self._commits: SharedCommits | None = None
        self._running: dict[str, SharedQuery] = {}
        self._taking: dict[str, None] = {}
        """The new versions whose state is kept or rebuilt, until their books are set right."""
        self.held_logs: dict[str, StreamLog] | None = None
        """The logs of the streams of queries that are being installed together."""
        self.sizes: dict[str, tuple[int, int]] = {}
        """The panes of each query's state in the last checkpoint, and their bytes; shared ones count for each."""

    def __contains__(self, name: str) -> bool:
        return name in self._running

    def __getitem__(self, name: str) -> SharedQuery:
        return self._running[name]

    @property
    def commits(self) -> SharedCommits:
        """The commit log."""
        if self._commits is None:
            self._commits = SharedCommits(self._directory, self._logs, self._failpoint, self._clock())
        return self._commits

    @property
    def trouble(self) -> str | None:
        """What keeps the queries from committing."""
        return None if self._commits is None else self._commits.trouble

    # ---- queries come and go -----------------------------------------------------------------------------------------

    def install(
        self,
        name: str,
        query: CompiledQuery,
        streams: dict[str, Stream],
        start: Start,
        tables_of: Callable[[bool], StoredTables],
        state: Choice | None = None,
        *,
        same_state: Sequence[Version] = (),
        stops: bool = False,
    ) -> LiveQuery:
        """Start or resume a query. `state` and `same_state` are for one whose text has changed (replaced_state.py).
        `tables_of` gives the tables that it joins, none of which is refreshed; it is told whether the query goes on with
        a state."""
        opened = self.open(name, query, streams, start, state, same_state=same_state)
        standing, offsets, from_, trimmed = opened.standing, opened.offsets, opened.state_at, opened.trimmed
        recovered = standing.recovered
        try:
            tables = tables_of(recovered is not None and bool(recovered.panes))
            tables.settle()
        except BaseException:
            self.close_if_idle()
            raise
        group = self._groups.standing_at(streams, offsets, from_, standing.place.declared, tables)
        new = group is None
        if group is None:
            group = self._groups.begin(name, streams, offsets, tables)
            group.number = self.commits.log.begin_group()
            group.replay = from_ if from_ != offsets else None
            group.eras = standing.place.declared
        try:
            live = self._groups.fold(name, query, group, stops=stops)
            if recovered is not None and recovered.panes:
                self._graph.restore(name, recovered.panes)
            if new:
                self._manager.register(group.name, streams.values(), offsets)
            self.commits.join(standing, group.number, offsets, trimmed.unread)
            self.commits.forget_private(standing)
        except BaseException:
            self.commits.take_back(standing)
            self._groups.withdraw(name, group)
            self.close_if_idle()
            raise
        self._running[name] = standing
        if standing.takes_state:
            self._taking[name] = None
        live.rows = standing.rows
        live.note = opened.note
        if trimmed:
            live.trimmed = trimmed.unread
            live.note = f"{live.note}; {trimmed}"
        return live

    def open(
        self,
        name: str,
        query: CompiledQuery,
        streams: Mapping[str, Stream],
        start: Start,
        state: Choice | None = None,
        *,
        same_state: Sequence[Version] = (),
        on_spark: bool = False,
        fitting: Callable[[Panes, physical.Node, Extents], bool] | None = None,
    ) -> Opened:
        """Find where a query begins or goes on, and with which state. `fitting` says whether a state is one of this host.
        Nothing is written yet."""
        fitting = fitting or fits
        try:
            standing = self.commits.open(name, query, on_spark=on_spark)
        except BaseException:
            self.close_if_idle()
            raise
        logs = {key: self._log(stream) for key, stream in streams.items()}
        told = ""
        if standing.recovered is not None:
            check_ends(name, standing.recovered.committed, logs)
            standing.recovered = standing.recovered.at(goes_on_at(standing.recovered.committed, logs, start))
        if standing.recovered is not None and standing.recovered.fresh:
            last = standing.recovered.last.version
            before = self.commits.before(standing) if any(one.same_plan(last) for one in same_state) else None
            usable = before is not None and fitting(before.panes, query.physical, self._extents)
            found = new_state(state, standing.recovered, before, query.physical, same_state=usable, logs=logs)
            standing.take_state(found.found)
            told = f"; {found.told}"
        elif standing.recovered is not None and not standing.recovered.has_state_of(
            standing.layout, lambda panes: fitting(panes, query.physical, self._extents)
        ):
            standing.forget_state()
        recovered = standing.recovered
        offsets = offsets_at(logs, start) if recovered is None else dict(recovered.committed)
        trimmed = standing.find_trimmed(logs)
        # The query skips entries that retention was forced to delete.
        offsets = {key: max(offset, logs[key].start) for key, offset in offsets.items()}
        state_at = dict(offsets)
        if recovered is not None:
            state_at = {
                key: max(min(recovered.start.get(key, at), at), logs[key].start)
                for key, at in offsets.items()
            }
        return Opened(standing, offsets, state_at, trimmed, told)

    def _log(self, stream: Stream) -> StreamLog:
        """The log of a stream. While many queries are installed together, nobody writes to it."""
        if self.held_logs is None:
            return self._logs.log(stream)
        key = stream.name.lower()
        if key not in self.held_logs:
            self.held_logs[key] = self._logs.log(stream).hold()
        return self.held_logs[key]

    def record(self, name: str | None = None) -> None:
        """Record the queries that have come. If there is no space, a single new query is taken back."""
        if self._commits is None:
            return
        self._commits.begin(self._clock())
        if name is not None and self.trouble is not None and self._commits.cancel(self._running[name]):
            trouble, self._commits.trouble = self.trouble, None
            self._withdraw(name)
            raise ResourceError(trouble or "", hint="make space, then install the query again")

    def _withdraw(self, name: str) -> None:
        """Take back a query that could not be recorded."""
        del self._running[name]
        self._taking.pop(name, None)
        self._groups.withdraw(name, self._groups.of_name(name))
        self.close_if_idle()

    def note_trimmed(self, names: Iterable[str], readings: int) -> None:
        """Readings were deleted from the logs before these queries had read them."""
        for name in names:
            self.commits.note_trimmed(self._running[name], readings)

    def begin(self) -> None:
        """Record the queries that have come, and let those that go on read again what their states lack."""
        if self._commits is None:
            return
        self._commits.begin(self._clock())
        for group in self._groups:
            if group.number >= 0 and group.replay is not None and self.trouble is None:
                self._replay(group, group.replay)
        if self.trouble is None and self._taking:
            for name in [name for name in self._taking if not self._is_behind(name)]:
                del self._taking[name]
                self._commits.discount(self._running[name], self._graph.ledger(name))
        self._commits.states.loaded()

    def _replay(self, group: ReaderGroup, start: Mapping[str, Offset]) -> None:
        """Let a group read again what its states lack. A disk that fails to read makes it wait; damage stops it, and
        nobody else."""
        lives = self._groups.lives(group)
        if all(live.failure is not None for live in lives):
            return
        try:
            self._groups.replay(group, start, self._logs, group.eras)
        except ResourceError as error:
            group.unread = error.message
            return
        except DataError as error:
            for live in lives:
                live.failure, live.finished = error, True
            return
        group.unread = None

    def _is_behind(self, name: str) -> bool:
        """Whether the query's state is not yet the one at its last commit."""
        return self._groups.of_name(name).replay is not None

    def hand_over(self, name: str) -> None:
        """Another host goes on with the query: its answers move from the commit log into result logs of its own."""
        if shared_logs(self._directory, name):
            export(self._directory, name, folder_of(self._directory, name))
            self.commits.release(name)
            self.close_if_idle()

    def remove(self, live: LiveQuery) -> dict[str, Offset]:
        """Stop a query, after everything it answered is committed. Returns where it stands in its streams' logs."""
        standing = self._running.pop(live.name)
        self._taking.pop(live.name, None)
        if live.failure is None and self._is_behind(live.name):
            self.commits.leave(standing, standing.place.ledger, None)
        elif live.failure is None:
            self.commits.leave(standing, live.ledger, lambda: self._graph.snapshot(live.name))
        else:
            self.commits.queries.pop(standing.key, None)
        return dict(standing.place.offsets)

    def set_apart(self, live: LiveQuery) -> None:
        """Give a query a reader of its own, at the same place of the logs and with the same state."""
        group, standing = self._groups.of(live), self._running[live.name]
        own = self._groups.set_apart(live, group, group.tables, self.commits.log.begin_group())
        self.commits.set_apart(standing, own.number, own.offsets)

    # ---- rounds ------------------------------------------------------------------------------------------------------

    def settle(self, queries: Iterable[LiveQuery], *, at_once: bool = False) -> None:
        """Commit the answers of these queries and the offsets of all groups; make a checkpoint if one is due."""
        if self._commits is None:
            return
        commits, now = self._commits, self._clock()
        if commits.trouble is not None:
            commits.retry()
        answers = {}
        most = budget().results
        for live in queries:
            frames = self._fetch(live, most)
            if frames:
                standing = self._running[live.name]
                answers[standing.key] = frames, self._graph.ledger(live.name)
        self._merge()
        groups = {
            group.number: group.offsets
            for group in self._groups
            if group.number >= 0 and group.replay is None
        }
        due = bool(self._running) and commits.due(now)
        done = commits.commit(groups, answers, now, at_once=at_once or due)
        if due and done:
            self.checkpoint()

    def _fetch(self, live: LiveQuery, most: int) -> list[Rows]:
        """The answers of a query. If an error has stopped it, they are shown, but not committed: the query stays at
        its last commit."""
        found: list[Rows] = []
        try:
            found = self._graph.parts(live.name)
            live.give(found, most)
            if live.name in self._graph.ready:
                found = []
                self._graph.parts(live.name)
        except NilometerError as error:
            group = self._groups.of(live)
            live.failure, live.finished = error.at(live.query.text, None), True
            self.commits.fail(self._running[live.name], self.commits.committed(group.number))
        return found

    def checkpoint(self) -> None:
        """Save the state of all queries. Everything they have answered is committed."""
        names = self._current()
        panes = self._graph.snapshots(names)
        keyed = {self._running[name].key: own for name, own in panes.items()}
        self.sizes = {name: _size(own) for name, own in panes.items()}
        self.commits.checkpoint(keyed, self._ledgers(names), self._clock())

    def _current(self) -> list[str]:
        """The queries whose states are those at their last commits."""
        return [
            name for name in self._running if self._graph.failure(name) is None and not self._is_behind(name)
        ]

    def _ledgers(self, names: Iterable[str]) -> dict[str, QueryLedger]:
        return {self._running[name].key: self._graph.ledger(name) for name in names}

    def _merge(self) -> None:
        """Groups that have come to the same place of the same streams become one."""
        at: dict[object, ReaderGroup] = {}
        for group in self._groups:
            if group.number < 0 or group.replay is not None or group.apart:
                continue
            place = tuple(sorted(group.offsets.items())), group.tables.key
            other = at.setdefault(place, group)
            if other is not group and other.streams.keys() == group.streams.keys():
                small, large = sorted((other, group), key=lambda one: len(one.queries))
                at[place] = large
                for name in small.queries:
                    if name in self._running:
                        self.commits.move(self._running[name], large.number)
                self._groups.merge(small, large)

    # ---- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """All queries stop at once: one commit and one checkpoint. Their answers have been fetched."""
        if self._commits is None:
            return
        names = self._current()
        ledgers = self._ledgers(names)
        if names and self.trouble is None:
            self.checkpoint()
        self._running.clear()
        self._taking.clear()
        self._commits.close(ledgers)
        self._commits = None

    def close_if_idle(self) -> None:
        """Let another process run standing queries, if none runs here, on any host."""
        if self._commits is not None and not self._running and not self._commits.queries:
            self._commits.close({})
            self._commits = None

    def abandon(self) -> None:
        """Let go as a crash of the process would."""
        if self._commits is not None:
            self._commits.abandon()
        self._commits = None
        self._running.clear()
        self._taking.clear()


def _size(panes: Panes) -> tuple[int, int]:
    sizes = [len(pane) for stage in panes.values() for pane in stage.values()]
    return len(sizes), sum(sizes)
