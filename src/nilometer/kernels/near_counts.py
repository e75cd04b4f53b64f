"""Counts the readings near each reading, and their sources, at a cost independent of their number.

The counts equal NearTable's `partners` and `sources`, but a sweep visits no partner. The held readings are
sorted by value, so the readings within epsilon of one form a run; new readings are merged in, in bulk. A call
whose runs are short walks them. Otherwise it sweeps over the new readings in time order, with two Fenwick
trees over the places by value:

    alive     1 at the place of every reading in the window           matches  =  sum over the run
    covered   how many sources have a reading within epsilon of it    sources  =  the value at its own place

A source covers the union of its readings' runs. One more reading adds the part that its neighbours by value
in that source do not cover yet; one less removes the part that they do not cover. Runs rise with the value,
so this part is one interval. Each step costs O(log n), however many readings are near.

The law is NearTable's: rows come in order over all calls, with times that never descend; sources are 0, 1,
...

>>> near = NearCounts(window=10, epsilon=0.5)
>>> counts = near.probe(np.array([1, 2, 3, 4]), np.array([7.0, 7.5, 8.0, 7.5]), np.array([0, 1, 2, 0]))
>>> counts.partners.tolist(), counts.sources.tolist()
([0, 1, 1, 2], [0, 1, 1, 2])
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from nilometer.kernels.arrays import Integers
from nilometer.kernels.read_only import read_only
from nilometer.kernels.similar_pairs import Values, value_bounds

SWEEP = 24
"""A sweep costs about as much as walking over this many readings for each reading held or new."""


@dataclass(frozen=True)
class NearCounted:
    """For each row the number of near readings, and of their sources."""

    partners: Integers
    sources: Integers


class NearCounts:
    """The readings of the last `window` microseconds."""

    def __init__(self, window: int, epsilon: float) -> None:
        self._window = window
        self._epsilon = epsilon
        nothing = np.zeros(0, dtype=np.int64)
        # The times are in time order, and the first `_expired` of them have left. The other arrays are in the
        # order of values; `_places` are their places in the time order.
        self._times, self._expired = nothing, 0
        self._values: Values = np.zeros(0, dtype=np.float64)
        self._places, self._sources = nothing, nothing

    def __len__(self) -> int:
        """The number of readings held."""
        return len(self._times) - self._expired

    @property
    def bytes(self) -> int:
        """The size in bytes."""
        return sum(each.nbytes for each in (self._times, self._values, self._places, self._sources))

    def expire(self, watermark: int) -> None:
        """Drop readings that are too old, as no reading before the watermark will come."""
        self._expired = int(np.searchsorted(self._times, watermark - self._window))
        if self._expired > len(self):
            # Expired readings are skipped until they are the majority.
            kept = self._places >= self._expired
            self._values, self._sources = self._values[kept], self._sources[kept]
            self._places = self._places[kept] - self._expired
            self._times, self._expired = self._times[self._expired :], 0

    def probe(self, times: Integers, values: Values, sources: Integers) -> NearCounted:
        """Counts for each row, and adds each row for those after it."""
        if not len(times):
            return NearCounted(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        self.expire(int(times[0]))
        first = len(self._times)
        self._merge(times, values, sources)
        head = np.searchsorted(self._times, times - self._window)
        fresh = np.flatnonzero(self._places >= first)
        last = int(self._sources.max()) + 1
        held = read_only(self._places), read_only(self._sources)
        starts, ends = self._runs(fresh)
        if int((ends - starts).sum()) <= SWEEP * len(self._times):
            return NearCounted(*walk(fresh, first, head, *held, starts, ends, last))
        starts, ends = self._runs(np.arange(len(self._values)))
        return NearCounted(*sweep(first, head, *held, starts, ends, last))

    def _runs(self, asked: Integers) -> tuple[Integers, Integers]:
        """Where the readings near those at these places start and end, in the order of values."""
        with np.errstate(invalid="ignore"):  # infinite values
            low, high = value_bounds(self._values[asked], self._epsilon)
        # For whole numbers the bounds are exact.
        exact = self._epsilon if self._values.dtype == np.float64 else 2**63 - 1
        starts = np.searchsorted(self._values, low)
        ends = np.searchsorted(self._values, high, side="right")
        narrow(read_only(self._values), asked, exact, starts, ends)
        return starts, ends

    def _merge(self, times: Integers, values: Values, sources: Integers) -> None:
        """Merge new readings into their places by value."""
        if not len(self._values):
            self._values = values[:0]
        order = np.argsort(values, kind="stable")
        at = np.searchsorted(self._values, values[order], side="right")
        self._values = np.insert(self._values, at, values[order])  # type: ignore[assignment]
        self._places = np.insert(self._places, at, order + len(self._times))
        self._sources = np.insert(self._sources, at, sources[order])
        self._times = np.concatenate([self._times, times])


@numba.njit(cache=True)
def narrow(values, asked, exact, starts, ends):  # type: ignore[no-untyped-def]
    """Narrows runs that are slightly too wide; a value that is near nothing, not even itself, has an empty
    run."""
    for row in range(len(asked)):
        value = values[asked[row]]
        while starts[row] <= asked[row] and not value - values[starts[row]] <= exact:
            starts[row] += 1
        while ends[row] > starts[row] and not values[ends[row] - 1] - value <= exact:
            ends[row] -= 1


@numba.njit(cache=True)
def walk(fresh, first, head, places, sources, starts, ends, count):  # type: ignore[no-untyped-def]
    """Counts by visiting the run of each new reading."""
    partners = np.zeros(len(head), dtype=np.int64)
    others = np.zeros(len(head), dtype=np.int64)
    stamps = np.full(count, -1, dtype=np.int64)
    for row in range(len(fresh)):
        at = fresh[row]
        place, source = places[at], sources[at]
        oldest = head[place - first]
        found = distinct = 0
        for other in range(starts[row], ends[row]):
            theirs = sources[other]
            if oldest <= places[other] < place and theirs != source:
                found += 1
                if stamps[theirs] != place:
                    stamps[theirs] = place
                    distinct += 1
        partners[place - first], others[place - first] = found, distinct
    return partners, others


@numba.njit(cache=True)
def add(tree, at, amount):  # type: ignore[no-untyped-def]
    """Add an amount to the number at a place."""
    at += 1
    while at < len(tree):
        tree[at] += amount
        at += at & -at


@numba.njit(cache=True)
def total(tree, end):  # type: ignore[no-untyped-def]
    """The sum of the numbers before a place."""
    found = 0
    while end > 0:
        found += tree[end]
        end -= end & -end
    return found


@numba.njit(cache=True)
def gather(numbers):  # type: ignore[no-untyped-def]
    """Build a tree of these numbers."""
    tree = np.zeros(len(numbers) + 1, dtype=np.int64)
    tree[1:] = numbers
    for at in range(1, len(tree)):
        above = at + (at & -at)
        if above < len(tree):
            tree[above] += tree[at]
    return tree


@numba.njit(cache=True)
def by_source(sources, count):  # type: ignore[no-untyped-def]
    """The places source by source, ascending; where each source begins; and where each place stands there."""
    begins = np.zeros(count + 1, dtype=np.int64)
    for source in sources:
        begins[source + 1] += 1
    begins = np.cumsum(begins)
    following = begins.copy()
    lined = np.empty(len(sources), dtype=np.int64)
    stands = np.empty(len(sources), dtype=np.int64)
    for at in range(len(sources)):
        stand = following[sources[at]]
        lined[stand], stands[at] = at, stand
        following[sources[at]] += 1
    return lined, begins, stands


@numba.njit(cache=True)
def uncovered(at, source, alive, lined, begins, stands, starts, ends):  # type: ignore[no-untyped-def]
    """The part of a reading's run that no other reading of its source covers."""
    start, end = starts[at], ends[at]
    stand = stands[at] - 1
    while stand >= begins[source] and not alive[lined[stand]]:
        stand -= 1
    if stand >= begins[source]:
        start = max(start, ends[lined[stand]])
    stand = stands[at] + 1
    while stand < begins[source + 1] and not alive[lined[stand]]:
        stand += 1
    if stand < begins[source + 1]:
        end = min(end, starts[lined[stand]])
    return start, end


@numba.njit(cache=True)
def own(at, source, alive, lined, begins, stands, starts, ends):  # type: ignore[no-untyped-def]
    """How many readings of its own source a reading is near."""
    found = 0
    stand = stands[at] - 1
    while stand >= begins[source] and lined[stand] >= starts[at]:
        found += alive[lined[stand]]
        stand -= 1
    stand = stands[at] + 1
    while stand < begins[source + 1] and lined[stand] < ends[at]:
        found += alive[lined[stand]]
        stand += 1
    return found


@numba.njit(cache=True)
def sweep(first, head, places, sources, starts, ends, count):  # type: ignore[no-untyped-def]
    """Counts with trees over the places by value."""
    held = len(places)
    located = np.empty(held, dtype=np.int64)
    for at in range(held):
        located[places[at]] = at
    lined, begins, stands = by_source(sources, count)
    here = (lined, begins, stands, starts, ends)
    gone = head[0]
    alive = np.zeros(held, dtype=np.uint8)
    changes = np.zeros(held + 1, dtype=np.int64)
    for source in range(count):
        covered_to = 0
        for stand in range(begins[source], begins[source + 1]):
            at = lined[stand]
            if gone <= places[at] < first:
                alive[at] = 1
                start = max(starts[at], covered_to)
                changes[start] += 1
                changes[ends[at]] -= 1
                covered_to = ends[at]
    counts, covered = gather(alive.astype(np.int64)), gather(changes)
    partners, others = np.empty(len(head), dtype=np.int64), np.empty(len(head), dtype=np.int64)
    for row in range(len(head)):
        while gone < head[row]:
            at = located[gone]
            alive[at] = 0
            add(counts, at, -1)
            start, end = uncovered(at, sources[at], alive, *here)
            if start < end:
                add(covered, start, -1)
                add(covered, end, 1)
            gone += 1
        at = located[first + row]
        source = sources[at]
        mine = own(at, source, alive, *here)
        partners[row] = total(counts, ends[at]) - total(counts, starts[at]) - mine
        others[row] = total(covered, at + 1) - (1 if mine else 0)
        start, end = uncovered(at, source, alive, *here)
        if start < end:
            add(covered, start, 1)
            add(covered, end, -1)
        alive[at] = 1
        add(counts, at, 1)
    return partners, others
