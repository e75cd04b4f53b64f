"""A group: the queries with the same start and the same occurrences of streams.

They have the same watermark at all times. So one round moves them all, and they can share equal sub-plans.
Queries that only filter one stream have no stages of their own: a filter bank (filter_bank.py) answers all of
them together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nilometer.dataflow.analysis import measures, remark, state_sizes
from nilometer.dataflow.answers import Answers
from nilometer.dataflow.books import Books
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.filter_bank import FilterBank, Member
from nilometer.dataflow.filters import Filter, stateless_over
from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.pace import Pace
from nilometer.dataflow.policy import Policy
from nilometer.dataflow.pushed import Arrival, PushedInlet
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.stages import Passing, Round, StreamReader, TableReader, shed_by
from nilometer.dataflow.watermark import Leaf
from nilometer.errors import NilometerError
from nilometer.plan import physical
from nilometer.plan.explain import explain_text


@dataclass(eq=False)
class Root:
    """The top of a query's plan: a stage of the group's dataflow, or a filter of a stream's bank."""

    top: int | Member
    answers: Answers
    plan: physical.Node


class Group:
    """The dataflow of the queries' plans, one filter bank for each stream, and the pace of their rounds."""

    def __init__(self, leaves: frozenset[Leaf], inlets: Mapping[str, PushedInlet], extents: Extents) -> None:
        self.pace = Pace(leaves, inlets)
        self.flow = Dataflow(None, extents)
        self.roots: dict[str, Root] = {}
        self._tops: dict[str, int] = {}
        self._bounded: dict[str, Answers] = {}
        self._restored: set[int | Member] = set()
        self._extents = extents
        self._banks: dict[str, FilterBank] = {}
        self._members: dict[physical.Node, Member] = {}
        self._users: defaultdict[int, set[str]] = defaultdict(set)
        self._books: defaultdict[int, Books] = defaultdict(Books)

    # ---- installing and removing queries -----------------------------------------------------------------------------

    def install(self, name: str, plan: physical.Node, answers: Answers) -> None:
        """Add a query: its plan gets new stages only where no installed query has an equal one."""
        if stateless_over(plan) is not None:
            member = self._members.get(plan) or self._member(plan)
            member.outputs[answers] = None
            self._enroll(name, Root(member, answers, plan))
            return
        try:
            top = self.flow.lower(plan)
        except BaseException:
            self._drop([place for place in self.flow.stages if place not in self._users])
            raise
        self._enroll(name, Root(top, answers, plan))
        self._tops[name] = top
        for place in self.flow.below(top):
            self._users[place].add(name)

    def _enroll(self, name: str, root: Root) -> None:
        self.roots[name] = root
        if root.answers.bounded:
            self._bounded[name] = root.answers

    def _member(self, plan: physical.Node) -> Member:
        work = Filter(plan, self._extents)
        bank = self._banks.setdefault(work.stream, FilterBank(work.stream))
        self._members[plan] = member = Member(bank, work)
        return member

    def remove(self, name: str) -> None:
        """Remove a query, and every stage and filter that only it used."""
        root = self.roots.pop(name)
        self._tops.pop(name, None)
        self._bounded.pop(name, None)
        if isinstance(root.top, Member):
            self._leave(root.top, root)
            return
        used = set(self.flow.below(root.top))
        for place in used:
            self._users[place].discard(name)
        self._drop([place for place in used if not self._users[place]])

    def _leave(self, member: Member, root: Root) -> None:
        """Remove one query's answers from a filter, and the filter and its bank if no query is left."""
        del member.outputs[root.answers]
        if not member.outputs:
            member.bank.drop(member)
            del self._members[root.plan]
            self._restored.discard(member)
        self._banks = {stream: bank for stream, bank in self._banks.items() if bank.members}

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

    def step(self, arrivals: Mapping[str, Arrival]) -> dict[str, NilometerError]:
        """Run one round. Returns the errors that stop queries, by the query's name."""
        if self.pace.has_version:
            return self._round(self.pace.version_round(), {})
        own = {stream: arrivals[stream] for stream in self.pace.inlets if stream in arrivals}
        admitted = {stream: arrival.rows for stream, arrival in own.items() if arrival.rows.height}
        return self._round(self.pace.round(admitted), own)

    def _round(self, now: Round, arrivals: Mapping[str, Arrival]) -> dict[str, NilometerError]:
        failures: dict[int, NilometerError] = {}
        outputs = self.flow.step_all(now, failures)
        for place, output in outputs.items():
            stage = self.flow.stages[place]
            if isinstance(stage.worker, StreamReader):
                (stream,) = stage.streams
                if (arrival := arrivals.get(stream)) is not None:
                    rows = output.rows.height
                    self._books[place].note(arrival.rows.height, rows, arrival.late, arrival.shed)
        stopped: dict[str, NilometerError] = {}
        for stream, bank in self._banks.items():
            if stream in arrivals:
                bank.step(arrivals[stream], now)
            for member, error in bank.failures:
                stopped |= {name: error for name, root in self.roots.items() if root.top is member}
            bank.failures.clear()
        for name, top in self._tops.items():
            if top in outputs:
                self.roots[name].answers.put(outputs[top].rows)
            else:
                failed = next(place for place in self.flow.below(top) if place in failures)
                stopped[name] = failures[failed]
        return stopped

    # ---- accounts ----------------------------------------------------------------------------------------------------

    def ledger(self, name: str) -> QueryLedger:
        """The accounts of the readings that a query was given, summed over its occurrences of streams."""
        top = self.roots[name].top
        if isinstance(top, Member):
            return top.ledger
        total = QueryLedger()
        for place in self.flow.below(top):
            worker = self.flow.stages[place].worker
            if isinstance(worker, StreamReader):
                total += self._books[place].ledger
            elif shed := sum(shed_by(worker)):
                total += QueryLedger(delivered=-shed, shed=shed)
        return total

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

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(
        self, name: str, taken: dict[tuple[int, int | Member], dict[str, bytes]] | None = None
    ) -> dict[str, dict[str, bytes]]:
        """The state of the stages and filters that a query uses. Parts in `taken` are not asked again."""
        taken = {} if taken is None else taken
        found = {}
        for key, top in self._stateful(name):
            if (id(self), top) not in taken:
                taken[id(self), top] = self._panes(top)
            found[key] = taken[id(self), top]
        return found

    def restore(self, name: str, panes: Mapping[str, dict[str, bytes]]) -> bool:
        """Restore a snapshot of the same plan. Returns False if a part was already restored for another query, and
        the snapshot differs from its state."""
        for key, top in self._stateful(name):
            shared = top in self._restored or self._used_by_others(name, top)
            self._restored.add(top)
            if shared:
                if self._panes(top) != panes[key]:
                    return False
            elif isinstance(top, Member):
                top.restore(panes[key])
            else:
                worker = self.flow.stages[top].worker
                worker.restore(panes[key])
                if isinstance(worker, StreamReader):
                    self._books[top].restore(panes[key])
        return True

    @property
    def known(self) -> set[int | Member]:
        """The stages and filters that another query may share."""
        return {*self.flow.stages, *self._members.values()}

    def _used_by_others(self, name: str, top: int | Member) -> bool:
        return len(top.outputs) > 1 if isinstance(top, Member) else bool(self._users[top] - {name})

    def _panes(self, top: int | Member) -> dict[str, bytes]:
        if isinstance(top, Member):
            return top.snapshot()
        worker = self.flow.stages[top].worker
        books = self._books[top].snapshot() if isinstance(worker, StreamReader) else {}
        return worker.snapshot() | books

    def _stateful(self, name: str) -> Iterator[tuple[str, int | Member]]:
        """The parts of a query that have state, numbered in the order in which the plan is walked.

        A stage that is read twice is counted twice. So the numbers are the same with and without sharing.
        """
        top = self.roots[name].top
        if isinstance(top, Member):
            yield f"000 {top.name}", top
            return
        places = (
            place
            for place in self.flow.below(top)
            if not isinstance(self.flow.stages[place].worker, Passing | TableReader)
        )
        for number, place in enumerate(places):
            yield f"{number:03d} {self.flow.stages[place].name}", place


def fits(panes: Mapping[str, object], plan: physical.Node, extents: Extents) -> bool:
    """Whether a snapshot has the stages that the plan has here: another release may run a plan with other
    stages. A snapshot without state fits every plan."""
    scratch = Group(frozenset(), {}, extents)
    scratch.install("", plan, Answers(1, Policy.BLOCK))
    stages = {name for name in panes if name[:3].isdigit()}
    return not panes or stages == {name for name, _ in scratch._stateful("")}
