"""What banks of families have in common: queries that share one store of state, and answer from it in one pass.

    rows ─► the family's store, once
    round ─► the answers of all its queries ─► each query's part of one frame

A family is a set of queries that differ in their windows alone: aggregates (window_bank.py) and joins (join_bank.py).
Its queries have no state of their own: a snapshot of one is the snapshot of the store, which is saved once. An error in
a query's own answers stops that query, and no other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter_ns
from typing import Any, Generic, Protocol, TypeVar

import polars as pl

from nilometer.dataflow.analysis import Measure
from nilometer.dataflow.answers import Answers
from nilometer.dataflow.books import Books
from nilometer.dataflow.dataflow import Dataflow
from nilometer.dataflow.dead_rows import Kind
from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.meter import Meter
from nilometer.dataflow.pace import Inlet
from nilometer.dataflow.part import Rows
from nilometer.dataflow.pushed import Arrival
from nilometer.dataflow.sources import Extents
from nilometer.dataflow.stages import Round, Transform
from nilometer.dataflow.watermark import Leaf, query_watermark
from nilometer.errors import NilometerError
from nilometer.operators.set_aside import Letter
from nilometer.plan import physical

Failures = list[tuple["FamilyMember", NilometerError]]
Letters = list[tuple["FamilyMember", list[Letter], Kind]]


class FamilyQuery(Protocol):
    """A query that can be a member. `shape` is equal for queries that do the same with the rows of their windows,
    `selects` says whether they leave some out."""

    @property
    def leaves(self) -> tuple[Leaf, ...]: ...
    @property
    def shape(self) -> tuple[Any, ...]: ...
    @property
    def selects(self) -> bool: ...
    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that it reads, each once, in lower case."""


class FamilyMember(ABC):
    """One query of a family. Equal queries are one member with several answers."""

    name: str
    family: Any

    def __init__(
        self, bank: FamilyBank[Any, Any], query: FamilyQuery, transforms: Sequence[Transform]
    ) -> None:
        self.bank = bank
        self.query = query
        self.outputs: dict[Answers, None] = {}
        self.transforms = tuple(transforms)
        """The work on the rows of its windows."""
        self.meters = [Meter() for _ in self.transforms]
        """The work of the transforms. If they leave no row out, one query does them for all that do the same."""
        self.made = 0
        """The number of rows of its windows."""
        self.own_time = 0
        """The nanoseconds of work that no other query has a part in: of the whole family while it has no other member, else
        of transforms that no other member shares."""

    def give(self, rows: Rows) -> None:
        """Put rows into the answers of the member's queries. If rows were set aside, those queries get them that go on."""
        if self.family.doubtful:
            self.bank.deferred.append((self, rows))
            return
        for queue in self.outputs:
            queue.put(rows)

    def applied(self, rows: pl.DataFrame, *, shared: bool = False) -> pl.DataFrame:
        """The answer's rows, made of the rows of its windows. `shared`: other members answer with them, too."""
        first = began = perf_counter_ns()
        for transform, meter in zip(self.transforms, self.meters, strict=True):
            given = rows.height
            rows = transform(rows)
            began = meter.note(given, rows.height, began)
        if not shared:
            self.worked(began - first)
        return rows

    def worked(self, nanoseconds: int) -> None:
        """Note work that no other member has a part in. Equal queries have no work of their own."""
        self.own_time = self.own_time + nanoseconds if len(self.outputs) == 1 else 0

    def own_meters(self) -> list[Meter]:
        """The work of the transforms as if this query had done it alone."""
        if self.query.selects:
            return self.meters
        alike = (one.meters for one in self.family.members if one.query.shape == self.query.shape)
        times = max(alike, key=lambda meters: sum(meter.rounds for meter in meters))
        return [Meter(one.rounds, self.made, self.made, one.nanoseconds) for one in times]

    @abstractmethod
    def measured(
        self, plan: physical.Node, extents: Extents
    ) -> tuple[Dataflow, dict[physical.Node, Measure]]:
        """The work of each node of the query's plan, for EXPLAIN ANALYZE."""

    @abstractmethod
    def described(self) -> str:
        """The state that the family shares, in words."""

    @property
    def ledger(self) -> QueryLedger:
        """The accounts of the tuples that the family was given."""
        ledger: QueryLedger = self.family.books.ledger
        return ledger

    def watermark(self, inlets: Mapping[str, Inlet]) -> int:
        """The query's own watermark. After the end of its streams, a window goes on until it is empty."""
        doors = {stream: inlets[stream].door for stream in self.query.streams}
        ended = {stream for stream in self.query.streams if inlets[stream].ended}
        return query_watermark(self.query.leaves, doors, ended)

    def snapshot(self) -> dict[str, bytes]:
        """The state of the family."""
        panes: dict[str, bytes] = self.family.snapshot()
        return panes

    def move(self, panes: Mapping[str, bytes]) -> None:  # noqa: B027
        """Go into the family that a snapshot was taken of."""

    def restore(self, panes: dict[str, bytes]) -> None:
        """Restore the family from a snapshot."""
        self.family.restore(panes)


class Store(Protocol):
    """The state of a family."""

    def snapshot(self) -> dict[str, bytes]: ...
    def restore(self, panes: dict[str, bytes]) -> None: ...


M = TypeVar("M", bound=FamilyMember)


class Family(ABC, Generic[M]):
    """The queries that share a store."""

    def __init__(self, key: tuple[Any, ...], store: Store) -> None:
        self.key = key
        self.books = Books()
        self.meter = Meter()
        self.members: dict[M, None] = {}
        self.moved = False
        """Whether it has had a round: a query that comes later has seen less."""
        self.doubtful = False
        """Whether rows were set aside in this round."""
        self._store = store
        self._saved: dict[str, bytes] | None = None

    def add(self, member: M) -> None:
        """Add a query."""
        self.members[member] = None
        self.changed()

    def drop(self, member: M) -> None:
        """Remove a query."""
        del self.members[member]
        self.changed()

    @abstractmethod
    def changed(self) -> None:
        """Queries came or went."""

    @abstractmethod
    def step(
        self,
        arrivals: Mapping[str, Arrival],
        now: Round,
        inlets: Mapping[str, Inlet],
        bank: FamilyBank[M, Any],
    ) -> None:
        """Take the tuples of a round, and answer every window that is complete."""

    def snapshot(self) -> dict[str, bytes]:
        """The store and the books; one object for all queries until the next round."""
        if self._saved is None:
            self._saved = self._store.snapshot() | self.books.snapshot()
        return self._saved

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self._store.restore(panes)
        self.books.restore(panes)
        self._saved = panes


F = TypeVar("F", bound=Family[Any])


class FamilyBank(Generic[M, F]):
    """The families over the same streams. `failures` holds the members that met an error; the others go on. `letters`
    holds the rows that were set aside."""

    def __init__(self) -> None:
        self.failures: Failures = []
        self.letters: Letters = []
        self.deferred: list[tuple[FamilyMember, Rows]] = []
        """Answers of a round in which rows were set aside."""
        self.families: list[F] = []

    @property
    def members(self) -> Iterator[M]:
        """All queries."""
        return (member for family in self.families for member in family.members)

    def drop(self, member: FamilyMember) -> None:
        """Remove a query, and its family if it was the last."""
        family = member.family
        family.drop(member)
        if not family.members:
            self.families.remove(family)

    def step(self, arrivals: Mapping[str, Arrival], now: Round, inlets: Mapping[str, Inlet]) -> None:
        """Serve the tuples of a round to all families."""
        for family in self.families:
            first = next(iter(family.members))
            before, own = family.meter.nanoseconds, first.own_time
            family.step(arrivals, now, inlets, self)
            if len(family.members) == 1:
                first.own_time = own
                first.worked(family.meter.nanoseconds - before)
