"""Runs the rounds of a pipeline in the shared graph of the running database (dataflow/graph.py).

Filters share one index, windows their slices, joins their rows and matches, as on the gateway. The doors that decide which
readings are late are in the graph.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import polars as pl

from nilometer.catalog.extents import Sensor, Stream, Table
from nilometer.dataflow.dead_rows import lines_of
from nilometer.dataflow.graph import EVERY_START, Graph
from nilometer.dataflow.policy import Policy
from nilometer.dataflow.sources import Batch, Entry, Heartbeat, TableVersion, greatest_time
from nilometer.errors import InternalError
from nilometer.log import LogDirectory, StreamLog, failpoints
from nilometer.plan import physical
from nilometer.spark.admission import Piece
from nilometer.spark.records import columns_read, runs_of
from nilometer.spark.shared.changes import Analyze, Hold, Join, Leave, Member, Refresh, Save
from nilometer.spark.shared.rounds import Left, Round, RoundResult, Spent, Stretch
from nilometer.spark.shared.ways import as_part, home_of, of_part, share_of, why_whole

pass_by = failpoints.from_environment("pipeline")
"""Fails where a test asks for it: before_read, during_read, after_read (NILOMETER_FAILPOINT)."""

LOOK_AFTER = 1.0
"""The queries' times are given after so many seconds of work."""
FEW = 64
"""Of up to so many queries in one part the books are given with every round."""


@dataclass(frozen=True)
class Base:
    """The state of a part after a round, from which another process goes on. Each group is one that joins, with its state
    and the versions of tables that it has not met yet."""

    number: int
    groups: tuple[Join, ...]


class GraphFlow:
    """The state of one part of a pipeline after the rounds that it has run. `number` is that of the last one."""

    def __init__(self, place: str, part: int = 0, parts: int = 1) -> None:
        self._part, self._parts = part, parts
        self._directory = LogDirectory(place)
        self._logs: dict[str, StreamLog] = {}
        self._streams: dict[str, Stream] = {}
        self._extents = _Declared()
        # Answers are neither dropped nor divided: a commit says that all up to its offsets is answered.
        shares = (None,) if parts == 1 else (None, share_of(part, parts))
        self._graphs = tuple(
            Graph(self._extents, answer_policy=Policy.BLOCK, answer_rows=sys.maxsize, share=share)
            for share in shares
        )
        """The queries that see all rows; and, if there are several parts, those that see the rows of this one."""
        self._members: dict[str, Member] = {}
        self._of: dict[str, Graph] = {}
        self._divided: dict[str, dict[str, None]] = {}
        """The queries that are in all parts, by the streams that they read."""
        self._groups: dict[int, dict[str, None]] = {}
        self._versions: dict[int, deque[TableVersion]] = {}
        """The versions of tables that a group has not met yet, in the order of their ticks."""
        self._columns: dict[str, frozenset[str]] | None = None
        self._busy, self._since = 0.0, time.perf_counter()
        self._spent: dict[str, int] = {}
        self.number = 0

    def run(self, round_: Round) -> RoundResult:
        """Run the next round."""
        began = time.perf_counter()
        if round_.number != self.number + 1:
            raise InternalError(f"round {round_.number} after round {self.number}")
        result = RoundResult(round_.number, round_.offsets, round_.merged)
        result.again = {stretch.group: stretch.rows for stretch in round_.stretches if stretch.again}
        pass_by("before_read")
        cache: dict[Piece, list[Entry]] = {}
        for change in round_.changes:
            match change:
                case Join(members=members):
                    self._join(change)
                    result.joined |= {one.name: one.number for one in members if one.name in self._members}
                case Leave():
                    self._leave(change, result, round_.behind)
                case Analyze(name=name):
                    if self._runs(name):
                        result.analyses[name] = self._of[name].analysis(name)
                case Hold(name=name):
                    if self._runs(name):
                        result.frontiers[name] = self._of[name].frontier(self._group_of(name))
                case Refresh(name=name, versions=versions):
                    if self._runs(name):
                        self._versions.setdefault(self._group_of(name), deque()).extend(versions)
                case Save():
                    pass
        for stretch in round_.stretches:
            self._read(stretch, cache)
            pass_by("during_read")
        behind = {name for number in round_.behind for name in self._groups.get(number, ())}
        due = {name for number in _arrived(round_) for name in self._groups.get(number, ())}
        for number, error in round_.unread.items():
            for name in list(self._groups.pop(number, ())):
                result.failures[name] = error
                self._forget(name)
        for small, large in round_.merged:
            for graph in self._graphs:
                graph.rename_start(small, large)
            self._groups.setdefault(large, {}).update(self._groups.pop(small, {}))
        read = {piece.stream for stretch in round_.stretches for piece in stretch.pieces}
        # If one part tells the books of a query, all must. Any part may have answered, but only if a stream was read.
        due |= {name for stream in read for name in self._divided.get(stream, ())}
        self._collect(result, due, behind, saves=any(isinstance(change, Save) for change in round_.changes))
        self.number = round_.number
        took = time.perf_counter() - began
        result.milliseconds = took * 1_000
        self._account(result, took)
        pass_by("after_read")
        return result

    def _account(self, result: RoundResult, took: float) -> None:
        """After every second of work, say which query has taken how much of it."""
        self._busy += took
        if self._busy < LOOK_AFTER:
            return
        now = time.perf_counter()
        times = {
            name: spent // 1_000
            for graph in self._graphs
            for name, spent in graph.own_times(EVERY_START).items()
        }
        spent = {name: time_ - self._spent.get(name, 0) for name, time_ in times.items()}
        since = round((now - self._since) * 1_000_000)
        result.spent = (Spent(spent, round(self._busy * 1_000_000), since),)
        self._busy, self._since, self._spent = 0.0, now, times

    # ---- queries come and go -----------------------------------------------------------------------------------------

    def _join(self, change: Join) -> None:
        for name, stream in change.streams.items():
            self._streams[name] = stream
            self._logs.setdefault(name, self._directory.log(stream))
        self._columns = None
        here = [member for member in change.members if self._is_here(member)]
        for member in here:
            self._extents.declared.update(member.sensors)
            graph = self._of[member.name] = self._graphs[self._is_divided(member)]
            extents = _Tables(member.tables, self._extents) if member.tables else None
            graph.install(member.name, member.plan, start=change.group, extents=extents, skips=member.skips)
            self._members[member.name] = replace(member, panes=None)
            self._groups.setdefault(change.group, {})[member.name] = None
            if self._is_divided(member):
                for key in physical.streams_of(member.plan):
                    self._divided.setdefault(key, {})[member.name] = None
        if here and change.versions:
            self._versions[change.group] = deque(change.versions)
        for member in here:
            if member.panes:
                divided = self._is_divided(member)
                panes = of_part(member.panes, self._part, self._parts) if divided else member.panes
                self._of[member.name].restore(member.name, panes)

    def _is_divided(self, member: Member) -> bool:
        return self._parts > 1 and why_whole(member.plan) is None

    def _is_here(self, member: Member) -> bool:
        return self._is_divided(member) or home_of(member.name, self._parts) == self._part

    def base(self) -> Base:
        """The present state, for another process."""
        panes: dict[str, dict[str, dict[str, bytes]]] = {}
        for graph in self._graphs:
            panes |= graph.snapshots([name for name in self._members if self._of[name] is graph])
        groups = []
        for number, names in self._groups.items():
            members = []
            for name in names:
                member, own = self._members[name], panes[name]
                saved = as_part(own, self._part, self._parts) if self._is_divided(member) else own
                members.append(replace(member, panes=saved))
            read = {key for member in members for key in physical.streams_of(member.plan)}
            streams = {key: self._streams[key] for key in sorted(read)}
            later = tuple(self._versions.get(number, ()))
            groups.append(Join(number, streams, tuple(members), {}, {}, later))
        return Base(self.number, tuple(groups))

    @staticmethod
    def of_base(place: str, part: int, parts: int, base: Base) -> GraphFlow:
        """The flow of a part, in that state."""
        flow = GraphFlow(place, part, parts)
        for group in base.groups:
            flow._join(group)
        flow.number = base.number
        return flow

    def _leave(self, change: Leave, result: RoundResult, behind: Container[int]) -> None:
        name = change.name
        if name not in self._members or self._members[name].number != change.number:
            return
        if self._runs(name):
            state = None
            if self._group_of(name) not in behind:
                state = self._of[name].snapshot(name), self._of[name].ledger(name)
            result.left[name] = Left(change.number, state)
            result.divided |= {name} if self._is_divided(self._members[name]) else set()
        self._forget(name)

    def _runs(self, name: str) -> bool:
        return name in self._members and self._of[name].failure(name) is None

    def _forget(self, name: str) -> None:
        if self._members.pop(name, None) is not None:
            self._of.pop(name).remove(name)
            for readers in self._divided.values():
                readers.pop(name, None)
            for number, names in self._groups.items():
                names.pop(name, None)
                if not names:
                    self._versions.pop(number, None)

    def _group_of(self, name: str) -> int:
        return next(number for number, names in self._groups.items() if name in names)

    # ---- reading -----------------------------------------------------------------------------------------------------

    def _read(self, stretch: Stretch, cache: dict[Piece, list[Entry]]) -> None:
        """Push a stretch of the logs to a group. Groups that read the same piece share its rows."""
        if not self._groups.get(stretch.group):
            return  # all its queries are in other parts
        for piece in stretch.pieces:
            if piece not in cache:
                cache[piece] = list(self._entries(piece))
            for entry in cache[piece]:
                self._meet_versions(stretch.group, entry)
                for graph in self._graphs:
                    graph.push(piece.stream, entry, start=stretch.group)
        for graph in self._graphs:
            graph.run()
            if stretch.again:
                graph.discard(self._groups.get(stretch.group, {}))

    def _meet_versions(self, group: int, entry: Entry) -> None:
        """Hand out the versions of tables that this entry, or what it completes, may meet."""
        waiting = self._versions.get(group)
        if not waiting:
            return
        until = greatest_time(entry)
        while waiting and waiting[0].holds_from <= until:
            version = waiting.popleft()
            for graph in self._graphs:
                graph.refresh(version, start=group)

    def _entries(self, piece: Piece) -> Iterator[Entry]:
        """The entries of a piece, in as few batches as possible, without the doubles by the stream's KEY."""
        log, stream = self._logs[piece.stream], self._streams[piece.stream]
        skip, left, position = piece.skip, piece.rows, piece.place.position
        for found in runs_of(
            log.files, piece.segment, piece.start, piece.end, stream, self._read_columns[piece.stream]
        ):
            if isinstance(found, int):
                yield Heartbeat(found)
                continue
            rows = found[skip : skip + left] if skip or found.height > left else found
            skip, left = max(0, skip - found.height), left - rows.height
            kept = log.recorded_doubles.without(rows, position)
            position += rows.height
            yield Batch(kept, duplicate=rows.height - kept.height)

    @property
    def _read_columns(self) -> dict[str, frozenset[str]]:
        """The columns of each stream that some query reads, in lower case."""
        if self._columns is None:
            plans = (member.plan for member in self._members.values())
            self._columns = columns_read(plans, self._streams)
        return self._columns

    # ---- the result --------------------------------------------------------------------------------------------------

    def _collect(self, result: RoundResult, due: Set[str], behind: Set[str], *, saves: bool) -> None:
        """What there is to say after a round. `due`: the queries whose books are wanted, whether they have answered or not. The
        books and states of those that are `behind` are older than what they have answered."""
        for graph in self._graphs:
            for name in list(graph.lettered):
                result.letters[name] = lines_of(graph.letters(name))
            for name in list(graph.ready):
                failure = graph.failure(name)
                if failure is not None:
                    result.failures[name] = failure.error
                    if name not in behind:
                        result.books[name] = failure.ledger
                    self._forget(name)
                elif rows := graph.parts(name):
                    result.answers[name] = rows
        asked = self._members.keys() if saves else {*result.answers, *due} & self._members.keys()
        if not saves and len(self._members) <= FEW:
            asked |= {name for name, member in self._members.items() if not self._is_divided(member)}
        told = [name for name in asked if name not in behind]
        for graph in self._graphs:
            names = [name for name in told if self._of[name] is graph]
            result.books |= graph.ledgers(names)
            result.watermarks |= graph.watermarks(names)
            if len(self._members) <= FEW:
                result.works |= {name: graph.work(name) for name in names}
        if saves:
            result.panes = {}
            for graph in self._graphs:
                here = [name for name in self._members if name not in behind and self._of[name] is graph]
                result.panes |= graph.snapshots(here)
            result.divided = frozenset(name for name, one in self._members.items() if self._is_divided(one))


def _arrived(round_: Round) -> set[int]:
    """The groups that come, or have read again, and are not behind any more."""
    come = {change.group for change in round_.changes if isinstance(change, Join)}
    return (come | {stretch.group for stretch in round_.stretches if stretch.again}) - round_.behind


class _Declared:
    """The declared sensors of all streams. Tables belong to the queries that join them."""

    def __init__(self) -> None:
        self.declared: dict[str, tuple[Sensor, ...]] = {}

    def table(self, table: Table) -> pl.DataFrame:
        """Refused."""
        raise InternalError(f"a pipeline that reads the table {table.name}")

    def sensors(self, stream: Stream) -> Sequence[Sensor]:
        """The declared sensors of a stream."""
        return self.declared.get(stream.name.lower(), ())


@dataclass(frozen=True)
class _Tables:
    """The first versions of a query's tables, by lower-case name, and the declared sensors."""

    first: Mapping[str, pl.DataFrame]
    declared: _Declared

    def table(self, table: Table) -> pl.DataFrame:
        """The first version of a table."""
        return self.first[table.name.lower()]

    def sensors(self, stream: Stream) -> Sequence[Sensor]:
        """The declared sensors of a stream."""
        return self.declared.sensors(stream)
