"""Load shedding in a window join that was declared with bounded memory (design, "Shedding"; DHTJoin, section
5).

Each stream keeps a bounded number of tuples. When there are more, the tuples with the least worth are shed
(worth.py) and counted. The tuples of a round are joined in slices, in the order of time, of at most a
sixteenth of the memory. At most one slice is held on top of the bound, and the way a log is cut into rounds
matters little.

A slice has at least `LEAST_SLICE` rows, which is more than a sixteenth of a memory of fewer than `FEW` rows.
For such a memory the slice's tuples come one by one (kernels/evictions.py), and a result is found only if its
earlier members are in memory when its last one comes. Expired tuples take no memory and do not count as shed.

>>> Shedding((1_600, None), "LIFE").slice_rows
100
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from nilometer.algebra import ShedPolicy
from nilometer.kernels.arrays import Booleans, Floats, Integers
from nilometer.kernels.evictions import STAYS, evictions
from nilometer.operators.frames import Dtypes
from nilometer.operators.logic import TIME
from nilometer.operators.panes import Pane, Panes
from nilometer.operators.shedding.recent_arrivals import RecentArrivals
from nilometer.operators.shedding.worth import ARRIVAL, worth_by
from nilometer.operators.validation import require, require_choice
from nilometer.operators.window_join.keys import KeyClass
from nilometer.operators.window_join.steps import Members
from nilometer.types import INT_MINIMUM

SLICES_PER_MEMORY = 16
LEAST_SLICE = 64
FEW = SLICES_PER_MEMORY * LEAST_SLICE

NUMBERED: Dtypes = {ARRIVAL: pl.Int64()}
"""The column that a join with bounded memory adds to those of its streams."""


@dataclass(frozen=True)
class Shedding:
    """The most rows to keep per port (None: as many as the windows need), and the policy, one of
    `ShedPolicy`.
    """

    rows: tuple[int | None, ...]
    policy: str = ShedPolicy.RANDOM
    seed: int = 0

    def __post_init__(self) -> None:
        require_choice(self.policy, ShedPolicy, "shedding by")
        require(any(bound is not None for bound in self.rows), "bounded memory without a bound")
        require(all(bound is None or bound > 0 for bound in self.rows), "memory without room for a row")

    @property
    def slice_rows(self) -> int:
        """How many rows are joined at once."""
        least = min(bound for bound in self.rows if bound is not None)
        return max(LEAST_SLICE, least // SLICES_PER_MEMORY)


@dataclass(frozen=True)
class _Memory:
    """Per row of a pane, when it came in the slice (-1: before the slice), and the position of the row that
    evicts it.
    """

    positions: Integers
    leaves: Integers


class Shedder:
    """Numbers the tuples, decides which are shed, and counts them per port (`shed`). `reached` is how far
    event time has come.
    """

    def __init__(self, spec: Shedding, classes: Sequence[KeyClass], reach: Sequence[int]) -> None:
        require(len(spec.rows) == len(reach), f"{len(spec.rows)} bounds of memory for {len(reach)} streams")
        self.shed = [0 for _ in reach]
        self.reached = INT_MINIMUM
        self._spec = spec
        self._arrived = [0 for _ in reach]
        self._now = INT_MINIMUM
        self._reach = tuple(reach)
        self._memories: dict[tuple[int, int], _Memory] = {}
        self._recent = [RecentArrivals(one) for one in reach]
        self._worth = worth_by(ShedPolicy(spec.policy), spec.seed, classes, reach)
        self.found = self._worth.found

    @property
    def before_probing(self) -> bool:
        """Whether a tuple that is not kept is refused before it probes."""
        return self._spec.policy == ShedPolicy.SAMPLE

    def number(self, port: int, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows with a column of their numbers."""
        first = self._arrived[port]
        self._arrived[port] += rows.height
        numbers = pl.Series(ARRIVAL, np.arange(first, first + rows.height, dtype=np.int64))
        return rows.with_columns(numbers)

    def slices(
        self, fresh: Sequence[pl.DataFrame], watermark: int
    ) -> Iterator[tuple[list[pl.DataFrame], int]]:
        """Yields the new tuples slice by slice, in the order of time, each slice with the event time reached
        after it.
        """
        times = np.concatenate([rows.get_column(TIME).to_numpy() for rows in fresh])
        ports = np.repeat(np.arange(len(fresh)), [rows.height for rows in fresh])
        order = np.argsort(times, kind="stable")
        ordered = [rows.sort(TIME, maintain_order=True) for rows in fresh]
        taken = np.zeros(len(fresh), dtype=np.int64)
        for start in range(0, len(order), self._spec.slice_rows):
            stop = min(start + self._spec.slice_rows, len(order))
            counts = np.bincount(ports[order[start:stop]], minlength=len(fresh))
            part = [
                rows.slice(int(at), int(count))
                for rows, at, count in zip(ordered, taken, counts, strict=True)
            ]
            taken += counts
            reached = watermark if stop == len(order) else min(watermark, int(times[order[stop]]))
            yield part, reached

    def came(self, fresh: Sequence[Pane | None], kept: Sequence[Panes]) -> None:
        """Record that these new tuples arrive while those are kept."""
        self._now = max([self._now, *(pane.last for pane in fresh if pane is not None)])
        self._worth.came(fresh, kept)

    def thin(self, fresh: list[pl.DataFrame], kept: Sequence[Panes]) -> list[pl.DataFrame]:
        """Refuses new tuples before any of them joins, all but a share of memory / (rows that the window
        would hold). Returns the tuples that stay. Accepting every tuple that fits would favour those that
        come just after another has expired.
        """
        stay = []
        for port, (rows, panes) in enumerate(zip(fresh, kept, strict=True)):
            bound = self._spec.rows[port]
            if bound is None or rows.height == 0:
                stay.append(rows)
                continue
            recent, times = self._recent[port], rows.get_column(TIME).to_numpy()
            recent.add(times)
            self._now = max(self._now, int(times[-1]))
            new = panes.pane(rows)
            share = bound / max(recent.within(self._now), bound)
            stay.append(new.rows.filter(self._worth.of(port, new, self._now) >= 1 - share))
            self.shed[port] += rows.height - stay[-1].height
        return stay

    # ---- memories of few rows ----------------------------------------------------------------------------------------

    def few(self, port: int) -> bool:
        """Whether a port's memory has fewer than `FEW` rows."""
        bound = self._spec.rows[port]
        return bound is not None and bound < FEW

    def remember(self, fresh: Sequence[Pane | None], kept: Sequence[Panes], reached: int) -> None:
        """Determines when each tuple leaves its memory, as these tuples come one by one."""
        ends = np.cumsum([0 if pane is None else len(pane.order) for pane in fresh])
        times = np.concatenate([np.empty(0, np.int64), *(pane.order for pane in fresh if pane is not None)])
        positions = np.empty(len(times), dtype=np.int64)
        positions[np.argsort(times, kind="stable")] = np.arange(len(times))
        self._memories = {}
        for port, (new, panes) in enumerate(zip(fresh, kept, strict=True)):
            own = positions[ends[port] - (0 if new is None else len(new.order)) : ends[port]]
            if new is not None:
                self._memories[port, new.serial] = _Memory(own, np.full(len(own), STAYS))
            if new is not None and self.few(port):
                self._few(port, [*panes, new], own, reached)

    def _few(self, port: int, panes: Sequence[Pane], own: Integers, reached: int) -> None:
        bound = self._spec.rows[port]
        assert bound is not None, "a memory without a bound"
        worth, arrivals, times = self._judged(port, panes)
        ranks = np.empty(len(times), dtype=np.int64)
        ranks[np.lexsort((arrivals, times, worth))] = np.arange(len(times))
        positions = np.concatenate([np.full(len(times) - len(own), -1), own])
        gone = evictions(times, ranks, positions, bound, self._reach[port], reached)
        start = 0
        for pane in panes:
            leaves = np.full(len(pane.order), STAYS)
            leaves[pane.start :] = gone[start : start + pane.height]
            start += pane.height
            before = np.full(len(pane.order), -1) if pane is not panes[-1] else own
            self._memories[port, pane.serial] = _Memory(before, leaves)

    def in_memory(self, members: Members) -> Members | None:
        """Returns the N-tuples whose earlier members were in memory when the last one came, or None if there
        are none.
        """
        if not any(self.few(port) for port in members):
            return members
        known = {port: self._memory_of(port, member) for port, member in members.items()}
        last = np.maximum.reduce([position for position, _ in known.values()])
        holds = np.logical_and.reduce(
            [(position == last) | (leaves >= last) for position, leaves in known.values()]
        )
        if holds.all():
            return members
        rows = np.flatnonzero(holds)
        if not len(rows):
            return None
        return {port: (pane, rows if at is None else at[rows]) for port, (pane, at) in members.items()}

    def _memory_of(self, port: int, member: tuple[Pane, Integers | None]) -> tuple[Integers, Integers]:
        pane, rows = member
        memory = self._memories.get((port, pane.serial))
        count = len(pane.order) if rows is None else len(rows)
        if memory is None:
            return np.full(count, -1), np.full(count, STAYS)
        return (
            (memory.positions, memory.leaves)
            if rows is None
            else (memory.positions[rows], memory.leaves[rows])
        )

    def evict(self, port: int, new: Pane, kept: Panes) -> Pane | None:
        """Drops the tuples that have left a memory of few rows. Returns the new tuples that stay."""
        if not self.few(port):
            return new
        panes = list(kept)
        stays = [self._memories[port, pane.serial].leaves[pane.start :] == STAYS for pane in panes]
        kept.retain(stays)
        own = self._memories[port, new.serial].leaves == STAYS
        self.shed[port] += sum(int((~mask).sum()) for mask in (*stays, own))
        if own.all():
            return new
        return kept.pane(new.rows.filter(own)) if own.any() else None

    # ---- others ------------------------------------------------------------------------------------------------------

    def cut(self, kept: Sequence[Panes]) -> None:
        """Shed the tuples beyond the bound."""
        for port, (panes, bound) in enumerate(zip(kept, self._spec.rows, strict=True)):
            if bound is not None and len(panes) > bound:
                panes.retain(self._best(port, list(panes), bound))

    def _best(self, port: int, panes: Sequence[Pane], bound: int) -> list[Booleans]:
        """Returns a mask per pane of its living rows that are among the `bound` worth most. Among equals, the
        newest stay.
        """
        worth, arrivals, times = self._judged(port, panes)
        order = np.lexsort((arrivals, times, worth))
        keep = np.zeros(len(order), dtype=np.bool_)
        keep[order[len(order) - bound :]] = True
        self.shed[port] += len(order) - bound
        return np.split(keep, np.cumsum([pane.height for pane in panes])[:-1])

    def _judged(self, port: int, panes: Sequence[Pane]) -> tuple[Floats, Integers, Integers]:
        """Returns the worth, the numbers and the times of the living rows."""
        worth: list[Floats] = [self._worth.of(port, pane, self._now)[pane.start :] for pane in panes]
        arrivals = [pane.living.get_column(ARRIVAL).to_numpy() for pane in panes]
        times = [pane.order[pane.start :] for pane in panes]
        return np.concatenate(worth), np.concatenate(arrivals), np.concatenate(times)

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        """Returns the counts and the learnt statistics."""
        numbers: dict[str, Any] = {
            "shed": self.shed,
            "arrived": self._arrived,
            "now": self._now,
            "reached": self.reached,
        }
        numbers["recent"] = [list(recent.counts.items()) for recent in self._recent]
        panes = {"numbers": json.dumps(numbers).encode()} | self._worth.snapshot()
        return {f"memory/{name}": data for name, data in panes.items()}

    def restore(self, panes: Mapping[str, bytes]) -> None:
        """Take back a snapshot."""
        own = {
            name.removeprefix("memory/"): data for name, data in panes.items() if name.startswith("memory/")
        }
        numbers = json.loads(own["numbers"])
        self.shed, self._arrived = numbers["shed"], numbers["arrived"]
        self._now, self.reached = numbers["now"], numbers["reached"]
        for recent, counts in zip(self._recent, numbers["recent"], strict=True):
            recent.counts = dict(counts)
        self._worth.restore(own)
