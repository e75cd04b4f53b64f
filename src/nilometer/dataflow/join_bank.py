"""Answers all joins of time windows of the same streams: those of one family share one store of rows.

    rows ─► the rows of both sides, as far back as the widest window reaches (operators/window_matches.py), once
    round ─► the matches of the widest windows ─► the first ones of each evaluation are the answer of a narrower join

A family has the same rows, keys and conditions; RANGE and SLIDE differ. Joins that are evaluated together and whose
windows are nested are one chain: the widest join of the chain is computed, and no other. Their answers are parts of one
frame, which begin at the same row: the commit log holds it once. If a row of the widest join has no value, or if the
widest join is too large, each join is computed by itself, so that each meets its own errors and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np
import polars as pl

from nilometer.dataflow.analysis import Measure, measures
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.dead_rows import Kind
from nilometer.dataflow.failures import Caught, failure_of
from nilometer.dataflow.family import Failures, Family, FamilyBank, FamilyMember
from nilometer.dataflow.join_queries import JoinQuery
from nilometer.dataflow.meter import Meter
from nilometer.dataflow.pace import Inlet
from nilometer.dataflow.part import Part
from nilometer.dataflow.pushed import Arrival
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.stages import Round, Stage
from nilometer.errors import ResourceError
from nilometer.operators.set_aside import collecting, derived
from nilometer.operators.window_matches import Matches, Reach, WindowMatches, nested
from nilometer.operators.window_scope import BEGINNING, Scope
from nilometer.plan import physical

Firsts = tuple[int | None, int | None]
"""The first ticks of both streams."""


class JoinMember(FamilyMember):
    """One join over a family's rows."""

    name = "MATCHES"
    family: JoinFamily
    query: JoinQuery

    def __init__(self, bank: JoinBank, plan: physical.Node, query: JoinQuery, extents: Extents) -> None:
        flow = Dataflow(plan, extents)
        top = flow.stages[flow.root]
        super().__init__(bank, query, top.transforms)
        self.inputs = tuple(flow.stages[place] for place in _readers(flow))
        self.family = bank.add(self)

    def measured(
        self, plan: physical.Node, extents: Extents
    ) -> tuple[Dataflow, dict[physical.Node, Measure]]:
        flow, family = Dataflow(plan, extents), self.family
        for place, stage in zip(_readers(flow), family.inputs, strict=True):
            flow.stages[place].meters = stage.meters
        work = family.meter
        top = flow.stages[flow.root]
        top.meters = [Meter(work.rounds, work.rows_in, self.made, work.nanoseconds), *self.own_meters()]
        found = measures(flow, plan, {flow.root: sum(map(len, self.snapshot().values()))})
        return flow, {node: one for node, one in found.items() if not isinstance(node, physical.TimeWindow)}

    def described(self) -> str:
        return f"{self.family.store.size:,} rows of the widest windows"


def _readers(flow: Dataflow) -> list[int]:
    """The places of the readers of both sides."""
    windows = flow.stages[flow.root].inputs
    return [reader for window in windows for reader in flow.stages[window].inputs]


class JoinBank(FamilyBank[JoinMember, "JoinFamily"]):
    """The families over the same streams."""

    def add(self, member: JoinMember) -> JoinFamily:
        """Put a query into its family, or into a new one."""
        for family in self.families:
            if not family.moved and family.key == member.query.family:
                break
        else:
            family = JoinFamily(member.query, member.inputs)
            self.families.append(family)
        family.add(member)
        return family


Bank = FamilyBank[JoinMember, Any]


class _Chain:
    """The members whose windows are nested and are evaluated at the same ticks, the narrowest first."""

    def __init__(self, reaches: Sequence[Reach], members: Iterable[JoinMember]) -> None:
        self.reaches = reaches
        place = {reach: number for number, reach in enumerate(reaches)}
        self.members = [(one, place[one.query.reach]) for one in members if one.query.reach in place]
        self.scopes = self.members[0][0].query.scopes
        self.shapes: dict[tuple[object, ...], list[tuple[JoinMember, int]]] = {}
        for member, at in self.members:
            self.shapes.setdefault(member.query.shape, []).append((member, at))


_Made = tuple[Matches, list[tuple[JoinMember, int]], pl.DataFrame]


class _Extent:
    """How far back the widest windows of either side reach."""

    def __init__(self, members: Iterable[JoinMember]) -> None:
        sides: tuple[dict[object, Scope], dict[object, Scope]] = ({}, {})
        for member in members:
            for widest, scope in zip(sides, member.query.scopes, strict=True):
                kind = scope.period, scope.grid
                if kind not in widest or (scope.reach or 0) > (widest[kind].reach or 0):
                    widest[kind] = scope
        self._sides = tuple(list(widest.values()) for widest in sides)
        self.reach = Reach(*(max((scope.reach or 0 for scope in side), default=0) for side in self._sides))

    def needed(self, watermark: int) -> tuple[int, int]:
        """The least ticks that a window of either side may still see: the latest evaluation counts as well, because a
        side that slides rarely is joined with it until its next one."""
        if watermark == BEGINNING:
            return BEGINNING, BEGINNING
        at = np.array([watermark], dtype=np.int64)
        left, right = (
            min((int(scope.begun(at)[0]) - (scope.reach or 0) + 1 for scope in side), default=watermark)
            for side in self._sides
        )
        return left, right


class JoinFamily(Family[JoinMember]):
    """The joins with the same rows and conditions, and their rows."""

    def __init__(self, query: JoinQuery, inputs: tuple[Stage, ...]) -> None:
        self.store = WindowMatches(query.spec)
        super().__init__(query.family, self.store)
        self.inputs = inputs
        self._sides = query.sides
        self._where = f"joins of {' and '.join(query.streams)}"
        self._known: list[_Chain] | None = None
        self._wide: _Extent | None = None

    def changed(self) -> None:
        self._known = self._wide = None

    def step(
        self,
        arrivals: Mapping[str, Arrival],
        now: Round,
        inlets: Mapping[str, Inlet],
        bank: Bank,
    ) -> None:
        if not any(stream in arrivals for stream in self._sides):
            return
        self.moved, self._saved = True, None
        began = perf_counter_ns()
        taken = 0
        try:
            taken = self._take(arrivals, now, bank)
            self._store_rows(bank.failures)
            firsts = (now.first_ticks.get(self._sides[0]), now.first_ticks.get(self._sides[1]))
            if all(inlets[stream].ended for stream in self._sides):
                until = now.watermark
                for member in self.members:
                    end = member.watermark(inlets)
                    self._answer(_Chain([member.query.reach], [member]), firsts, end, bank)
                    until = max(until, end)
                self.store.done(until, self._extent().needed(until))
            else:
                for chain in self._chains():
                    self._answer(chain, firsts, now.watermark, bank)
                self.store.done(now.watermark, self._extent().needed(now.watermark))
        except Caught as error:
            # The rows are the same for all: each of them would meet this error alone.
            failure = failure_of(error, self._where)
            bank.failures.extend((member, failure) for member in self.members)
        self.meter.note(taken, 0, began)

    def _take(self, arrivals: Mapping[str, Arrival], now: Round, bank: FamilyBank[JoinMember, Any]) -> int:
        """Take the rows of the round. Returns their number."""
        self.doubtful, taken = False, 0
        for port, (stream, reader) in enumerate(zip(self._sides, self.inputs, strict=True)):
            arrival = arrivals.get(stream)
            if arrival is None:
                continue
            with collecting() as read:
                rows = reader.step({}, now).rows
            failed = sum(letter.count for letter in read)
            self.books.note(arrival.accepted, rows.height, arrival.late, arrival.shed, failed)
            if read:
                self.doubtful = True
                bank.letters.extend((member, read, Kind.READ) for member in self.members)
            if rows.height:
                self.store.update(port, rows)
            taken += rows.height
        return taken

    def _store_rows(self, failures: Failures) -> None:
        """Store the new rows. If they are more than may be kept, the join that reaches furthest back stops."""
        stopped = {member for member, _ in failures}
        extent = self._extent()
        while True:
            try:
                self.store.settle(extent.reach)
                return
            except ResourceError as error:
                left = [member for member in self.members if member not in stopped]
                if len(left) < 2:
                    raise
                furthest = max(left, key=lambda member: max(member.query.reach))
                stopped.add(furthest)
                failures.append((furthest, error))
                extent = _Extent(member for member in left if member is not furthest)
                self.store.done(self.store.since, extent.needed(self.store.since))

    def _extent(self) -> _Extent:
        if self._wide is None:
            self._wide = _Extent(self.members)
        return self._wide

    def _chains(self) -> list[_Chain]:
        if self._known is None:
            due: dict[tuple[Any, ...], list[JoinMember]] = {}
            for member in self.members:
                due.setdefault(member.query.due, []).append(member)
            self._known = [
                _Chain(reaches, members)
                for members in due.values()
                for reaches in nested(member.query.reach for member in members)
            ]
        return self._known

    # ---- answers -----------------------------------------------------------------------------------------------------

    def _answer(self, chain: _Chain, firsts: Firsts, watermark: int, bank: Bank) -> None:
        made = self._made(chain, firsts, watermark)
        if made is None:
            for member, _ in chain.members:
                self._answer_alone(member, firsts, watermark, bank)
            return
        for matches, listed, rows in made:
            self._give(matches, listed, rows)

    def _made(self, chain: _Chain, firsts: Firsts, watermark: int) -> list[_Made] | None:
        """The answers of the widest join, for each way to write them; None if a row has no value or if it cannot be
        computed: perhaps the narrower ones can."""
        try:
            with collecting() as aside, derived():
                made = [
                    (matches, listed, _written(listed, matches.rows))
                    for matches in self.store.matches(chain.scopes, firsts, watermark, chain.reaches)
                    for listed in chain.shapes.values()
                ]
        except Caught:
            return None
        return None if aside else made

    def _answer_alone(self, member: JoinMember, firsts: Firsts, watermark: int, bank: Bank) -> None:
        """Answer one join as if there were no other."""
        query = member.query
        try:
            with collecting() as aside, derived():
                found = self.store.matches(query.scopes, firsts, watermark, [query.reach])
                answers = [(matches.rows.height, member.applied(matches.rows)) for matches in found]
        except Caught as error:
            bank.failures.append((member, failure_of(error, self._where)))
            return
        if aside:
            bank.letters.append((member, aside, Kind.MADE))
        for height, rows in answers:
            member.made += height
            if aside:
                bank.deferred.append((member, rows))
            else:
                member.give(rows)

    def _give(self, matches: Matches, listed: Sequence[tuple[JoinMember, int]], rows: pl.DataFrame) -> None:
        """Give each member its part of the rows of every evaluation."""
        for start, ends in zip(matches.starts.tolist(), matches.ends.tolist(), strict=True):
            for member, at in listed:
                height = ends[at] - start
                if height:
                    member.made += height
                    part = Part(rows, start, height)
                    member.give(member.applied(part.cut()) if member.query.selects else part)


def _written(listed: Sequence[tuple[JoinMember, int]], rows: pl.DataFrame) -> pl.DataFrame:
    """The rows as members that are alike answer them. If they leave some out, each does it by itself."""
    member, _ = listed[0]
    return rows if member.query.selects else member.applied(rows, shared=len(listed) > 1)
