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
from typing import Any

import numpy as np

from nilometer.algebra.grid import Grid
from nilometer.algebra.summary import READINGS
from nilometer.dataflow.analysis import Measure, measures
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.dead_rows import Kind
from nilometer.dataflow.failures import failure_of
from nilometer.dataflow.family import Failures, Family, FamilyBank, FamilyMember, Letters
from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.meter import Meter
from nilometer.dataflow.pace import Inlet
from nilometer.dataflow.part import Part
from nilometer.dataflow.pushed import Arrival
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.stages import Round, Stage
from nilometer.dataflow.window_queries import WindowQuery
from nilometer.errors import NilometerError, ResourceError
from nilometer.kernels.arrays import Integers
from nilometer.operators.set_aside import collecting
from nilometer.operators.window_aggregate.slice_store import Slices, SliceStore, fits_into, part_of
from nilometer.operators.window_scope import Scope
from nilometer.plan import physical
from nilometer.types import format_duration

ROWS_AT_ONCE = 1 << 22
"""About how many rows of answers are made in one walk."""


class WindowMember(FamilyMember):
    """One aggregate over a family's slices."""

    name = "SLICES"
    family: WindowFamily
    query: WindowQuery

    def __init__(self, bank: WindowBank, plan: physical.Node, query: WindowQuery, extents: Extents) -> None:
        flow = Dataflow(plan, extents)
        top = flow.stages[flow.root]
        super().__init__(bank, query, top.transforms)
        self.scope = query.spec.scope
        self.inputs: tuple[Stage, ...] = tuple(flow.stages[place] for place in top.inputs)
        """The readers of what the aggregate takes: the stream's rows first."""
        self._bank = bank
        self.family = bank.add(self)

    @property
    def reach(self) -> int:
        """How far back the window begins."""
        assert self.scope.reach is not None, "a window without a start"
        return self.scope.reach

    def measured(
        self, plan: physical.Node, extents: Extents
    ) -> tuple[Dataflow, dict[physical.Node, Measure]]:
        flow, family = Dataflow(plan, extents), self.family
        top = flow.stages[flow.root]
        for place, stage in zip(top.inputs, family.inputs, strict=True):
            flow.stages[place].meters = stage.meters
        work = family.meter
        top.meters = [Meter(work.rounds, work.rows_in, self.made, work.nanoseconds), *self.own_meters()]
        return flow, measures(flow, plan, {flow.root: sum(map(len, self.snapshot().values()))})

    def described(self) -> str:
        store = self.family.store
        return f"{store.size:,} partials in slices of {format_duration(store.step)}"

    def move(self, panes: Mapping[str, bytes]) -> None:
        """Go into the family whose slices have the form of a snapshot's."""
        step, shift = json.loads(panes["slices"])
        if (step, shift) != (self.family.store.step, self.family.store.shift):
            self._bank.drop(self)
            self.family = self._bank.add(self, (step, shift))


class WindowBank(FamilyBank[WindowMember, "WindowFamily"]):
    """The families over one stream."""

    def add(self, member: WindowMember, slicing: tuple[int, int] | None = None) -> WindowFamily:
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
            family = WindowFamily(query, slicing or query.slicing, member.inputs)
            self.families.append(family)
        family.add(member)
        return family


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


class WindowFamily(Family[WindowMember]):
    """The queries with the same rows, grouping and aggregates, and their slices."""

    def __init__(self, query: WindowQuery, slicing: tuple[int, int], inputs: tuple[Stage, ...]) -> None:
        self.store = SliceStore(query.spec, *slicing)
        super().__init__(query.family, self.store)
        self.inputs = inputs
        self._stream = query.stream
        self._due: list[_Due] | None = None
        self._widest = 0

    def changed(self) -> None:
        self._due = None

    # ---- rounds ------------------------------------------------------------------------------------------------------

    def step(
        self,
        arrivals: Mapping[str, Arrival],
        now: Round,
        inlets: Mapping[str, Inlet],
        bank: FamilyBank[WindowMember, Any],
    ) -> None:
        arrival, failures, letters = arrivals.get(self._stream), bank.failures, bank.letters
        if arrival is None:
            return
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
            if inlets[self._stream].ended:
                self._finish(first, inlets, failures, letters)
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

    def _finish(
        self, first: int | None, inlets: Mapping[str, Inlet], failures: Failures, letters: Letters
    ) -> None:
        """The stream has ended: for each query time goes on until its window is empty."""
        since = self.store.since
        self._classes()
        ends = {member: member.watermark(inlets) for member in self.members}
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
            made = [(one, at, one.applied(rows[starts[at] : ends[at]])) for one, at in listed]
            for one, at, frame in made:
                one.made += ends[at] - starts[at]
                one.give(frame)
            return
        frame = member.applied(rows, shared=len(listed) > 1)
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
                    answers = member.applied(rows)
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
