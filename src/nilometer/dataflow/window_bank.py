"""Answers all window aggregates over one stream: those of one family share one store of slices.

    rows ─► slices of the family (operators/window_aggregate/slice_store.py), once
    round ─► the windows that are due, one walk for all that end together ─► each query's part of one frame

A family has the same rows, grouping and aggregates; RANGE and SLIDE differ. Its queries have no state of their own:
a snapshot of one is the snapshot of the store, which is saved once. An error in a query's own answers stops that
query, and no other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import perf_counter_ns

import numpy as np
import polars as pl

from nilometer.algebra.grid import Grid
from nilometer.algebra.summary import READINGS
from nilometer.dataflow.analysis import Measure, measures
from nilometer.dataflow.answers import Answers
from nilometer.dataflow.books import Books
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.dead_rows import Kind
from nilometer.dataflow.failures import failure_of
from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.meter import Meter
from nilometer.dataflow.part import Part, Rows
from nilometer.dataflow.pushed import Arrival, PushedInlet
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.stages import Round, Stage, Transform
from nilometer.dataflow.watermark import query_watermark
from nilometer.dataflow.window_queries import WindowQuery
from nilometer.errors import NilometerError, ResourceError
from nilometer.kernels.arrays import Integers
from nilometer.operators.set_aside import Letter, collecting
from nilometer.operators.window_aggregate.slice_store import Slices, SliceStore, fits_into, part_of
from nilometer.operators.window_scope import Scope
from nilometer.plan import physical

ROWS_AT_ONCE = 1 << 22
"""About how many rows of answers are made in one walk."""

Failures = list[tuple["WindowMember", NilometerError]]
Letters = list[tuple["WindowMember", list[Letter], Kind]]


class WindowMember:
    """One query over a family's slices. Equal queries are one member with several answers."""

    name = "SLICES"

    def __init__(self, bank: WindowBank, plan: physical.Node, query: WindowQuery, extents: Extents) -> None:
        self.bank = bank
        self.query = query
        self.scope = query.spec.scope
        self.outputs: dict[Answers, None] = {}
        flow = Dataflow(plan, extents)
        top = flow.stages[flow.root]
        self.inputs: tuple[Stage, ...] = tuple(flow.stages[place] for place in top.inputs)
        """The readers of what the aggregate takes: the stream's rows first."""
        self.transforms: tuple[Transform, ...] = tuple(top.transforms)
        self.meters = [Meter() for _ in self.transforms]
        """The work of the transforms. If they leave no row out, one query does them for all that do the same."""
        self.made = 0
        """The number of rows of its windows."""
        self.family = bank.add(self)

    @property
    def reach(self) -> int:
        """How far back the window begins."""
        assert self.scope.reach is not None, "a window without a start"
        return self.scope.reach

    def give(self, rows: Rows) -> None:
        """Put rows into the answers of the member's queries. If rows were set aside, those queries get them that go on."""
        if self.family.doubtful:
            self.bank.deferred.append((self, rows))
            return
        for queue in self.outputs:
            queue.put(rows)

    def measured(
        self, plan: physical.Node, extents: Extents
    ) -> tuple[Dataflow, dict[physical.Node, Measure]]:
        """The work of each node of the query's plan, for EXPLAIN ANALYZE."""
        flow, family = Dataflow(plan, extents), self.family
        top = flow.stages[flow.root]
        for place, stage in zip(top.inputs, family.inputs, strict=True):
            flow.stages[place].meters = stage.meters
        work = family.meter
        done = self.meters
        if not self.query.selects:
            alike = (member for member in family.members if member.query.shape == self.query.shape)
            times = max((member.meters for member in alike), key=lambda meters: sum(m.rounds for m in meters))
            done = [Meter(one.rounds, self.made, self.made, one.nanoseconds) for one in times]
        top.meters = [Meter(work.rounds, work.rows_in, self.made, work.nanoseconds), *done]
        return flow, measures(flow, plan, {flow.root: sum(map(len, self.snapshot().values()))})

    @property
    def ledger(self) -> QueryLedger:
        """The accounts of the tuples that the family was given."""
        return self.family.books.ledger

    def snapshot(self) -> dict[str, bytes]:
        """The state of the family."""
        return self.family.snapshot()

    def move(self, panes: Mapping[str, bytes]) -> None:
        """Go into the family whose slices have the form of a snapshot's."""
        step, shift = json.loads(panes["slices"])
        if (step, shift) != (self.family.store.step, self.family.store.shift):
            self.bank.drop(self)
            self.family = self.bank.add(self, (step, shift))

    def restore(self, panes: dict[str, bytes]) -> None:
        """Restore the family from a snapshot."""
        self.family.restore(panes)


class WindowBank:
    """The families over one stream. `failures` holds the members that met an error; the others go on. `letters` holds
    the rows that were set aside."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.failures: Failures = []
        self.letters: Letters = []
        self.deferred: list[tuple[WindowMember, Rows]] = []
        """Answers of a round in which rows were set aside."""
        self.families: list[Family] = []

    @property
    def members(self) -> Iterator[WindowMember]:
        """All queries."""
        return (member for family in self.families for member in family.members)

    def add(self, member: WindowMember, slicing: tuple[int, int] | None = None) -> Family:
        """Put a query into the family whose slices serve it, or those of this form, or into a new family."""
        query = member.query
        for family in self.families:
            form = family.store.step, family.store.shift
            fits = form == (slicing or query.slicing)
            if not slicing and len(family.inputs) == 1:
                fits = fits_into(member.scope, query.slicing, *form)
            if fits and not family.moved and family.key == query.family:
                break
        else:
            family = Family(query, slicing or query.slicing, member.inputs)
            self.families.append(family)
        family.add(member)
        return family

    def drop(self, member: WindowMember) -> None:
        """Remove a query, and its family if it was the last."""
        member.family.drop(member)
        if not member.family.members:
            self.families.remove(member.family)

    def step(self, arrival: Arrival, now: Round, inlet: PushedInlet) -> None:
        """Serve the stream's tuples of a round to all families."""
        for family in self.families:
            family.step(arrival, now, inlet, self.failures, self.letters)


class _Due:
    """The members that are evaluated at the same ticks and end there alike, the narrowest window first."""

    def __init__(self, members: Iterable[WindowMember]) -> None:
        ordered = sorted(members, key=lambda member: member.reach)
        self.scope: Scope = ordered[0].scope
        reaches = sorted({member.reach for member in ordered})
        self.reaches: Integers = np.array(reaches, dtype=np.int64)
        place = {reach: number for number, reach in enumerate(reaches)}
        self.shapes: dict[tuple[object, ...], list[tuple[WindowMember, int]]] = {}
        for member in ordered:
            self.shapes.setdefault(member.query.shape, []).append((member, place[member.reach]))

    @property
    def members(self) -> Iterator[WindowMember]:
        return (member for listed in self.shapes.values() for member, _ in listed)


class Family:
    """The queries with the same rows, grouping and aggregates, and their slices."""

    def __init__(self, query: WindowQuery, slicing: tuple[int, int], inputs: tuple[Stage, ...]) -> None:
        self.inputs = inputs
        self.key = query.family
        self.store = SliceStore(query.spec, *slicing)
        self.books = Books()
        self.meter = Meter()
        self.members: dict[WindowMember, None] = {}
        self.moved = False
        self.doubtful = False
        self._stream = query.stream
        self._due: list[_Due] | None = None
        self._widest = 0
        self._saved: dict[str, bytes] | None = None

    def add(self, member: WindowMember) -> None:
        """Add a query."""
        self.members[member] = None
        self._due = None

    def drop(self, member: WindowMember) -> None:
        """Remove a query."""
        del self.members[member]
        self._due = None

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        """The slices and the books; one object for all queries until the next round."""
        if self._saved is None:
            self._saved = self.store.snapshot() | self.books.snapshot()
        return self._saved

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self.store.restore(panes)
        self.books.restore(panes)
        self._saved = panes

    # ---- rounds ------------------------------------------------------------------------------------------------------

    def step(
        self, arrival: Arrival, now: Round, inlet: PushedInlet, failures: Failures, letters: Letters
    ) -> None:
        """Take the tuples of a round, and answer every window that is complete."""
        self.moved, self._saved = True, None
        began, taken = perf_counter_ns(), 0
        try:
            with collecting() as read:
                rows = self.inputs[0].step({}, now).rows
            failed = sum(letter.count for letter in read)
            self.books.note(arrival.accepted, rows.height, arrival.late, arrival.shed, failed)
            with collecting() as aside:
                if rows.height:
                    self.store.update(0, rows)
            for summaries in self.inputs[1:]:
                found = summaries.step({}, now).rows
                if found.height:
                    self.store.update(1, found)
                    stood_for = int(found.get_column(READINGS).sum())
                    # The stream's own reader has counted all summarised readings as filtered.
                    self.books.ledger += QueryLedger(delivered=stood_for, filtered=-stood_for)
                    taken += stood_for
            taken += rows.height
            self.doubtful = bool(read or aside)
            for set_aside, kind in ((read, Kind.READ), (aside, Kind.TAKEN)):
                letters.extend((member, set_aside, kind) for member in self.members if set_aside)
            self._bound(failures)
            first = now.first_ticks.get(self._stream)
            if inlet.ended:
                self._finish(first, inlet, failures, letters)
            else:
                self._advance(self._classes(), first, now.watermark, failures, letters)
        except Exception as error:
            # The rows, groups and partials are the same for all: each of them would meet this error alone.
            failure = failure_of(error, f"windows of {self._stream}")
            failures.extend((member, failure) for member in self.members)
        self.meter.note(taken, 0, began)

    def _advance(
        self, classes: Sequence[_Due], first: int | None, watermark: int, failures: Failures, letters: Letters
    ) -> None:
        since = self.store.since
        self.store.settle(watermark)
        for due in classes:
            self._answer(due, first, since, watermark, failures, letters)
        self.store.done(watermark, self._widest)

    def _finish(self, first: int | None, inlet: PushedInlet, failures: Failures, letters: Letters) -> None:
        """The stream has ended: for each query time goes on until its window is empty."""
        since = self.store.since
        self._classes()
        ends = {
            member: query_watermark(member.query.leaves, {self._stream: inlet.door}, {self._stream})
            for member in self.members
        }
        until = max(ends.values(), default=since)
        self.store.settle(until)
        for member, end in ends.items():
            self._answer(_Due([member]), first, since, end, failures, letters)
        self.store.done(until, self._widest)

    def _classes(self) -> list[_Due]:
        if self._due is None:
            found: dict[tuple[int | None, Grid | None, int], list[WindowMember]] = {}
            for member in self.members:
                scope = member.scope
                found.setdefault((scope.period, scope.grid, scope.end), []).append(member)
            self._due = [_Due(members) for members in found.values()]
            self._widest = max((member.reach for member in self.members), default=0)
        return self._due

    def _bound(self, failures: Failures) -> None:
        """If the slices are more than may be kept, the query that reaches furthest back stops, and no other."""
        stopped = {member for member, _ in failures}
        while True:
            try:
                self.store.check()
                return
            except ResourceError as error:
                left = sorted((m for m in self.members if m not in stopped), key=lambda member: member.reach)
                if len(left) < 2:
                    raise
                stopped.add(left[-1])
                failures.append((left[-1], error))
                self.store.done(self.store.since, left[-2].reach)

    def _answer(
        self, due: _Due, first: int | None, since: int, watermark: int, failures: Failures, letters: Letters
    ) -> None:
        try:
            ticks = due.scope.evaluations(first, since, watermark, np.empty(0, dtype=np.int64))
        except NilometerError as error:
            failures.extend((member, error) for member in due.members)
            return
        each = max(1, ROWS_AT_ONCE // max(1, len(due.reaches) * self.store.groups))
        for start in range(0, len(ticks), each):
            self._serve(due, ticks[start : start + each], failures, letters)

    def _serve(self, due: _Due, ticks: Integers, failures: Failures, letters: Letters) -> None:
        slices = self.store.answers(ticks, due.scope.end, due.reaches)
        ends = slices.closes.tolist()
        starts = [0, *ends[:-1]]
        for listed in due.shapes.values():
            try:
                if len(due.shapes) == 1:
                    self._give(slices, listed, starts, ends)
                else:
                    self._give(*_only(slices, listed, starts, ends))
            except Exception:
                # A SUM or an expression over it may overflow in one window and not in another.
                self._give_each(slices, listed, starts, ends, failures, letters)

    def _give(
        self,
        slices: Slices,
        listed: Sequence[tuple[WindowMember, int]],
        starts: Sequence[int],
        ends: Sequence[int],
    ) -> None:
        """Make the answers of queries that do the same with them in one frame."""
        member, _ = listed[0]
        rows = self.store.rows_of(slices)
        if member.query.selects:
            made = [(one, at, _applied(one, rows[starts[at] : ends[at]])) for one, at in listed]
            for one, at, frame in made:
                one.made += ends[at] - starts[at]
                one.give(frame)
            return
        frame = _applied(member, rows)
        for one, at in listed:
            if ends[at] > starts[at]:
                one.made += ends[at] - starts[at]
                one.give(Part(frame, starts[at], ends[at] - starts[at]))

    def _give_each(
        self,
        slices: Slices,
        listed: Sequence[tuple[WindowMember, int]],
        starts: Sequence[int],
        ends: Sequence[int],
        failures: Failures,
        letters: Letters,
    ) -> None:
        for member, at in listed:
            try:
                with collecting() as made:
                    rows = self.store.rows_of(part_of(slices, starts[at], ends[at]))
                    answers = _applied(member, rows)
                if made:
                    letters.append((member, made, Kind.MADE))
                    self.doubtful = True
                member.give(answers)
                member.made += rows.height
            except Exception as error:
                failures.append((member, failure_of(error, f"windows of {self._stream}")))


def _only(
    slices: Slices, listed: Sequence[tuple[WindowMember, int]], starts: Sequence[int], ends: Sequence[int]
) -> tuple[Slices, list[tuple[WindowMember, int]], list[int], list[int]]:
    """The answers of some of the windows, with the windows' new numbers."""
    wanted = sorted({at for _, at in listed})
    place = {at: number for number, at in enumerate(wanted)}
    order = np.concatenate([np.arange(starts[at], ends[at]) for at in wanted])
    closes = np.cumsum([ends[at] - starts[at] for at in wanted])
    found = {name: np.ascontiguousarray(array[..., order]) for name, array in slices.found.items()}
    own = Slices(found, slices.groups[order], slices.ticks[order], closes)
    after = closes.tolist()
    return own, [(member, place[at]) for member, at in listed], [0, *after[:-1]], after


def _applied(member: WindowMember, rows: pl.DataFrame) -> pl.DataFrame:
    began = perf_counter_ns()
    for transform, meter in zip(member.transforms, member.meters, strict=True):
        given = rows.height
        rows = transform(rows)
        began = meter.note(given, rows.height, began)
    return rows
