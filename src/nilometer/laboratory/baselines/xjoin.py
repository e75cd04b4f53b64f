"""XJoin: pairs of two streams with equal values in bounded memory, made while tuples come, while none comes,
and at the end.

Urhan and Franklin (2000), as in algorithms, section 3.3. Each source has partitions, each with a part in
memory and one on disk:

    stage 1  a tuple is inserted and probes the other memory; memory full: the largest part is moved to disk
    stage 2  both sources are blocked: a part on disk probes the part in memory opposite to it
    stage 3  both have ended: the remaining pairs, partition by partition

Every tuple has the time it arrived (ATS) and the time it was moved to disk (DTS), by the join's own clock,
and every part on disk has a history of its probes. These alone tell which pairs were made before:

    in stage 1  iff  a.ATS < b.DTS and b.ATS < a.DTS                     both were in memory for a while
    in stage 2  iff  a probe (L, P) in the history of the part of d has  d.DTS <= L and m.ATS <= P < m.DTS

The windowed form (STEAM, section 6.2.4: "versions adapted to consider window constraints and periodic updates
of their join buffers") tests |time - time'| <= window pair by pair. Every `purge_every` tuples it drops the
tuples that the other source has passed. Such a tuple may still have partners on disk that it never met. So a
partition with a part on disk is first cleaned up, by stage 3's rules. All pairs of tuples that arrived before
the last clean-up have been made:

    in a clean-up at C  iff  a.ATS <= C and b.ATS <= C

The disk is simulated: its tuples do not count as memory, and writes and reads are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numba
import numpy as np

from nilometer.kernels.arrays import Booleans, Integers
from nilometer.laboratory.baselines.arrivals import NO_WINDOW, Arrivals
from nilometer.laboratory.baselines.counters import (
    COMPARISONS,
    OFFERED,
    PROBES,
    READ,
    WRITTEN,
    Counters,
    counters,
    new_tally,
)
from nilometer.laboratory.baselines.equal_pairs import equal_pairs
from nilometer.laboratory.baselines.two_tables import NO_LIMIT, Tuples, TwoTables
from nilometer.operators.validation import require

STILL_THERE = 2**62
"""The DTS of a tuple in memory."""

NOTHING = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True)
class XJoinSpec:
    """`memory` is a limit in tuples (None: no limit). `activation` is the least number of new pairs for which
    stage 2 makes a probe."""

    window: int | None
    memory: int | None = None
    partitions: int = 16
    purge_every: int = 10_000
    activation: float = 1.0

    def __post_init__(self) -> None:
        require(self.window is None or 0 <= self.window < NO_WINDOW, f"window {self.window}")
        require(self.memory is None or self.memory > 0, f"memory for {self.memory} tuples")
        require(self.purge_every > 0, f"a purge every {self.purge_every} tuples")
        require(self.activation > 0, f"activation at {self.activation} pairs")


@dataclass
class _Part:
    """A part on disk: its tuples and their DTS, the history of its probes (L, P), and its contents at the
    last of them."""

    tuples: list[Tuples]
    moved: list[Integers]
    history: list[tuple[int, int]]
    written: int = 0
    seen: int = 0
    opposite_seen: int = 0

    def read(self) -> tuple[Tuples, Integers]:
        """The whole part, as one piece."""
        if len(self.tuples) > 1:
            columns = zip(*self.tuples, strict=True)
            self.tuples = [Tuples(*(np.concatenate(column) for column in columns))]
            self.moved = [np.concatenate(self.moved)]
        if not self.tuples:
            nothing = np.empty(0, dtype=np.int64)
            return Tuples(nothing, nothing, nothing, nothing, nothing), nothing
        return self.tuples[0], self.moved[0]

    def __len__(self) -> int:
        return sum(len(moved) for moved in self.moved)

    def keep(self, holds: Booleans) -> None:
        """Keep only the tuples for which the mask holds."""
        tuples, moved = self.read()
        self.tuples, self.moved = ([tuples.where(holds)], [moved[holds]]) if holds.any() else ([], [])


class XJoin:
    """Joins streams 0 and 1. Each is in time order; they need not be in step."""

    def __init__(self, spec: XJoinSpec) -> None:
        self.spec = spec
        self._window = NO_WINDOW if spec.window is None else spec.window
        self._limit = NO_LIMIT if spec.memory is None else spec.memory
        self._tables = TwoTables(spec.partitions)
        self._disk = [[_Part([], [], []) for _ in range(spec.partitions)] for _ in (0, 1)]
        self._cleaned = np.full(spec.partitions, -1, dtype=np.int64)
        # Per source and partition, to estimate stage 2's new pairs: the tuples ever put into memory, and those
        # moved since a batch began.
        self._inserted = np.zeros((2, spec.partitions), dtype=np.int64)
        self._moved = np.zeros((2, spec.partitions), dtype=np.int64)
        self._tally = new_tally()
        self._arrivals = 0
        self._outputs = 0
        self._met = 0

    def feed(self, arrivals: Arrivals) -> Integers:
        """Stage 1: the new pairs, as rows (row of stream 0, row of stream 1)."""
        found = []
        done = 0
        while done < len(arrivals):
            until_purge = self.spec.purge_every - self._arrivals % self.spec.purge_every
            part = arrivals[done : done + until_purge]
            before = self._tables.sizes.copy()
            self._moved[:] = 0
            pairs = self._tables.feed(
                part, self._window, self._tally, limit=self._limit, overflow=self._move_largest
            )
            self._inserted += self._tables.sizes - before + self._moved
            found.append(pairs)
            self._met += len(pairs)
            self._arrivals += len(part)
            done += len(part)
            if self.spec.window is not None and self._arrivals % self.spec.purge_every == 0:
                found += self._purge()
        return self._emitted(found)

    def blocked(self, probes: int | None = None) -> Integers:
        """Stage 2, while neither source brings anything: at most `probes` probes of parts on disk (None: all
        that are worthwhile)."""
        found = []
        while probes is None or probes > 0:
            choice = self._worth_most()
            if choice is None:
                break
            found += self._probe_memory(*choice)
            probes = None if probes is None else probes - 1
        return self._emitted(found)

    def finish(self) -> Integers:
        """Stage 3, once both sources have ended: all pairs not made before. Afterwards the join is empty."""
        found = []
        for partition in range(self.spec.partitions):
            found += self._clean_up(partition)
            for source in (0, 1):
                self._tables.take(source, partition)
                self._disk[source][partition] = _Part([], [], [])
        return self._emitted(found)

    @property
    def counters(self) -> Counters:
        """The counters so far."""
        return counters(self._tally, self._arrivals, self._outputs, 2, len(self._tables))

    @property
    def on_disk(self) -> int:
        """The number of tuples on disk."""
        return sum(len(part) for parts in self._disk for part in parts)

    def _emitted(self, found: list[Integers]) -> Integers:
        pairs = np.concatenate(found) if found else NOTHING
        self._outputs += len(pairs)
        return pairs

    def _move_largest(self) -> None:
        """Move the largest part of either source to disk."""
        source, partition = divmod(int(np.argmax(self._tables.sizes)), self.spec.partitions)
        tuples = self._tables.take(source, partition)
        count = len(tuples.keys)
        part = self._disk[source][partition]
        part.tuples.append(tuples)
        part.moved.append(np.full(count, self._tables.tick(), dtype=np.int64))
        part.written += count
        self._moved[source, partition] += count
        self._tally[WRITTEN] += count

    def _worth_most(self) -> tuple[int, int] | None:
        """The part on disk that promises the most new pairs, if enough: the new tuples on either side times
        the probability of a match."""
        chance = (self._met + 1) / (int(self._tally[OFFERED]) + 1)
        best, choice = self.spec.activation, None
        for source in (0, 1):
            for partition, part in enumerate(self._disk[source]):
                there = int(self._tables.sizes[1 - source, partition])
                size = len(part)
                new_there = min(there, int(self._inserted[1 - source, partition]) - part.opposite_seen)
                new_here = min(size, part.written - part.seen)
                promise = chance * (size * new_there + new_here * (there - new_there))
                if promise >= best:
                    best, choice = promise, (source, partition)
        return choice

    def _probe_memory(self, source: int, partition: int) -> list[Integers]:
        part = self._disk[source][partition]
        tuples, moved = part.read()
        opposite = self._tables.tuples(1 - source, partition)
        still = np.full(len(opposite.keys), STILL_THERE, dtype=np.int64)
        here, there = (tuples, moved), (opposite, still)
        left, right = (here, there) if source == 0 else (there, here)
        found = list(self._unmade(left, right, partition))
        part.history.append((int(moved.max()), self._tables.tick()))
        part.seen = part.written
        part.opposite_seen = int(self._inserted[1 - source, partition])
        self._tally[PROBES] += len(moved)
        self._tally[READ] += len(moved)
        return found

    def _unmade(
        self, left: tuple[Tuples, Integers], right: tuple[Tuples, Integers], partition: int
    ) -> Iterator[Integers]:
        """The pairs of a partition that were not made before."""
        histories = [
            np.array(self._disk[source][partition].history, dtype=np.int64).reshape(-1, 2)
            for source in (0, 1)
        ]
        (mine, moved), (theirs, theirs_moved) = left, right
        for first, second in equal_pairs(mine.keys, theirs.keys):
            self._tally[COMPARISONS] += len(first)
            near = np.abs(mine.times[first] - theirs.times[second]) <= self._window
            first, second = first[near], second[near]
            made = made_before(
                mine.arrived[first],
                moved[first],
                theirs.arrived[second],
                theirs_moved[second],
                histories[0],
                histories[1],
                self._cleaned[partition],
            )
            first, second = first[~made], second[~made]
            yield np.column_stack((mine.rows[first], theirs.rows[second]))

    def _clean_up(self, partition: int) -> list[Integers]:
        """All pairs of a partition that were not made before. From here on they count as made."""
        sides = []
        for source in (0, 1):
            stored, moved = self._disk[source][partition].read()
            there = self._tables.tuples(source, partition)
            still = np.full(len(there.keys), STILL_THERE, dtype=np.int64)
            columns = zip(stored, there, strict=True)
            sides.append((Tuples(*map(np.concatenate, columns)), np.concatenate((moved, still))))
            self._tally[READ] += len(moved)
        found = list(self._unmade(sides[0], sides[1], partition))
        self._cleaned[partition] = self._tables.tick()
        for source in (0, 1):
            # The clean-up covers the pairs that its probes made.
            self._disk[source][partition].history.clear()
        return found

    def _purge(self) -> list[Integers]:
        """Drop tuples that the other source has passed by more than the window. Partitions with a part on
        disk are cleaned up first."""
        limits = [int(self._tables.latest[1 - source]) - self._window for source in (0, 1)]
        found = []
        for partition in range(self.spec.partitions):
            parts = [self._disk[source][partition] for source in (0, 1)]
            kept = [part.read()[0].times >= limit for part, limit in zip(parts, limits, strict=True)]
            if any(len(part) for part in parts):
                there = [self._tables.tuples(source, partition).times for source in (0, 1)]
                old = [bool((times < limit).any()) for times, limit in zip(there, limits, strict=True)]
                if any(old) or not all(bool(holds.all()) for holds in kept):
                    found += self._clean_up(partition)
                    for part, holds in zip(parts, kept, strict=True):
                        part.keep(holds)
        for source, limit in enumerate(limits):
            self._tables.drop(source, limit)
        return found


@numba.njit(cache=True)
def made_before(  # type: ignore[no-untyped-def]
    arrived, moved, other_arrived, other_moved, history, other_history, cleaned
):
    """Which of the pairs were already made by stage 1, a probe from either side, or a clean-up."""
    made = np.empty(len(arrived), dtype=np.bool_)
    for pair in range(len(arrived)):
        a, a_moved, b, b_moved = arrived[pair], moved[pair], other_arrived[pair], other_moved[pair]
        known = (a < b_moved and b < a_moved) or (a <= cleaned and b <= cleaned)
        for probe in range(len(history)):
            last, when = history[probe]
            known = known or (a_moved <= last and b <= when < b_moved)
        for probe in range(len(other_history)):
            last, when = other_history[probe]
            known = known or (b_moved <= last and a <= when < a_moved)
        made[pair] = known
    return made
