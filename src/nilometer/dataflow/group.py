"""A group: the queries with the same start and the same occurrences of streams.

They have the same watermark at all times. So one round moves them all, and they can share equal sub-plans.
Queries that only filter one stream have no stages of their own: a filter bank (filter_bank.py) answers all of
them together. Queries that aggregate windows of one stream share slices (window_bank.py).
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nilometer.dataflow.analysis import Work, measures, remark, state_sizes
from nilometer.dataflow.answers import Answers
from nilometer.dataflow.books import Books
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.dead_rows import NOTHING, DeadRows, Kind, kind_of
from nilometer.dataflow.family import Family, FamilyBank, FamilyMember
from nilometer.dataflow.family_queries import family_query
from nilometer.dataflow.filter_bank import FilterBank, Member
from nilometer.dataflow.filters import Filter, stateless_over
from nilometer.dataflow.join_bank import JoinBank, JoinMember
from nilometer.dataflow.join_queries import JoinQuery
from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.pace import Pace
from nilometer.dataflow.policy import Policy
from nilometer.dataflow.pulled import BATCH_ROWS
from nilometer.dataflow.pushed import Arrival, PushedInlet
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.stages import (
    Passing,
    Round,
    StreamReader,
    SummaryReader,
    TableReader,
    rows_at_once,
    shed_by,
)
from nilometer.dataflow.watermark import Leaf
from nilometer.dataflow.window_bank import WindowBank, WindowMember
from nilometer.dataflow.window_queries import WindowQuery
from nilometer.errors import NilometerError
from nilometer.operators.set_aside import Letter
from nilometer.plan import physical
from nilometer.plan.explain import explain_text

Banked = Member | FamilyMember
Top = int | Banked


@dataclass(eq=False)
class Root:
    """The top of a query's plan: a stage of the group's dataflow, or a member of one of a stream's banks."""

    top: Top
    answers: Answers
    plan: physical.Node
    dead: DeadRows


class Group:
    """The dataflow of the queries' plans, one filter bank for each stream, and the pace of their rounds."""

    def __init__(self, leaves: frozenset[Leaf], inlets: Mapping[str, PushedInlet], extents: Extents) -> None:
        self.pace = Pace(leaves, inlets)
        self.flow = Dataflow(None, extents)
        self.roots: dict[str, Root] = {}
        self._tops: dict[str, int] = {}
        self._bounded: dict[str, Answers] = {}
        self._restored: set[Top | Family[Any]] = set()
        self._extents = extents
        self._banks: dict[str, FilterBank] = {}
        self._families: dict[tuple[type, tuple[str, ...]], FamilyBank[Any, Any]] = {}
        """By the kind of the queries and their streams."""
        self._members: dict[physical.Node, Banked] = {}
        self._users: defaultdict[int, set[str]] = defaultdict(set)
        self._books: defaultdict[int, Books] = defaultdict(Books)
        self._filtering: defaultdict[str, int] = defaultdict(int)

    # ---- installing and removing queries -----------------------------------------------------------------------------

    def install(self, name: str, plan: physical.Node, answers: Answers, dead: DeadRows | None = None) -> None:
        """Add a query: its plan gets new stages only where no installed query has an equal one."""
        dead = DeadRows(skips=False) if dead is None else dead
        member = self._members.get(plan) or self._member(plan)
        if member is not None:
            member.outputs[answers] = None
            self._enroll(name, Root(member, answers, plan, dead))
            return
        try:
            top = self.flow.lower(plan)
        except BaseException:
            self._drop([place for place in self.flow.stages if place not in self._users])
            raise
        self._enroll(name, Root(top, answers, plan, dead))
        self._tops[name] = top
        for place in self.flow.below(top):
            self._users[place].add(name)

    def _enroll(self, name: str, root: Root) -> None:
        self.roots[name] = root
        if root.answers.bounded:
            self._bounded[name] = root.answers

    def _member(self, plan: physical.Node) -> Banked | None:
        """A new member of a bank; None if the plan needs stages of its own."""
        member: Banked
        if stateless_over(plan) is not None:
            work = Filter(plan, self._extents)
            member = Member(self._banks.setdefault(work.stream, FilterBank(work.stream)), work)
        else:
            query = family_query(plan)
            if query is None:
                return None
            member = self._family_member(plan, query)
        self._members[plan] = member
        return member

    def _family_member(self, plan: physical.Node, query: WindowQuery | JoinQuery) -> FamilyMember:
        bank = self._families.setdefault(
            (type(query), query.streams), WindowBank() if isinstance(query, WindowQuery) else JoinBank()
        )
        if isinstance(query, WindowQuery):
            assert isinstance(bank, WindowBank), "aggregates of windows in another bank"
            return WindowMember(bank, plan, query, self._extents)
        assert isinstance(bank, JoinBank), "joins of windows in another bank"
        return JoinMember(bank, plan, query, self._extents)

    def remove(self, name: str) -> None:
        """Remove a query, and every stage and filter that only it used."""
        root = self.roots.pop(name)
        self._tops.pop(name, None)
        self._bounded.pop(name, None)
        if not isinstance(root.top, int):
            self._leave(root.top, root)
            return
        used = set(self.flow.below(root.top))
        for place in used:
            self._users[place].discard(name)
        self._drop([place for place in used if not self._users[place]])

    def _leave(self, member: Banked, root: Root) -> None:
        """Remove one query's answers from a member of a bank, and the member and its bank if no query is left."""
        del member.outputs[root.answers]
        if not member.outputs:
            if isinstance(member, Member):
                member.bank.drop(member)
            else:
                member.bank.drop(member)
                if not member.family.members:
                    self._restored.discard(member.family)
            if self._members.get(root.plan) is member:
                del self._members[root.plan]
            self._restored.discard(member)
        self._banks = {stream: bank for stream, bank in self._banks.items() if bank.members}
        self._families = {kind: bank for kind, bank in self._families.items() if bank.families}

    def absorb(self, other: Group) -> bool:
        """Take over the queries of another group that stands at the same place of the same streams and will be given
        the same tuples. Only filters can be taken over: they have no state but their books."""
        if other.flow.stages or other._families or other._bounded or other.pace.has_version:
            return False
        for name, root in other.roots.items():
            member = root.top
            assert isinstance(member, Member), "a group with stages"
            if member.bank is not (bank := self._banks.get(member.work.stream)):
                if bank is None:
                    bank = self._banks[member.work.stream] = FilterBank(member.work.stream)
                member.move(bank)
            self.roots[name] = root
            self._members.setdefault(root.plan, member)
        other.roots = {}
        return True

    def _drop(self, places: list[int]) -> None:
        self.flow.remove(places)
        for place in places:
            self._users.pop(place, None)
            self._books.pop(place, None)
            self._restored.discard(place)

    # ---- rounds ------------------------------------------------------------------------------------------------------

    @property
    def room(self) -> bool:
        """Whether all answers can take the rows of a round."""
        return all(answers.room for answers in self._bounded.values())

    @property
    def due(self) -> bool:
        """Whether a round is due although nothing has arrived: the first one, which pulls the tables, or one
        for a new version of them."""
        return self.pace.has_version or not self.pace.rounds

    @property
    def round_rows(self) -> int:
        """The most rows of a stream that its operators want in a round."""
        return min((rows_at_once(stage.worker) for stage in self.flow.stages.values()), default=BATCH_ROWS)

    def step(self, arrivals: Mapping[str, Arrival]) -> dict[str, NilometerError]:
        """Run one round. Returns the errors that stop queries, by the query's name."""
        if self.pace.has_version:
            return self._round(self.pace.version_round(), {})
        own = {stream: arrivals[stream] for stream in self.pace.inlets if stream in arrivals}
        admitted = {stream: arrival.rows for stream, arrival in own.items() if arrival.rows.height}
        summaries = {
            stream: found for stream, arrival in own.items() if (found := arrival.summaries) is not None
        }
        ticks = {stream: found for stream, arrival in own.items() if (found := arrival.ticks) is not None}
        return self._round(self.pace.round(admitted, summaries=summaries, ticks=ticks), own)

    def _round(self, now: Round, arrivals: Mapping[str, Arrival]) -> dict[str, NilometerError]:
        failures: dict[int, NilometerError] = {}
        outputs = self.flow.step_all(now, failures)
        for place, output in outputs.items():
            stage = self.flow.stages[place]
            if isinstance(stage.worker, StreamReader):
                (stream,) = stage.streams
                if (arrival := arrivals.get(stream)) is not None:
                    rows = output.rows.height
                    failed = sum(letter.count for letter in self.flow.letters.get(place, ()))
                    self._books[place].note(arrival.accepted, rows, arrival.late, arrival.shed, failed)
            elif isinstance(stage.worker, SummaryReader) and stage.worker.taken:
                # The stream's own leaf has counted all summarised readings as filtered.
                taken = stage.worker.taken
                self._books[place].ledger += QueryLedger(delivered=taken, filtered=-taken)
        stopped: dict[str, NilometerError] = {}
        for place, letters in self.flow.letters.items():
            kind = kind_of(self.flow, place)
            for name in self._users[place]:
                if (fatal := self.roots[name].dead.take(letters, kind)) is not None:
                    stopped.setdefault(name, fatal)
        for stream, bank in self._banks.items():
            if stream in arrivals:
                began = time.perf_counter_ns()
                bank.step(arrivals[stream], now)
                self._filtering[stream] += time.perf_counter_ns() - began
            for member, error in bank.failures:
                stopped |= dict.fromkeys(queries_of(member), error)
            bank.failures.clear()
            for member, letters, kept in bank.letters:
                for name in self._set_aside(member, letters, Kind.READ, stopped):
                    self.roots[name].answers.put(kept)
            bank.letters.clear()
        for families in self._families.values():
            families.step(arrivals, now, self.pace.inlets)
            for failed_member, error in families.failures:
                stopped |= dict.fromkeys(queries_of(failed_member), error)
            families.failures.clear()
            for one, letters, kind in families.letters:
                self._set_aside(one, letters, kind, stopped)
            families.letters.clear()
            for one, deferred in families.deferred:
                for answers in one.outputs:
                    if answers.name not in stopped:
                        answers.put(deferred)
            families.deferred.clear()
        for name, top in self._tops.items():
            if name in stopped:
                continue
            if top in outputs:
                self.roots[name].answers.put(outputs[top].rows)
            else:
                failed = next(place for place in self.flow.below(top) if place in failures)
                stopped[name] = failures[failed]
        return stopped

    def _set_aside(
        self, member: Banked, letters: list[Letter], kind: Kind, stopped: dict[str, NilometerError]
    ) -> list[str]:
        """Give the rows that a member set aside to its queries. Returns those that go on."""
        going_on = []
        for name in queries_of(member):
            if (fatal := self.roots[name].dead.take(letters, kind)) is not None:
                stopped.setdefault(name, fatal)
            else:
                going_on.append(name)
        return going_on

    # ---- accounts ----------------------------------------------------------------------------------------------------

    def ledger(self, name: str) -> QueryLedger:
        """The accounts of the readings that a query was given, summed over its occurrences of streams."""
        top = self.roots[name].top
        if not isinstance(top, int):
            aside = self.roots[name].dead.ledger
            return top.ledger if aside is NOTHING else top.ledger + aside
        total = QueryLedger()
        for place in self.flow.below(top):
            worker = self.flow.stages[place].worker
            if isinstance(worker, StreamReader | SummaryReader):
                total += self._books[place].ledger
            elif shed := sum(shed_by(worker)):
                total += QueryLedger(delivered=-shed, shed=shed)
        return total + self.roots[name].dead.ledger

    def own_times(self) -> dict[str, int]:
        """The nanoseconds of the work that each query shares with nobody: of its stages, or in the bank that answers it."""
        times = {
            name: 0 if isinstance(root.top, int) else root.top.own_time for name, root in self.roots.items()
        }
        for place, users in self._users.items():
            if len(users) == 1:
                (name,) = users
                times[name] += sum(meter.nanoseconds for meter in self.flow.stages[place].meters)
        return times

    def watermark(self, name: str) -> int:
        """The watermark of a query. After the end of its stream, a window goes on until it is empty."""
        own = self.own_watermark(name)
        return self.pace.watermark if own is None else own

    def own_watermark(self, name: str) -> int | None:
        """The watermark of a query that differs from that of its group; None: it is the group's."""
        top = self.roots[name].top if name in self.roots else None
        return top.watermark(self.pace.inlets) if isinstance(top, FamilyMember) else None

    def analysis(self, name: str) -> str:
        """The plan of a query with the work of each operator since this process began, and how many other queries
        share it. A filter has no operators of its own: the bank of its stream evaluates all filters together."""
        root = self.roots[name]
        if isinstance(root.top, Member):
            others = sum(isinstance(other.top, Member) for other in self.roots.values()) - 1
            account = ", ".join(
                f"{count:,} {what}" for what, count in root.top.ledger.as_dict().items() if count
            )
            return f"{explain_text(root.plan)}\n-- one filter bank with {others} other queries: {account}"
        if isinstance(root.top, FamilyMember):
            return self._family_analysis(root.top, root.plan)
        used = set(self.flow.below(root.top))
        found = measures(self.flow, root.plan, state_sizes(self.flow, used))

        def note(node: object) -> str | None:
            measure = found.get(node)  # type: ignore[call-overload]
            if measure is None:
                return None if isinstance(node, physical.Exchange) else "done by the operator above"
            place, _ = self.flow.origins[node]  # type: ignore[index]
            others = len(self._users[place]) - 1
            shared = f", shared with {others} other{'' if others == 1 else 's'}" if others else ""
            return remark(measure, inputs=len(node.inputs)) + shared  # type: ignore[attr-defined]

        return explain_text(root.plan, note)

    def work(self, name: str) -> Work:
        """The computing of a query: its part of each operator, and how many other queries share one."""
        top = self.roots[name].top
        if isinstance(top, Member):
            stream, bank = next((at, bank) for at, bank in self._banks.items() if top in bank.members)
            filters = sum(
                one.top in bank.members for one in self.roots.values() if isinstance(one.top, Member)
            )
            return Work(self._filtering[stream] / max(1, filters), filters - 1)
        if isinstance(top, FamilyMember):
            family = top.family
            return Work(family.meter.nanoseconds / len(family.members), len(family.members) - 1)
        used = set(self.flow.below(top))
        spent = sum(
            meter.nanoseconds / len(self._users[place])
            for place in used
            for meter in self.flow.stages[place].meters
        )
        return Work(spent, len(set().union(*(self._users[place] for place in used)) - {name}))

    def state_bytes(self, name: str) -> int:
        """The size of a query's state now."""
        return sum(len(pane) for panes in self.snapshot(name).values() for pane in panes.values())

    def _family_analysis(self, member: FamilyMember, plan: physical.Node) -> str:
        flow, found = member.measured(plan, self._extents)
        family = member.family
        others = len(family.members) - 1
        shared = f", shared with {others} other{'' if others == 1 else 's'}" if others else ""

        def note(node: object) -> str | None:
            measure = found.get(node)  # type: ignore[call-overload]
            if measure is None:
                return None if isinstance(node, physical.Exchange) else "done by the operator above"
            place, transforms = flow.origins[node]  # type: ignore[index]
            own = place == flow.root and transforms > 0
            return remark(measure, inputs=len(node.inputs)) + ("" if own else shared)  # type: ignore[attr-defined]

        return f"{explain_text(plan, note)}\n-- {member.described()}, shared with {others} other queries"

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self, name: str, taken: Taken | None = None) -> dict[str, dict[str, bytes]]:
        """The state of the stages and filters that a query uses. Parts in `taken` are not asked again."""
        taken = {} if taken is None else taken
        found = {}
        for key, top in self._stateful(name):
            if (self, top) not in taken:
                taken[self, top] = self._panes(top)
            found[key] = taken[self, top]
        return found

    def restore(self, name: str, panes: Mapping[str, dict[str, bytes]]) -> bool:
        """Restore a snapshot of the same plan. Returns False if a part was already restored for another query, and
        the snapshot differs from its state."""
        for key, top in self._stateful(name):
            part: Top | Family[Any] = top
            if isinstance(top, FamilyMember):
                top.move(panes[key])
                part = top.family
            shared = part in self._restored or self._used_by_others(name, top)
            self._restored.add(part)
            if shared:
                own = self._panes(top)
                if own is not panes[key] and own != panes[key]:
                    return False
            elif not isinstance(top, int):
                top.restore(panes[key])
            else:
                worker = self.flow.stages[top].worker
                worker.restore(panes[key])
                if isinstance(worker, StreamReader):
                    self._books[top].restore(panes[key])
                for place, name_of in self._summaries(top):
                    if name_of in panes[key]:
                        self._books[place].ledger = QueryLedger(**json.loads(panes[key][name_of]))
        return True

    def _summaries(self, place: int) -> list[tuple[int, str]]:
        """The summaries that a stage reads, and the panes of their books. They are kept with the stage, so that a
        snapshot from before there were summaries still fits."""
        inputs = self.flow.stages[place].inputs
        return [
            (one, "summaries") for one in inputs if isinstance(self.flow.stages[one].worker, SummaryReader)
        ]

    @property
    def known(self) -> set[Top]:
        """The stages, filters and windows that another query may share."""
        return {*self.flow.stages, *self._members.values()}

    def _used_by_others(self, name: str, top: Top) -> bool:
        if isinstance(top, FamilyMember):
            return False  # its family says whether it was restored
        return len(top.outputs) > 1 if isinstance(top, Member) else bool(self._users[top] - {name})

    def _panes(self, top: Top) -> dict[str, bytes]:
        if not isinstance(top, int):
            return top.snapshot()
        worker = self.flow.stages[top].worker
        books = self._books[top].snapshot() if isinstance(worker, StreamReader) else {}
        for place, pane in self._summaries(top):
            ledger = self._books[place].ledger
            if ledger != QueryLedger():
                books[pane] = json.dumps(ledger.as_dict()).encode()
        return worker.snapshot() | books

    def _stateful(self, name: str) -> Iterator[tuple[str, Top]]:
        """The parts of a query that have state, numbered in the order in which the plan is walked.

        A stage that is read twice is counted twice. So the numbers are the same with and without sharing.
        """
        top = self.roots[name].top
        if not isinstance(top, int):
            yield f"000 {top.name}", top
            return
        places = (
            place
            for place in self.flow.below(top)
            if not isinstance(self.flow.stages[place].worker, Passing | TableReader | SummaryReader)
        )
        for number, place in enumerate(places):
            yield f"{number:03d} {self.flow.stages[place].name}", place


def queries_of(member: Banked) -> list[str]:
    """The names of the queries that a member answers."""
    return [answers.name for answers in member.outputs]


def fits(panes: Mapping[str, object], plan: physical.Node, extents: Extents) -> bool:
    """Whether a snapshot has the stages that the plan has here: another release may run a plan with other
    stages. A snapshot without state fits every plan."""
    scratch = Group(frozenset(), {}, extents)
    scratch.install("", plan, Answers(1, Policy.BLOCK))
    stages = {name for name in panes if name[:3].isdigit()}
    return not panes or stages == {name for name, _ in scratch._stateful("")}


Taken = dict[tuple[Group, Top], dict[str, bytes]]
"""The panes of parts that several queries share, by group and part: each is asked once for a checkpoint."""
