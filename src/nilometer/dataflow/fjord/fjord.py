"""Plans of several queries and pushed entries -> each query's answers: a Fjord (fjords.txt sections 3.1 and 4).

    push(stream, entry) ─► source ─► pacer ─► leaves ─► operators ─► answers(query)
                            door      waves              tables are pulled

Modules are state machines, scheduled in one thread; `run` schedules until nothing can move. Queries with the same start share
the door of a stream and one copy of each tuple, and equal sub-plans if they move in the same waves. The law: each query's
answers are those of `gateway.Run` over the entries that it saw, whatever else is folded in, comes or goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import polars as pl

from nilometer.dataflow.fjord.answers import Answers
from nilometer.dataflow.fjord.filter_bank import FilterBank, Member
from nilometer.dataflow.fjord.filters import Filter, stateless_over
from nilometer.dataflow.fjord.folding import Borrowed, Folding, Stateless, StoredTable
from nilometer.dataflow.fjord.messages import END, Message, Standing, Wave
from nilometer.dataflow.fjord.module import Module, ModuleError
from nilometer.dataflow.fjord.pacer import Pacer
from nilometer.dataflow.fjord.parts import Group, Installed, Part, Start
from nilometer.dataflow.fjord.queues import PullQueue, PushQueue, Queue
from nilometer.dataflow.fjord.schedulers import RoundRobin, Scheduler
from nilometer.dataflow.fjord.source import Source
from nilometer.dataflow.fjord.stage_module import LeafModule, OperatorModule, ScanModule, StageModule
from nilometer.dataflow.fjord.table_reader import TableReader
from nilometer.dataflow.ledger import Ledger, QueryLedger
from nilometer.dataflow.policy import Outcome, Policy
from nilometer.dataflow.run import answer_schema
from nilometer.dataflow.sources import Entry, Extents, TableVersion
from nilometer.dataflow.stages import Stage, StreamReader
from nilometer.dataflow.watermark import leaves
from nilometer.errors import ConfigurationError, NilometerError
from nilometer.operators.frames import from_bytes, to_bytes
from nilometer.plan import physical
from nilometer.types import INT_MINIMUM, Schema

ENTRY_ROWS = 1 << 20
"""How many rows may wait at a stream's door, before its policy decides."""

ANSWER_ROWS = 1 << 22
"""How many rows of an answer may wait to be fetched."""

EVERY_START = object()
"""All that read a stream, whenever they started."""

_ONE_MESSAGE = 1
"""The room of an inner queue: a module does not run ahead of those above it, so that windows stay the bound of memory."""


class Fjord:
    """Many queries, one thread.

    `policies` says, by the lower-case name of a stream, what its full queue does (BLOCK unless told: `push` then works
    first, and gives FULL only if that made no room); `answer_policy` what the queue of answers does that nobody fetches.
    `join_rows` bounds the memory of each WINDOW join of two streams: what it then gives up is counted as shed.
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
        join_rows: int | None = None,
    ) -> None:
        self.scheduler: Scheduler = RoundRobin() if scheduler is None else scheduler
        self._extents = sources
        self._entry_rows = entry_rows
        self._answer_rows = answer_rows
        self._policies = {name.lower(): policy for name, policy in (policies or {}).items()}
        self._answer_policy = answer_policy
        self._join_rows = join_rows
        self._starts: list[Start] = []
        self._queries: dict[str, Installed] = {}
        self._modules: list[Module] | None = None
        self._tops: list[Module] = []

    # ---- queries come and go -----------------------------------------------------------------------------------------

    @property
    def queries(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self._queries)

    def install(
        self, name: str, plan: physical.Node, *, start: object = None, extents: Extents | None = None
    ) -> None:
        """Fold a query in: it sees what is pushed from now on. Those with an equal `start`, between whose installations
        nothing of their streams was pushed, share what is equal in their plans. `extents` are where its tables come from, if not from
        where those of all queries do; the same for all of a start."""
        if name in self._queries:
            raise ConfigurationError(
                f"there is a query '{name}' already", hint="remove it first, or choose another name"
            )
        try:
            self._queries[name] = self._fold(name, plan, start, self._start(start), extents)
        finally:
            self._tidy()

    def _start(self, key: object, restored: bytes = b"") -> Start:
        """One that has not moved yet, or a new one."""
        for start in reversed(self._starts):
            if start.key == key and start.restored == restored and not start.moved:
                return start
        self._starts.append(Start(key, restored))
        return self._starts[-1]

    def remove(self, name: str) -> None:
        """Take a query out, with all that only it needed."""
        query = self._query(name)
        del self._queries[name]
        if query.failure is None:
            query.root.module.outputs.remove(query.answers)
            for part in query.group.parts:
                part.users.discard(name)
        self._tidy()

    def _fold(
        self, name: str, plan: physical.Node, start: object, beginning: Start, extents: Extents | None
    ) -> Installed:
        group = self._group(plan, beginning)
        if stateless_over(plan) is not None:
            root = group.known.get(plan) or self._member(plan, group)
        else:
            root = self._lowered(plan, group, self._extents if extents is None else extents)
        for part in root.walk():
            part.users.add(name)
        answers = Answers(self._answer_rows, self._answer_policy)
        root.module.outputs.append(answers)
        return Installed(name, plan, start, group, root, answers, extents)

    def _member(self, plan: physical.Node, group: Group) -> Part:
        """A filter, in the bank of its stream."""
        work = Filter(plan, self._extents)
        if work.stream not in group.banks:
            edges: list[tuple[Module, Queue[Any]]] = []
            waves: Queue[Wave] = self._connect(group.pacer, edges)
            bank = FilterBank(work.stream, waves, self._answer_policy is Policy.BLOCK)
            group.banks[work.stream] = bank, edges
        part = Part(Member(group.banks[work.stream][0], work), True, plan, frozenset({work.stream}))
        group.parts.append(part)
        return part

    def _lowered(self, plan: physical.Node, group: Group, extents: Extents) -> Part:
        """A plan with state: the parts that are not there yet, over those that are."""
        known = {node: part for node, part in group.known.items() if not isinstance(part.module, Member)}
        flow = Folding(plan, extents, {node: part.streams for node, part in known.items()}, self._join_rows)
        nodes = flow.nodes
        parts: list[Part] = []
        for place, stage in enumerate(flow.stages):
            if isinstance(stage.worker, Borrowed):
                part = known[stage.worker.node]
            else:
                below = tuple(parts[at] for at in stage.inputs)
                part = self._part(stage, nodes.get(place), below, group)
                group.parts.append(part)
            parts.append(part)
        return parts[-1]

    def _group(self, plan: physical.Node, beginning: Start) -> Group:
        """The group whose waves the query can share, or a new one."""
        occurrences = frozenset(leaves(plan))
        for group in beginning.groups:
            if group.leaves == occurrences and not group.pacer.moved:
                return group
        for name, stream in physical.streams_of(plan).items():
            if name not in beginning.sources:
                policy = self._policies.get(name, Policy.BLOCK)
                beginning.sources[name] = Source(stream, self._entry_rows, policy)
        reads = sorted({leaf.stream for leaf in occurrences})
        edges: list[tuple[Module, Queue[Any]]] = []
        inputs = {stream: self._connect(beginning.sources[stream], edges) for stream in reads}
        standings = {stream: Standing.of(beginning.sources[stream].door) for stream in reads}
        group = Group(beginning, occurrences, Pacer(occurrences, inputs, standings), edges)
        beginning.groups.append(group)
        return group

    def _part(self, stage: Stage, node: physical.Node | None, below: tuple[Part, ...], group: Group) -> Part:
        edges: list[tuple[Module, Queue[Any]]] = []
        module: StageModule
        match stage.worker:
            case StreamReader():
                (stream,) = stage.streams
                waves: Queue[Wave] = self._connect(group.pacer, edges)
                module = LeafModule(stage, stream, waves)
            case StoredTable() as table:
                reader = TableReader(table.name, table.read)
                pieces: PullQueue[pl.DataFrame] = PullQueue(reader, _ONE_MESSAGE)
                reader.outputs.append(pieces)
                module = ScanModule(stage, self._connect(group.pacer, edges), pieces, table)
            case _:
                modules = [part.module for part in below if isinstance(part.module, StageModule)]
                inputs: tuple[Queue[Message], ...] = tuple(self._connect(one, edges) for one in modules)
                module = OperatorModule(stage, inputs)
        stateful = not isinstance(stage.worker, Stateless)
        return Part(module, stateful, node, stage.streams, below, edges)

    def _connect(self, below: Module, edges: list[tuple[Module, Queue[Any]]]) -> Queue[Any]:
        """A queue out of a module: pushed into, or pulled where the operators schedule themselves."""
        queue: Queue[Any] = (
            PullQueue(below, _ONE_MESSAGE) if self.scheduler.pulls else PushQueue(_ONE_MESSAGE)
        )
        below.outputs.append(queue)
        edges.append((below, queue))
        return queue

    def _tidy(self) -> None:
        """Take away what no query uses."""
        for start in self._starts:
            for group in start.groups:
                for part in [part for part in group.parts if not part.users]:
                    if isinstance(part.module, Member):
                        part.module.bank.drop(part.module)
                    _disconnect(part.edges)
                    group.parts.remove(part)
                for stream in [stream for stream, (bank, _) in group.banks.items() if not bank.members]:
                    _disconnect(group.banks.pop(stream)[1])
            for group in [group for group in start.groups if not group.parts]:
                _disconnect(group.edges)
                start.groups.remove(group)
            start.sources = {name: source for name, source in start.sources.items() if source.outputs}
        self._starts = [start for start in self._starts if start.groups]
        self._modules = None

    # ---- entries and time --------------------------------------------------------------------------------------------

    def push(self, stream: str, entry: Entry, *, start: object = EVERY_START) -> Outcome:
        """An entry of the stream's log, to all queries that read it (or to those of one start). FULL: to none, because
        answers block; offer it again."""
        sources = self._sources(stream, start)
        if not all(source.entries.room for source in sources):
            self.run()
            if not all(source.entries.room for source in sources):
                return Outcome.FULL
        outcome = Outcome.ACCEPTED
        for source in sources:
            if source.entries.put(entry) is Outcome.DROPPED:
                outcome = Outcome.DROPPED
        return outcome

    def refresh(self, version: TableVersion, *, start: object) -> None:
        """Tables of the queries of a start were read anew: what has a tick from `holds_from` on meets them so. That must lie beyond
        `frontier`; and versions come in order, each before anything is pushed that it holds for."""
        for beginning in self._starts:
            if beginning.key == start:
                beginning.moved = True
                for group in beginning.groups:
                    group.pacer.refresh(version)

    def frontier(self, start: object) -> int | None:
        """The greatest tick that the queries of a start may have answered for; None if they have heard nothing."""
        beginnings = [beginning for beginning in self._starts if beginning.key == start]
        doors = [source.door for beginning in beginnings for source in beginning.sources.values()]
        pacers = [group.pacer for beginning in beginnings for group in beginning.groups if group.leaves]
        heard = [
            tick for door in doors for tick in (door.greatest_tick, door.greatest_time) if tick is not None
        ]
        marks = [door.watermark for door in doors] + [pacer.watermark for pacer in pacers]
        return max((*heard, *(mark for mark in marks if mark > INT_MINIMUM)), default=None)

    def end(self, stream: str, *, start: object = EVERY_START) -> None:
        """The stream has ended: the last windows are complete."""
        for source in self._sources(stream, start):
            source.entries.put(END)

    def run(self) -> None:
        """Schedule until nothing can move."""
        while True:
            if self._modules is None:
                self._modules = self._in_order()
                self._tops = self._on_top()
            try:
                self.scheduler.run(self._modules, self._tops)
            except ModuleError as failed:
                self._fail(failed.module, failed.error)
            else:
                if not self._failures():
                    return

    def _sources(self, stream: str, start: object) -> list[Source]:
        found = []
        for beginning in self._starts:
            source = beginning.sources.get(stream.lower())
            if source is not None and (start is EVERY_START or beginning.key == start):
                beginning.moved = True
                found.append(source)
        return found

    def _in_order(self) -> list[Module]:
        """All modules in the order in which rows flow."""
        modules: list[Module] = [source for start in self._starts for source in start.sources.values()]
        for start in self._starts:
            for group in start.groups:
                modules.append(group.pacer)
                modules += [bank for bank, _ in group.banks.values()]
                modules += [part.module for part in group.parts if not isinstance(part.module, Member)]
        return modules

    def _on_top(self) -> list[Module]:
        """Those that give answers."""
        roots = (query.root.module for query in self._queries.values() if query.failure is None)
        return list(dict.fromkeys(root.bank if isinstance(root, Member) else root for root in roots))

    def _failures(self) -> bool:
        """Whether filters have failed, which their bank survives."""
        found = False
        for group in [group for start in self._starts for group in start.groups]:
            for bank, _ in list(group.banks.values()):
                failures, bank.failures = bank.failures, []
                for member, error in failures:
                    found = True
                    self._fail(member, error)
        return found

    def _fail(self, module: Module | Member, error: NilometerError) -> None:
        """The queries above a module that failed stop, and say why when they are asked; the others go on."""
        for name, query in list(self._queries.items()):
            below = {id(part.module) for part in query.root.walk()} | {id(query.group.pacer)}
            below |= {id(source) for source, _ in query.group.edges}
            if query.failure is None and id(module) in below:
                query.failure = error
                query.root.module.outputs.remove(query.answers)
                for part in query.group.parts:
                    part.users.discard(name)
        self._tidy()

    # ---- what they give ----------------------------------------------------------------------------------------------

    def answers(self, name: str) -> list[pl.DataFrame]:
        """The frames since the last call, those with rows. Raises what made the query stop, once its rows are fetched."""
        query = self._query(name)
        frames = query.answers.drain()
        if query.failure is not None and not frames:
            raise query.failure
        return frames

    def dropped_answers(self, name: str) -> int:
        """The rows of answers that were dropped because nobody fetched them in time."""
        return self._query(name).answers.counts.dropped

    def schema(self, name: str) -> Schema:
        """The columns of the answer."""
        return answer_schema(self._query(name).plan)

    def ledger(self, name: str) -> QueryLedger:
        """What became of the readings the query was given, over the occurrences of streams in it."""
        total = QueryLedger()
        for part in self._query(name).root.walk():
            if isinstance(part.module, LeafModule | Member):
                total += part.module.ledger
            elif isinstance(part.module, OperatorModule) and (shed := part.module.shed):
                total += QueryLedger(delivered=-shed, shed=shed)
        return total

    def watermark(self, name: str) -> int | None:
        """How far event time has come for the query; None if it reads no stream."""
        group = self._query(name).group
        return group.pacer.watermark if group.leaves else None

    def stream_watermark(self, name: str, stream: str) -> int:
        """How far event time has come for a stream as the query sees it."""
        return self._source(name, stream).door.watermark

    def stream_ledger(self, name: str, stream: str) -> Ledger:
        """What became of a stream's readings at the door that the query shares."""
        return self._source(name, stream).door.ledger

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self, name: str) -> dict[str, dict[str, bytes]]:
        """The whole state of a query, after all that was pushed: its streams' doors, its waves, its modules, and the answers
        that wait."""
        self.run()
        query = self._query(name)
        if query.failure is not None:
            raise query.failure
        if not all(other.answers.room for other in self._queries.values()):
            raise ConfigurationError(
                f"'{name}' cannot be saved while answers wait", hint="fetch the answers of all queries first"
            )
        group = query.group
        panes = {f"source {stream}": group.start.sources[stream].snapshot() for stream in group.pacer.inputs}
        panes["waves"] = group.pacer.snapshot()
        panes |= {_pane(number, part): part.module.snapshot() for number, part in _stateful(query)}
        waiting = query.answers.peek()
        panes["answers"] = {f"{number:06d}": to_bytes(rows) for number, rows in enumerate(waiting)}
        return panes

    def restore(self, name: str, panes: Mapping[str, dict[str, bytes]]) -> None:
        """Let an installed query go on where a query of the same plan stood. Those that stood at the same moment, and are
        restored before anything is pushed, share again what is equal."""
        query = self._query(name)
        moment = _digest(
            {key: pane for key, pane in panes.items() if key.startswith("source ") or key == "waves"}
        )
        if not self._restored(query, panes, moment):
            alone = _digest({**panes, "query": {"name": name.encode()}})
            assert self._restored(query, panes, alone), "a state that differs from itself"

    def _restored(self, query: Installed, panes: Mapping[str, dict[str, bytes]], moment: bytes) -> bool:
        """Fold the query anew into the start of that moment; False if what it would share stands elsewhere."""
        self.remove(query.name)
        start = self._start(query.start, moment)
        before = {id(part) for group in start.groups for part in group.parts}
        waves = {id(group) for group in start.groups}
        sources = dict(start.sources)
        try:
            folded = self._queries[query.name] = self._fold(
                query.name, query.plan, query.start, start, query.extents
            )
        finally:
            self._tidy()
        for stream, source in start.sources.items():
            if stream not in sources:
                source.restore(panes[f"source {stream}"])
        group = folded.group
        if id(group) not in waves:
            standings = {stream: Standing.of(start.sources[stream].door) for stream in group.pacer.inputs}
            group.pacer.restore(panes["waves"], standings)
        for number, part in _stateful(folded):
            pane = panes[_pane(number, part)]
            if id(part) not in before:
                part.module.restore(pane)
            elif part.module.snapshot() != pane:
                return False
        for _, data in sorted(panes["answers"].items()):
            folded.answers.put_rows(from_bytes(data))
        return True

    def _source(self, name: str, stream: str) -> Source:
        query = self._query(name)
        source = query.group.start.sources.get(stream.lower())
        if source is None and query.failure is not None:
            raise query.failure  # its streams went with it
        if source is None:
            raise ConfigurationError(
                f"'{name}' does not read '{stream}'",
                hint=f"it reads {', '.join(query.group.pacer.inputs) or 'none'}",
            )
        return source

    def _query(self, name: str) -> Installed:
        query = self._queries.get(name)
        if query is None:
            raise ConfigurationError(
                f"no query '{name}'", hint=f"there are {', '.join(self._queries) or 'none'}"
            )
        return query


def _disconnect(edges: list[tuple[Module, Queue[Any]]]) -> None:
    for below, queue in edges:
        below.outputs.remove(queue)


def _stateful(query: Installed) -> Iterator[tuple[int, Part]]:
    """The parts that remember something, numbered as the plan is walked: with or without sharing the numbers are the same,
    for a part that is read twice is counted twice."""
    return enumerate(part for part in query.root.walk() if part.stateful)


def _pane(number: int, part: Part) -> str:
    return f"{number:03d} {part.module.name}"


def _digest(panes: Mapping[str, dict[str, bytes]]) -> bytes:
    state = sha256()
    for name, parts in sorted(panes.items()):
        for key, data in sorted(parts.items()):
            state.update(f"{name} {key} {len(data)} ".encode() + data)
    return state.digest()
