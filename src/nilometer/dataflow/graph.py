"""Runs many queries in one graph: entries are pushed in, and each query's answers are fetched.

    push(stream, entry) ─► inlet ─► round ─► stages ─► answers(query)
                           queue    shared by queries with the same start and the same streams
                           and door

This is the Fjord of fjords.txt sections 3.1 and 4. The graph has three levels. A `Start` (start.py) holds the
queries that see their streams from the same moment; they share each stream's inlet, its door and one copy of
each tuple. A `Group` (group.py) holds the queries of a start that read the same occurrences of streams; they
share rounds and equal sub-plans. A stage (stages.py) is one operator of a plan. Tables are not pushed: their
stages pull them.

Stages are state machines that never wait. A scheduler steps the starts in one thread, and `run` returns when
nothing can move. An error stops the queries above the stage that met it, and no others.

The law: each query's answers are those of `run.Run` over the entries that it saw, whichever other queries
share the graph, are installed or are removed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.dataflow.analysis import Work
from nilometer.dataflow.answers import Answers
from nilometer.dataflow.dead_rows import DeadRows
from nilometer.dataflow.family_queries import occurrences
from nilometer.dataflow.group import Group, Taken
from nilometer.dataflow.ledger import Ledger, QueryLedger
from nilometer.dataflow.pace import Pace
from nilometer.dataflow.part import Rows, frame_of
from nilometer.dataflow.policy import Outcome, Policy
from nilometer.dataflow.pushed import PushedInlet, Share
from nilometer.dataflow.run import answer_schema
from nilometer.dataflow.schedulers import RoundRobin, Scheduler
from nilometer.dataflow.sources import Entry, Extents, TableVersion
from nilometer.dataflow.start import Failure, Start
from nilometer.dataflow.ticks import by_the_clock, whole_stream
from nilometer.errors import ConfigurationError
from nilometer.operators.frames import from_bytes, to_bytes
from nilometer.operators.set_aside import Letter
from nilometer.plan import physical
from nilometer.types import INT_MINIMUM, Schema

ENTRY_ROWS = 1 << 20
"""The number of rows that may wait in a stream's queue before its policy applies."""

ANSWER_ROWS = 1 << 22
"""The number of rows of an answer that may wait to be fetched."""

EVERY_START = object()
"""Stands for all starts: every query that reads a stream, whenever it was installed."""


@dataclass(eq=False)
class Installed:
    """A query in the graph. `extents` is None if its tables come from the graph's own extents."""

    plan: physical.Node
    start: Start
    group: Group
    answers: Answers
    extents: Extents | None
    dead: DeadRows
    failure: Failure | None = None


class Graph:
    """Many queries, one thread.

    `policies` gives, by the lower-case name of a stream, the policy of its queue when it is full. The default
    is BLOCK: `push` then runs the graph first, and returns FULL only if that made no room. `answer_policy` is
    the policy for a queue of answers that nobody fetches. With a `share`, the graph answers for these tuples
    alone.
    """

    def __init__(
        self,
        sources: Extents,
        *,
        scheduler: Scheduler | None = None,
        entry_rows: int = ENTRY_ROWS,
        answer_rows: int = ANSWER_ROWS,
        policies: Mapping[str, Policy] | None = None,
        answer_policy: Policy = Policy.DROP_OLDEST,
        share: Share | None = None,
    ) -> None:
        self.scheduler: Scheduler = RoundRobin() if scheduler is None else scheduler
        self._extents = sources
        self._entry_rows = entry_rows
        self._answer_rows = answer_rows
        self._policies = {name.lower(): policy for name, policy in (policies or {}).items()}
        self._answer_policy = answer_policy
        self._share = share
        self._starts: list[Start] = []
        self._queries: dict[str, Installed] = {}
        self.ready: dict[str, None] = {}
        """The queries that have rows to fetch, or that an error has just stopped."""
        self.lettered: dict[str, None] = {}
        """The queries that have set rows aside since `letters` was last asked."""

    # ---- installing and removing queries -----------------------------------------------------------------------------

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the installed queries."""
        return tuple(self._queries)

    @property
    def size(self) -> int:
        """The number of stages and filters of all queries."""
        return sum(len(group.known) for start in self._starts for group in start.groups)

    def install(
        self,
        name: str,
        plan: physical.Node,
        *,
        start: object = None,
        extents: Extents | None = None,
        skips: bool = False,
    ) -> None:
        """Add a query. It sees the entries that are pushed from now on.

        Queries with an equal `start` share the equal parts of their plans if nothing of their streams was
        pushed between their installations. `extents` is the source of the query's tables, if it differs from
        the graph's. All queries of a start have the same. `skips`: rows without a value do not stop the query, but
        are set aside (`letters`).
        """
        if name in self._queries:
            raise ConfigurationError(
                f"there is a query '{name}' already", hint="remove it first, or choose another name"
            )
        self._fold(name, plan, self._start(start), extents, skips=skips)

    def _start(self, key: object, restored: bytes = b"") -> Start:
        """Return a start with this key that has not moved yet, or a new one."""
        for start in reversed(self._starts):
            if start.key == key and start.restored == restored and not start.moved:
                return start
        self._starts.append(Start(key, restored))
        return self._starts[-1]

    def _fold(
        self, name: str, plan: physical.Node, start: Start, extents: Extents | None, *, skips: bool
    ) -> Installed:
        try:
            group = self._group(plan, start, self._extents if extents is None else extents)
            answers = Answers(self._answer_rows, self._answer_policy, name, self.ready)
            group.install(
                name, plan, answers, dead := DeadRows(skips=skips, name=name, waiting=self.lettered)
            )
        finally:
            self._tidy()
        for node in physical.walk_plan(plan):
            if isinstance(node, physical.TimeWindow) and not by_the_clock(node):
                stream = whole_stream(node.input)
                if stream is not None:
                    start.inlets[stream].tells = True
        self._queries[name] = installed = Installed(plan, start, group, answers, extents, dead)
        return installed

    def _group(self, plan: physical.Node, start: Start, extents: Extents) -> Group:
        """Return the group whose rounds the query can share, or a new one."""
        read = occurrences(plan)
        for group in start.groups:
            if group.pace.leaves == read and not group.pace.moved:
                return group
        for name, stream in physical.streams_of(plan).items():
            if name not in start.inlets:
                policy = self._policies.get(name, Policy.BLOCK)
                start.inlets[name] = PushedInlet(stream, self._entry_rows, policy, self._share)
        group = Group(read, start.inlets, extents)
        start.groups.append(group)
        return group

    def remove(self, name: str) -> None:
        """Remove a query, and every stage and inlet that only it used."""
        query = self._query(name)
        del self._queries[name]
        self.ready.pop(name, None)
        self.lettered.pop(name, None)
        if query.failure is None:
            query.group.remove(name)
        self._tidy()

    def _tidy(self) -> None:
        """Remove the groups, inlets and starts that no query uses."""
        for start in self._starts:
            start.groups = [group for group in start.groups if group.roots]
            read = {stream for group in start.groups for stream in group.pace.inlets}
            start.inlets = {name: inlet for name, inlet in start.inlets.items() if name in read}
        self._starts = [start for start in self._starts if start.groups]

    # ---- entries and time --------------------------------------------------------------------------------------------

    def push(self, stream: str, entry: Entry, *, start: object = EVERY_START) -> Outcome:
        """Push an entry of a stream's log to all queries that read it, or to those of one start.

        FULL means that no query got it, because answers block. Offer the entry again later.
        """
        inlets = self._inlets(stream, start)
        if not all(inlet.entries.room for inlet in inlets):
            self.run()
            inlets = self._inlets(stream, start)
            if not all(inlet.entries.room for inlet in inlets):
                return Outcome.FULL
        outcome = Outcome.ACCEPTED
        for inlet in inlets:
            if inlet.entries.put(entry) is Outcome.DROPPED:
                outcome = Outcome.DROPPED
        return outcome

    def declare(self, streams: Mapping[str, Stream], *, start: object) -> None:
        """From the next entry on, the doors of a start follow these declarations of its streams (by lower-case
        name): their DELAY and FUTURE."""
        for beginning in self._of(start):
            for name, inlet in beginning.inlets.items():
                if name in streams:
                    inlet.door.stream = streams[name]

    def refresh(self, version: TableVersion, *, start: object) -> None:
        """Give the queries of a start a new version of tables. Tuples with a tick from `holds_from` on are
        joined with it.

        `holds_from` must lie beyond `frontier`. Versions come in order, each before any entry that it applies
        to is pushed.
        """
        for beginning in self._of(start):
            beginning.moved = True
            for group in beginning.groups:
                group.pace.refresh(version)

    def frontier(self, start: object) -> int | None:
        """The greatest tick that the queries of a start may have answered for; None if no reading or
        heartbeat has come."""
        doors = [inlet.door for beginning in self._of(start) for inlet in beginning.inlets.values()]
        paces = [group.pace for beginning in self._of(start) for group in beginning.groups]
        heard = [
            tick for door in doors for tick in (door.greatest_tick, door.greatest_time) if tick is not None
        ]
        marks = [door.watermark for door in doors] + [pace.watermark for pace in paces if pace.leaves]
        return max((*heard, *(mark for mark in marks if mark > INT_MINIMUM)), default=None)

    def end(self, stream: str, *, start: object = EVERY_START) -> None:
        """End a stream: its last windows are complete."""
        for inlet in self._inlets(stream, start):
            inlet.end()

    def run(self) -> None:
        """Step the starts until nothing can move, then record the queries that failed."""
        self.scheduler.run(self._starts)
        failed = False
        for start in self._starts:
            for name, failure in start.failures.items():
                failed = True
                self._queries[name].failure = failure
                self.ready[name] = None
            start.failures = {}
        if failed:
            self._tidy()
        self._unite()

    def _unite(self) -> None:
        """Let filters that began at different moments share one door and one index, once their doors decide alike.

        A start that has seen fewer entries may have another watermark, and so call other tuples late. Once the
        watermarks are equal, they stay equal.
        """
        if len(self._starts) < 2:
            return
        eldest: dict[object, Start] = {}
        united = False
        for start in self._starts:
            first = eldest.setdefault(start.key, start)
            if first is not start and start.moved and first.agrees(start):
                for group in start.groups:
                    into = first.of(group.pace.leaves)
                    if into is not None:
                        names = tuple(group.roots)
                        if into.absorb(group):
                            united = True
                            for name in names:
                                query = self._queries[name]
                                query.start, query.group = first, into
        if united:
            self._tidy()

    def _of(self, start: object) -> list[Start]:
        return [one for one in self._starts if start is EVERY_START or one.key == start]

    def _inlets(self, stream: str, start: object) -> list[PushedInlet]:
        found = []
        for beginning in self._of(start):
            inlet = beginning.inlets.get(stream.lower())
            if inlet is not None:
                beginning.moved = True
                found.append(inlet)
        return found

    # ---- answers and accounts ----------------------------------------------------------------------------------------

    def answers(self, name: str) -> list[pl.DataFrame]:
        """The frames with rows since the last call. If an error stopped the query, it is raised once all rows
        are fetched."""
        return [frame_of(rows) for rows in self.parts(name)]

    def parts(self, name: str) -> list[Rows]:
        """Like `answers`, but parts of frames that queries share are not cut out."""
        query = self._query(name)
        frames = query.answers.drain_parts()
        if query.failure is not None:
            if not frames:
                raise query.failure.error
            self.ready[name] = None
        return frames

    def failure(self, name: str) -> Failure | None:
        """The error that stopped a query."""
        return self._query(name).failure

    def letters(self, name: str) -> list[Letter]:
        """The rows that were set aside since the last call."""
        return self._query(name).dead.drain()

    def discard(self, names: Container[str]) -> None:
        """Drop the answers of these queries that wait."""
        for name in [name for name in self.ready if name in names]:
            self._query(name).answers.drain()
            if self._query(name).failure is not None:
                self.ready[name] = None

    def rename_start(self, key: object, new: object) -> None:
        """Let the queries of a start be pushed to under another key. Both have seen their streams up to the same
        places."""
        for start in self._of(key):
            start.key, start.moved = new, True

    def schema(self, name: str) -> Schema:
        """The columns of the answer."""
        return answer_schema(self._query(name).plan)

    def ledger(self, name: str) -> QueryLedger:
        """The accounts of the readings that the query was given, summed over the occurrences of streams in
        it."""
        query = self._query(name)
        return query.group.ledger(name) if query.failure is None else query.failure.ledger

    def analysis(self, name: str) -> str:
        """The query's plan with the work of each operator so far."""
        query = self._query(name)
        if query.failure is not None:
            raise query.failure.error
        return query.group.analysis(name)

    def own_times(self, start: object) -> dict[str, int]:
        """The nanoseconds that each query of a start has taken for itself: those of stages that it shares with nobody."""
        return {
            name: time
            for beginning in self._of(start)
            for group in beginning.groups
            for name, time in group.own_times().items()
        }

    def work(self, name: str) -> Work:
        """The query's computing so far."""
        query = self._query(name)
        return Work() if query.failure is not None else query.group.work(name)

    def state_bytes(self, name: str) -> int:
        """The size of the state of the query's operators now."""
        return self._query(name).group.state_bytes(name)

    def watermark(self, name: str) -> int | None:
        """The query's watermark; None if it reads no stream."""
        group = self._query(name).group
        return group.watermark(name) if group.pace.leaves else None

    def ledgers(self, names: Iterable[str]) -> dict[str, QueryLedger]:
        """The accounts of several queries."""
        return {name: self.ledger(name) for name in names}

    def watermarks(self, names: Iterable[str]) -> dict[str, int | None]:
        """The watermarks of several queries. Those of a group have one pace, which is looked at once: thousands of
        queries answer in a round."""
        paces: dict[Group, int] = {}
        found: dict[str, int | None] = {}
        for name in names:
            group = self._query(name).group
            if not group.pace.leaves:
                found[name] = None
                continue
            own = group.own_watermark(name)
            if own is None:
                own = paces.get(group)
                if own is None:
                    own = paces[group] = group.pace.watermark
            found[name] = own
        return found

    def stream_watermark(self, name: str, stream: str) -> int:
        """The watermark of a stream as the query sees it."""
        return self._inlet(name, stream).door.watermark

    def start_watermark(self, start: object, stream: str) -> int:
        """The least watermark of a stream over the queries of a start."""
        doors = [one.inlets[stream].door for one in self._of(start) if stream in one.inlets]
        return min((door.watermark for door in doors), default=INT_MINIMUM)

    def stream_ledger(self, name: str, stream: str) -> Ledger:
        """The accounts of a stream's readings at the door that the query shares."""
        return self._inlet(name, stream).door.ledger

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self, name: str) -> dict[str, dict[str, bytes]]:
        """The whole state of a query after everything that was pushed: its streams' doors, its rounds, its
        stages, and the answers that nobody has fetched yet."""
        found = self.snapshots([name])
        if name not in found:
            failure = self._query(name).failure
            assert failure is not None, "a query without a state"
            raise failure.error
        return found[name]

    def snapshots(self, names: Iterable[str]) -> dict[str, dict[str, dict[str, bytes]]]:
        """The states of several queries, except those that failed. A part that several share is one object."""
        self.run()
        for name, other in self._queries.items():
            if other.answers.bounded and not other.answers.room:
                raise ConfigurationError(
                    f"nothing can be saved while answers wait: '{name}' has some",
                    hint="fetch the answers of all queries first",
                )
        taken: Taken = {}
        shared: dict[PushedInlet | Pace, dict[str, bytes]] = {}
        nothing: dict[str, bytes] = {}
        found = {}
        for name in names:
            query = self._query(name)
            if query.failure is not None:
                continue
            pace = query.group.pace
            panes: dict[str, dict[str, bytes]] = {}
            for stream in pace.inlets:
                inlet = query.start.inlets[stream]
                if inlet not in shared:
                    shared[inlet] = inlet.snapshot()
                panes[f"source {stream}"] = shared[inlet]
            if pace not in shared:
                shared[pace] = pace.snapshot()
            panes["waves"] = shared[pace]
            panes |= query.group.snapshot(name, taken)
            waiting = query.answers.peek()
            panes["answers"] = (
                {f"{number:06d}": to_bytes(rows) for number, rows in enumerate(waiting)}
                if waiting
                else nothing
            )
            if dead := query.dead.snapshot():
                panes["dead"] = dead
            found[name] = panes
        return found

    def restore(self, name: str, panes: Mapping[str, dict[str, bytes]]) -> None:
        """Let an installed query go on from a snapshot of the same plan.

        Queries whose snapshots were taken at the same moment share their equal parts again if they are
        restored before anything is pushed.
        """
        query = self._query(name)
        shared = {key: pane for key, pane in panes.items() if key.startswith("source ") or key == "waves"}
        if not self._restored(name, query, panes, _digest(shared)):
            alone = _digest({**panes, "query": {"name": name.encode()}})
            assert self._restored(name, query, panes, alone), "a state that differs from itself"

    def _restored(
        self, name: str, query: Installed, panes: Mapping[str, dict[str, bytes]], moment: bytes
    ) -> bool:
        """Install the query again, in the start of that moment. Returns False if a part that it would share
        has another state."""
        self.remove(name)
        start = self._start(query.start.key, moment)
        groups, inlets = list(start.groups), dict(start.inlets)
        folded = self._fold(name, query.plan, start, query.extents, skips=query.dead.skips)
        folded.dead.restore(panes.get("dead", {}))
        for stream, inlet in start.inlets.items():
            if stream not in inlets:
                inlet.restore(panes[f"source {stream}"])
        group = folded.group
        if group not in groups:
            group.pace.restore(panes["waves"])
        if not group.restore(name, panes):
            return False
        for _, data in sorted(panes["answers"].items()):
            folded.answers.put(from_bytes(data))
        return True

    def _inlet(self, name: str, stream: str) -> PushedInlet:
        query = self._query(name)
        inlet = query.start.inlets.get(stream.lower())
        if inlet is None and query.failure is not None:
            raise query.failure.error  # the query's inlets were removed with it
        if inlet is None:
            raise ConfigurationError(
                f"'{name}' does not read '{stream}'",
                hint=f"it reads {', '.join(query.group.pace.inlets) or 'none'}",
            )
        return inlet

    def _query(self, name: str) -> Installed:
        query = self._queries.get(name)
        if query is None:
            raise ConfigurationError(
                f"no query '{name}'", hint=f"there are {', '.join(self._queries) or 'none'}"
            )
        return query


def _digest(panes: Mapping[str, dict[str, bytes]]) -> bytes:
    state = sha256()
    for name, parts in sorted(panes.items()):
        for key, data in sorted(parts.items()):
            state.update(f"{name} {key} {len(data)} ".encode() + data)
    return state.digest()
