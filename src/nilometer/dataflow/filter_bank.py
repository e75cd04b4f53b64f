"""The predicate index: answers all filter queries over one stream in one step.

With one filter operator for each query (fjords.txt Fig. 7) every query looks at every tuple. The filter bank
instead sorts the tuples of a round once for each column that filters compare with constants. One search in
the sorted values then finds the range of every filter, as grouped filters do (NiagaraCQ, which the paper
names). Filters with several conditions, IN lists and strings have an index of their own (conjunctions.py). A query
that matches no tuple of a round costs nothing more.

Queries come and go while others run. The index therefore has tiers, each at least twice as large as the next
(Bentley and Saxe, 1980): a new filter is put into a small tier, and every filter is indexed again only about log n
times. A filter that has gone is skipped, until its tier is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from functools import cached_property
from time import perf_counter_ns

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.dataflow.answers import Answers
from nilometer.dataflow.books import Books
from nilometer.dataflow.conjunctions import Conjunctions, parts_of, runs_of
from nilometer.dataflow.failures import Caught, failure_of
from nilometer.dataflow.filters import Filter
from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.part import Part, Rows
from nilometer.dataflow.pushed import Arrival
from nilometer.dataflow.stages import Round, pick
from nilometer.errors import NilometerError
from nilometer.kernels.filter_ranges import Ranges, filter_ranges
from nilometer.operators.set_aside import Letter, collecting

FEW = 4
"""Up to this many filters on a column, comparing all values for each filter is faster than sorting them."""

FEW_ROWS = 8
"""A filter that holds less than one row in so many is answered together with others; the rows of one that holds more
are picked out of a mask."""

GATHERED_ROWS = 262_144
"""The number of answer rows that are gathered at once. A slice keeps the whole gathered frame in memory until
it is fetched."""

Columns = tuple[tuple[str, str], ...]
Places = npt.NDArray[np.int64]
Single = tuple["Member", Places | None]
"""A member, and the places of its rows in log order (None: all rows)."""
Runs = tuple[list["Member"], list[int], Places]
"""Members that want the same columns, how many rows each of them matches, and the places of these rows."""


class Member:
    """One filter of a bank. Equal queries are one member with several answers."""

    name = "FILTER"

    def __init__(self, bank: FilterBank, work: Filter) -> None:
        self.bank = bank
        self.work = work
        self.outputs: dict[Answers, None] = {}
        self.delivered = 0
        self.failed = 0
        self.own_time = 0
        """The nanoseconds of work that no other query has a part in: that of the whole bank while it has no other filter, else
        that of what the index cannot decide, such as a function in Python."""
        self._before = bank.books.ledger
        """The bank's accounts when the filter came."""
        bank.add(self)

    def give(self, rows: Rows) -> None:
        """Put rows into the answers of the member's queries."""
        self.delivered += rows.height
        for queue in self.outputs:
            queue.put(rows)

    def worked(self, nanoseconds: int) -> None:
        """Note work that no other filter has a part in. Equal queries have no work of their own."""
        self.own_time = self.own_time + nanoseconds if len(self.outputs) == 1 else 0

    @property
    def ledger(self) -> QueryLedger:
        """The accounts of the tuples that the bank was given."""
        given, before = self.bank.books.ledger, self._before
        read, late, shed = given.read - before.read, given.late - before.late, given.shed - before.shed
        filtered = read - late - shed - self.delivered - self.failed
        return QueryLedger(read, self.delivered, filtered, late, shed, self.failed)

    def move(self, bank: FilterBank) -> None:
        """Go on in another bank of the same stream, which will be given the same tuples."""
        own = self.ledger
        self.bank.drop(self)
        self.bank = bank
        self._take(own)
        bank.add(self)

    def _take(self, own: QueryLedger) -> None:
        """Let these be the member's accounts."""
        given = self.bank.books.ledger
        self.delivered, self.failed = own.delivered, own.failed
        self._before = QueryLedger(given.read - own.read, 0, 0, given.late - own.late, given.shed - own.shed)

    def snapshot(self) -> dict[str, bytes]:
        """The books."""
        own = Books()
        own.ledger = self.ledger
        return own.snapshot()

    def restore(self, panes: dict[str, bytes]) -> None:
        """Restore a snapshot."""
        own = Books()
        own.restore(panes)
        self._take(own.ledger)


class FilterBank:
    """All filters over one stream. `failures` holds the members that met an error; the others go on. `letters` holds
    the tuples that a member has set aside, with the rows of its answer: a query that does not skip them gets none."""

    def __init__(self, stream: str) -> None:
        self.books = Books()
        self.members: dict[Member, None] = {}
        self.failures: list[tuple[Member, NilometerError]] = []
        self.letters: list[tuple[Member, list[Letter], pl.DataFrame]] = []
        self._stream = stream
        self._tiers: list[_Tier] = []
        self._new: dict[Member, None] = {}

    def add(self, member: Member) -> None:
        """Add a filter."""
        self.members[member] = None
        self._new[member] = None

    def drop(self, member: Member) -> None:
        """Remove a filter."""
        del self.members[member]
        if member in self._new:
            del self._new[member]

    def _indexed(self) -> list[_Tier]:
        """The tiers, with every filter in one of them."""
        if self._new:
            self._tiers.append(_Tier(self._new))
            self._new = {}
            while len(self._tiers) > 1 and len(self._tiers[-2].all) < 2 * len(self._tiers[-1].all):
                last, before = self._tiers.pop(), self._tiers.pop()
                both = (*before.all, *last.all)
                self._tiers.append(_Tier({member: None for member in both if member in self.members}))
        if 2 * len(self.members) < sum(len(tier.all) for tier in self._tiers):
            self._tiers = [_Tier(self.members)] if self.members else []
        return self._tiers

    def step(self, arrival: Arrival, now: Round) -> None:
        """Serve the stream's tuples of a round to all filters."""
        rows = arrival.rows
        self.books.note(arrival.accepted, arrival.accepted, arrival.late, arrival.shed)
        if not rows.height:
            return
        began, first = perf_counter_ns(), next(iter(self.members), None)
        own = 0 if first is None else first.own_time
        self._serve(rows, now)
        if first is not None and len(self.members) == 1:
            first.own_time = own
            first.worked(perf_counter_ns() - began)

    def _serve(self, rows: pl.DataFrame, now: Round) -> None:
        """Give each member its rows. Members that want the same columns get slices of one gathered frame."""
        gatherings: dict[Columns, _Gathering] = {}

        def gathering_of(columns: Columns) -> _Gathering:
            if columns not in gatherings:
                gatherings[columns] = _Gathering(pick(rows, dict(columns)))
            return gatherings[columns]

        for member, places in self._found(rows, gathering_of):
            columns = member.work.columns
            if not columns:
                self._compute(member, rows if places is None else rows[pl.Series(places)], now)
                continue
            gathering = gathering_of(columns)
            if places is None:
                member.give(gathering.rows)
            else:
                gathering.add(member, places)
        for gathering in gatherings.values():
            gathering.flush()

    def _compute(self, member: Member, rows: pl.DataFrame, now: Round) -> None:
        began = perf_counter_ns()
        try:
            with collecting() as letters:
                found = member.work(rows, now)
            if letters:
                member.failed += sum(letter.count for letter in letters)
                member.delivered += found.height
                self.letters.append((member, letters, found))
            else:
                member.give(found)
        except Caught as error:
            self.failures.append((member, failure_of(error, f"filters of {self._stream}")))
        member.worked(perf_counter_ns() - began)

    def _found(self, rows: pl.DataFrame, gathering_of: Callable[[Columns], _Gathering]) -> Iterator[Single]:
        """The members that match at least one row. Those that match few are given their rows, many at once."""
        columns: dict[str, _Sorted] = {}
        for tier in self._indexed():
            for found in tier.found(rows, columns, self.members):
                if isinstance(found[0], Member):
                    if found[0] in self.members:
                        yield found
                else:
                    gathering_of(found[0][0].work.columns).give(*found)


class _Tier:
    """The index of some of the filters."""

    def __init__(self, members: Iterable[Member]) -> None:
        self.all = tuple(members)
        grouped: dict[tuple[str, Columns], list[Member]] = {}
        several = []
        for member in self.all:
            limits = member.work.range
            if limits is None and member.work.conditions:
                several.append((member, member.work.conditions))
            else:
                grouped.setdefault(("" if limits is None else limits.column, member.work.columns), []).append(
                    member
                )
        self._conjunctions = Conjunctions(several) if several else None
        self._columns = [
            (column, found, _ranges(found) if column and len(found) > FEW else None)
            for (column, _), found in grouped.items()
        ]

    def found(
        self, rows: pl.DataFrame, sorted_columns: dict[str, _Sorted], there: Container[Member]
    ) -> Iterator[Single | Runs]:
        """The members that match at least one row."""
        if self._conjunctions is not None:
            for member, places in self._conjunctions.found(rows):
                yield member, None if len(places) == rows.height else places
        for column, members, ranges in self._columns:
            if not column:
                yield from ((member, None) for member in members)
                continue
            if column not in sorted_columns:
                sorted_columns[column] = _Sorted(rows.get_column(column))
            values = sorted_columns[column]
            if ranges is None:
                yield from _compared(members, values, rows.height)
                continue
            starts, ends = filter_ranges(values.ascending, ranges)
            counts = ends - starts
            many = counts * FEW_ROWS >= rows.height if members[0].work.columns else counts > 0
            for number in np.flatnonzero(many & (counts > 0)).tolist():
                start, end = int(starts[number]), int(ends[number])
                yield members[number], None if end - start == rows.height else values.places(start, end)
            few = [
                number for number in np.flatnonzero(~many & (counts > 0)).tolist() if members[number] in there
            ]
            for part in parts_of(counts[few]):
                own = few[part]
                heights = counts[own]
                places = values.order[runs_of(starts[own], heights)]
                # One sort brings the rows of every member into log order.
                first = np.repeat(np.arange(len(own)) * rows.height, heights)
                yield [members[number] for number in own], heights.tolist(), np.sort(first + places) - first


class _Gathering:
    """The places that several members want of the same columns: one gather for all, and a slice of it for
    each."""

    def __init__(self, rows: pl.DataFrame) -> None:
        self.rows = rows
        self._wanted: list[tuple[Member, Places]] = []
        self._total = 0

    def give(self, members: list[Member], heights: list[int], places: Places) -> None:
        """Give each of many members its rows at once: `places` has those of one after the other."""
        gathered = self.rows[pl.Series(places)]
        width, start = gathered.width, 0
        for member, height in zip(members, heights, strict=True):
            member.give(Part(gathered, start, height, width))
            start += height

    def add(self, member: Member, places: Places) -> None:
        self._wanted.append((member, places))
        self._total += len(places)
        if self._total > GATHERED_ROWS:
            self.flush()

    def flush(self) -> None:
        if not self._wanted:
            return
        places = np.concatenate([places for _, places in self._wanted])
        self.give([member for member, _ in self._wanted], [len(own) for _, own in self._wanted], places)
        self._wanted, self._total = [], 0


class _Sorted:
    """The values of a column. In `order` they ascend; NULLs are in no range."""

    def __init__(self, column: pl.Series) -> None:
        self._height = column.len()
        self.present = np.flatnonzero(column.is_not_null().to_numpy()) if column.null_count() else None
        self.known = column.to_numpy() if self.present is None else column.drop_nulls().to_numpy()
        self._ranks: Places | None = None

    @cached_property
    def order(self) -> Places:
        """The places of the values, by value."""
        return self._by_value if self.present is None else self.present[self._by_value]

    @cached_property
    def ascending(self) -> npt.NDArray[np.generic]:
        """The values in that order."""
        return self.known[self._by_value]

    @cached_property
    def _by_value(self) -> Places:
        return np.argsort(self.known, kind="stable")

    def places(self, start: int, end: int) -> Places:
        """A part of the order in log order. Small parts are sorted, large ones are picked out of a mask."""
        if (end - start) * FEW_ROWS < self._height:
            return np.sort(self.order[start:end])
        if self._ranks is None:
            self._ranks = np.full(self._height, -1, dtype=np.int64)
            self._ranks[self.order] = np.arange(len(self.order))
        return np.flatnonzero((self._ranks >= start) & (self._ranks < end))


def _ranges(members: list[Member]) -> Ranges:
    limits = [member.work.range for member in members]
    return Ranges.of([(r.low, r.low_closed, r.high, r.high_closed) for r in limits if r is not None])


def _compared(members: list[Member], column: _Sorted, height: int) -> Iterator[Single]:
    """Compare all values with each filter's range; used when there are few filters."""
    known, present = column.known, column.present
    for member in members:
        limits = member.work.range
        assert limits is not None
        holds = np.ones(len(known), dtype=np.bool_)
        if limits.low is not None:
            holds &= known >= limits.low if limits.low_closed else known > limits.low
        if limits.high is not None:
            holds &= known <= limits.high if limits.high_closed else known < limits.high
        places = np.flatnonzero(holds)
        if len(places) == height:
            yield member, None
        elif len(places):
            yield member, places if present is None else present[places]
