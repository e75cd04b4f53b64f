"""Hash-merge join: pairs with equal values of two streams in bounded memory, by hashing, then by merging
sorted runs.

Mokbel, Lu and Aref (2004), as in algorithms, section 3.4; SNJoin's binary join. Both sources are hashed into
the same buckets:

    hashing  a tuple is inserted and probes the other memory;
             memory full: bucket pairs are sorted and written as a run
    merging  both sources are blocked: `fan_in` runs of a bucket are merged to one; pairs within one run have
             met before, in memory or in an earlier merge, so only pairs from different runs are made

Tuples need no timestamps for this. At the end memory is written as the last runs, and everything is merged.

`flush_choice` decides which bucket pair is written. While | |A| - |B| | <= `b` of the memory, it is the
largest pair that keeps it so. Otherwise it is the largest pair that has more of the source that is ahead, of
at least `a` of the memory if there is one. The paper's values of a and b could not be read; they are
parameters. The alternative policies flush all pairs, the smallest, or the largest.

In the windowed form the pairs also satisfy |time - time'| <= window. The purge runs every `purge_every`
tuples and looks at each bucket with tuples that the other source has passed. If the bucket has runs, they are
first merged with its tuples in memory. Then the passed tuples are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from nilometer.kernels.arrays import Integers
from nilometer.laboratory.baselines.arrivals import NO_WINDOW, Arrivals
from nilometer.laboratory.baselines.counters import COMPARISONS, READ, WRITTEN, Counters, counters, new_tally
from nilometer.laboratory.baselines.equal_pairs import equal_pairs
from nilometer.laboratory.baselines.two_tables import NO_LIMIT, Tuples, TwoTables
from nilometer.operators.validation import require, require_choice

NOTHING = np.empty((0, 2), dtype=np.int64)


class FlushPolicy(StrEnum):
    """The policies for choosing the bucket pairs that are written when memory is full."""

    ADAPTIVE = "ADAPTIVE"
    ALL = "ALL"
    SMALLEST = "SMALLEST"
    LARGEST = "LARGEST"


@dataclass(frozen=True)
class HashMergeJoinSpec:
    """`memory` is a limit in tuples (None: no limit). `a` and `b`, shares of it, are the adaptive policy's
    size and balance."""

    window: int | None
    memory: int | None = None
    buckets: int = 16
    fan_in: int = 8
    a: float = 0.02
    b: float = 0.1
    policy: str = FlushPolicy.ADAPTIVE
    purge_every: int = 10_000

    def __post_init__(self) -> None:
        require(self.window is None or 0 <= self.window < NO_WINDOW, f"window {self.window}")
        require(self.memory is None or self.memory > 0, f"memory for {self.memory} tuples")
        require(self.fan_in > 1, f"fan-in {self.fan_in}")
        require(self.purge_every > 0, f"a purge every {self.purge_every} tuples")
        require_choice(self.policy, FlushPolicy, "flush policy")


def flush_choice(sizes: Integers, memory: int, a: float, b: float, policy: str) -> Integers:
    """The bucket pairs to write. `sizes` are by source and bucket, and not all empty.

    >>> flush_choice(np.array([[4, 3, 1], [1, 3, 4]]), 16, 0.0, 0.2, "ADAPTIVE").tolist()
    [1]
    """
    together = sizes.sum(axis=0)
    filled = np.flatnonzero(together)
    if policy == FlushPolicy.ALL:
        return filled
    if policy == FlushPolicy.SMALLEST:
        return filled[[int(np.argmin(together[filled]))]]
    candidates = filled
    if policy == FlushPolicy.ADAPTIVE:
        ahead = sizes[0] - sizes[1]
        lead = int(ahead.sum())
        if abs(lead) <= b * memory:
            wanted = filled[np.abs(lead - ahead[filled]) <= b * memory]
        else:
            wanted = filled[ahead[filled] * lead > 0]
            # Small runs make merging expensive.
            large = wanted[together[wanted] >= a * memory]
            wanted = large if len(large) else wanted
        candidates = wanted if len(wanted) else filled
    return candidates[[int(np.argmax(together[candidates]))]]


@dataclass(frozen=True)
class _SortedRun:
    """The tuples of both sources in one bucket, sorted by key. All pairs within it have been made."""

    sides: tuple[Tuples, Tuples]

    def __len__(self) -> int:
        return sum(len(side.keys) for side in self.sides)


class HashMergeJoin:
    """Joins streams 0 and 1. Each is in time order; they need not be in step."""

    def __init__(self, spec: HashMergeJoinSpec) -> None:
        self.spec = spec
        self._window = NO_WINDOW if spec.window is None else spec.window
        self._limit = NO_LIMIT if spec.memory is None else spec.memory
        self._tables = TwoTables(spec.buckets)
        self._runs: list[list[_SortedRun]] = [[] for _ in range(spec.buckets)]
        self._tally = new_tally()
        self._arrivals = 0
        self._outputs = 0

    def feed(self, arrivals: Arrivals) -> Integers:
        """The hashing phase: the new pairs, as rows (row of stream 0, row of stream 1)."""
        found = []
        done = 0
        while done < len(arrivals):
            until_purge = self.spec.purge_every - self._arrivals % self.spec.purge_every
            part = arrivals[done : done + until_purge]
            found.append(
                self._tables.feed(part, self._window, self._tally, limit=self._limit, overflow=self._flush)
            )
            self._arrivals += len(part)
            done += len(part)
            if self.spec.window is not None and self._arrivals % self.spec.purge_every == 0:
                found += self._purge()
        return self._emitted(found)

    def blocked(self, merges: int | None = None) -> Integers:
        """The merging phase, while neither source brings anything: at most `merges` merges (None: until each
        bucket has one run)."""
        found = []
        for bucket, runs in enumerate(self._runs):
            while len(runs) > 1 and (merges is None or merges > 0):
                found += self._merge(bucket)
                merges = None if merges is None else merges - 1
        return self._emitted(found)

    def finish(self) -> Integers:
        """All remaining pairs, once both sources have ended. Afterwards the join is empty."""
        found = []
        for bucket, runs in enumerate(self._runs):
            self._write(bucket)
            while len(runs) > 1:
                found += self._merge(bucket)
            runs.clear()
        return self._emitted(found)

    @property
    def counters(self) -> Counters:
        """The counters so far."""
        return counters(self._tally, self._arrivals, self._outputs, 2, len(self._tables))

    @property
    def runs(self) -> tuple[int, ...]:
        """The number of runs that each bucket has on disk."""
        return tuple(len(runs) for runs in self._runs)

    def _emitted(self, found: list[Integers]) -> Integers:
        pairs = np.concatenate(found) if found else NOTHING
        self._outputs += len(pairs)
        return pairs

    def _flush(self) -> None:
        spec = self.spec
        for bucket in flush_choice(self._tables.sizes, self._limit, spec.a, spec.b, spec.policy).tolist():
            self._write(bucket)

    def _write(self, bucket: int) -> None:
        """Write a bucket pair to disk as one run. If it holds nothing in memory, there is no run."""
        left, right = (self._tables.take(source, bucket) for source in (0, 1))
        run = _SortedRun((_by_key(left), _by_key(right)))
        if len(run):
            self._runs[bucket].append(run)
            self._tally[WRITTEN] += len(run)

    def _merge(self, bucket: int) -> list[Integers]:
        """Merge the oldest `fan_in` runs into one, which comes last, and return the pairs of different
        runs."""
        runs = self._runs[bucket]
        merged, runs[:] = runs[: self.spec.fan_in], runs[self.spec.fan_in :]
        sides, numbers = [], []
        for source in (0, 1):
            parts = [run.sides[source] for run in merged]
            together = Tuples(*(np.concatenate(column) for column in zip(*parts, strict=True)))
            number = np.repeat(np.arange(len(parts)), [len(part.keys) for part in parts])
            # Stable, and each run is sorted already: numpy's sort then only merges.
            order = np.argsort(together.keys, kind="stable")
            sides.append(together.where(order))
            numbers.append(number[order])
        run = _SortedRun((sides[0], sides[1]))
        runs.append(run)
        self._tally[READ] += len(run)
        self._tally[WRITTEN] += len(run)
        left, right = sides
        found = []
        for first, second in equal_pairs(left.keys, right.keys):
            self._tally[COMPARISONS] += len(first)
            holds = numbers[0][first] != numbers[1][second]
            holds &= np.abs(left.times[first] - right.times[second]) <= self._window
            found.append(np.column_stack((left.rows[first[holds]], right.rows[second[holds]])))
        return found

    def _purge(self) -> list[Integers]:
        """Drop tuples that the other source has passed by more than the window. Where they may still have
        partners, a merge comes first."""
        limits = [int(self._tables.latest[1 - source]) - self._window for source in (0, 1)]
        found: list[Integers] = []
        for bucket, runs in enumerate(self._runs):
            if runs and self._has_passed(bucket, limits):
                self._write(bucket)
                while len(runs) > 1:
                    found += self._merge(bucket)
                left, right = runs.pop().sides
                kept = _SortedRun(
                    (left.where(left.times >= limits[0]), right.where(right.times >= limits[1]))
                )
                if len(kept):
                    runs.append(kept)
        for source, limit in enumerate(limits):
            self._tables.drop(source, limit)
        return found

    def _has_passed(self, bucket: int, limits: list[int]) -> bool:
        for source, limit in enumerate(limits):
            parts = [run.sides[source].times for run in self._runs[bucket]]
            parts.append(self._tables.tuples(source, bucket).times)
            if any(bool((times < limit).any()) for times in parts):
                return True
        return False


def _by_key(tuples: Tuples) -> Tuples:
    return tuples.where(np.argsort(tuples.keys, kind="stable"))
