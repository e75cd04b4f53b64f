"""A join that one peer takes part in: its windows, and the queries that want its results.

Queries with the same join share one flow, whenever they began and whatever their windows are. It has the start of the earliest
and, in each direction between two streams, the width of the widest; a result goes to those that want it (wanted.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.names import time
from nilometer.overlay.ring import Contact
from nilometer.overlay.stage import StageWindows
from nilometer.overlay.streams import Reached


@dataclass(frozen=True)
class Query:
    """A query of the ring: who asked it, and the time from which readings take part."""

    id: str
    asker: Contact
    start: int
    plan: JoinPlan


@dataclass(eq=False)
class Flow:
    """One join, and its part at this peer. `plan` has the widest windows of its queries."""

    plan: JoinPlan
    most_rows: int
    queries: dict[str, Query] = field(default_factory=dict)
    withheld: dict[int, list[pl.DataFrame]] = field(default_factory=dict)
    """Rows of each stage that wait until a stream that their results need is heard again."""
    asleep: bool = False

    @cached_property
    def windows(self) -> list[StageWindows]:
        """The kept rows of each stage."""
        return [StageWindows(self.plan, number, self.most_rows) for number in range(len(self.plan.stages))]

    @property
    def start(self) -> int:
        """The time of the earliest query."""
        return min(query.start for query in self.queries.values())

    def begin(self, query: Query) -> bool:
        """Take a query. Returns whether it needs rows or results that no other needed."""
        before = (self.start, self.plan.widths) if self.queries else None
        self.queries[query.id] = query
        self._widen({query.plan.widths} if before is None else {self.plan.widths, query.plan.widths})
        return before != (self.start, self.plan.widths)

    def end(self, query: str) -> None:
        """A query has ended."""
        del self.queries[query]
        if self.queries:
            self._widen({one.plan.widths for one in self.queries.values()})

    def _widen(self, wanted: set[tuple[tuple[int, ...], ...]]) -> None:
        # The greatest of closed widths are closed: a path through a third stream is at least as long for each query.
        widths = tuple(tuple(map(int, row)) for row in np.max(list(wanted), axis=0))
        if widths != self.plan.widths:
            self.plan = replace(self.plan, widths=widths)
            for windows in self.windows:
                windows.use(self.plan)

    @cached_property
    def streams(self) -> set[str]:
        """The lower-case names of its streams."""
        return {one.stream.lower() for one in self.plan.inputs}


def beyond(plan: JoinPlan, members: tuple[int, ...], silent: dict[int, Reached]) -> pl.Expr:
    """Whether a row can join no reading that a silent input has sent: it need not be sent while that one is silent."""
    parts = [
        pl.col(time(one)) > said.greatest + plan.widths[other][one]
        for other, said in silent.items()
        for one in members
    ]
    return pl.any_horizontal(parts) if parts else pl.lit(False)


def fell_in_gap(plan: JoinPlan, members: tuple[int, ...], back: dict[int, Reached]) -> pl.Expr:
    """Whether a row can join nothing, neither what an input sent before its gap nor what it will send after it."""
    parts = []
    for other, said in back.items():
        early = [pl.col(time(one)) > said.gap_from + plan.widths[other][one] for one in members]
        late = [pl.col(time(one)) + plan.widths[one][other] < said.gap_to for one in members]
        parts.append(pl.any_horizontal(early) & pl.any_horizontal(late))
    return pl.any_horizontal(parts) if parts else pl.lit(False)
