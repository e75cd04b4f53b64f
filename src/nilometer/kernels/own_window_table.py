"""One table for all streams in which every sensor has its own window: finds each reading's matches.

It follows SNJoin, section 4.2.1. It works like occurrence_table.py, but an occurrence leaves when its own
window ends, not in the order of arrival. A binary heap says which one is next, so a value's occurrences and
sources are counted exactly at O(log n) each, for any arity. The chains keep dead occurrences until the ring
drops them, and an expansion skips them (lazy deletion). When the dead are as many as the living, the ring is
rebuilt from the living, so that a few long windows do not retain the occurrences of short ones: the table
holds at most about twice the living.

The law: rows come in order over all calls, with times that never descend. Row p matches every q before it
with an equal number, time p <= until q and another source. A row whose `until` is before its time has
matches, but is nobody's match.

>>> table = OwnWindowTable()
>>> times, numbers, sources = np.array([1, 2, 3]), np.array([7, 7, 7], dtype=np.uint64), np.array([4, 5, 6])
>>> probes = table.probe(times, numbers, sources, until=np.array([2, 9, 9]))
>>> probes.partners.tolist(), table.expand(probes)
([0, 1, 1], (array([1, 2]), array([0, 1])))
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from nilometer.kernels.arrays import Integers, Words
from nilometer.kernels.occurrence_table import (
    END,
    ENTRY,
    HEAD,
    OCCURRENCE,
    OWNED,
    SMALL,
    VALUES,
    Probes,
    capacity_of,
    forget,
    place_of,
    resized,
)
from nilometer.kernels.read_only import read_only

ALIVE = 4
"""The place of the state that holds the heap's size."""
LEAVING = np.dtype([("until", "i8"), ("at", "i8")])


@dataclass(frozen=True)
class OwnProbes(Probes):
    """Like Probes, for rows of these times: of the range, only occurrences alive at that time count."""

    times: Integers


class OwnWindowTable:
    """The occurrences that can still be joined. The result of `probe` can be expanded until the next
    probe."""

    def __init__(self) -> None:
        self._values = np.zeros(SMALL, dtype=ENTRY)
        self._owned = np.zeros(SMALL, dtype=ENTRY)
        self._ring = np.zeros(SMALL, dtype=OCCURRENCE)
        self._until: Integers = np.zeros(SMALL, dtype=np.int64)
        self._heap = np.zeros(SMALL, dtype=LEAVING)
        self._state = np.zeros(5, dtype=np.int64)
        self._tidy_at = SMALL

    def __len__(self) -> int:
        """The number of occurrences held."""
        return int(self._state[END] - self._state[HEAD])

    @property
    def bytes(self) -> int:
        """The size in bytes."""
        arrays = self._values, self._owned, self._ring, self._until, self._heap
        return sum(array.nbytes for array in arrays)

    def probe(self, times: Integers, numbers: Words, sources: Integers, until: Integers) -> OwnProbes:
        """Finds the matches of each row, and adds each row, up to its `until`, for those after it."""
        count = len(times)
        if count and len(self) >= self._tidy_at:
            self._tidy(int(times[0]))
        self._make_room(count)
        first = int(self._state[END])
        newest, oldest, partners, others = (np.empty(count, dtype=np.int64) for _ in range(4))
        rows = read_only(times), read_only(numbers), read_only(sources), read_only(until)
        done = 0
        while True:
            tables = self._state, self._ring, self._until, self._heap, self._values, self._owned
            done = probe_own(*rows, done, *tables, newest, oldest, partners, others)
            if done == count:
                return OwnProbes(newest, oldest, sources, partners, others, first, times)
            self._values = resized(self._values, int(self._state[VALUES]))
            self._owned = resized(self._owned, int(self._state[OWNED]))

    def expand(self, probes: OwnProbes, rows: slice = slice(None)) -> tuple[Integers, Integers]:
        """The pairs (row of the probes, occurrence that it matches), by row and then by occurrence."""
        partners = probes.partners[rows]
        ends = np.cumsum(partners)
        owners = np.repeat(np.arange(len(probes), dtype=np.int64)[rows], partners)
        found = np.empty(len(owners), dtype=np.int64)
        expand_own(
            read_only(probes.newest[rows]),
            read_only(probes.oldest[rows]),
            read_only(probes.source[rows]),
            read_only(probes.times[rows]),
            read_only(ends),
            self._ring,
            self._until,
            found,
        )
        return owners, found

    def times(self, occurrences: Integers) -> Integers:
        """Their times."""
        found: Integers = self._ring["time"][occurrences & (len(self._ring) - 1)]
        return found

    def numbers(self, occurrences: Integers) -> Words:
        """Their values' numbers."""
        found: Words = self._ring["number"][occurrences & (len(self._ring) - 1)]
        return found

    def sources(self, occurrences: Integers) -> Integers:
        """Their sources."""
        found: Integers = self._ring["source"][occurrences & (len(self._ring) - 1)]
        return found

    def expire(self, now: int) -> None:
        """Drop occurrences that no row from `now` on can match."""
        leave(now, self._state, self._ring, self._until, self._heap, self._values, self._owned)

    def _make_room(self, count: int) -> None:
        """Make room for `count` more occurrences."""
        needed, capacity = len(self) + count, len(self._ring)
        if needed > capacity or 8 * needed < capacity > SMALL:
            held = np.arange(self._state[HEAD], self._state[END], dtype=np.int64)
            self._move(held, held, capacity_of(2 * needed))
        alive = int(self._state[ALIVE])
        if alive + count > len(self._heap) or 8 * (alive + count) < len(self._heap) > SMALL:
            heap = np.zeros(capacity_of(2 * (alive + count)), dtype=LEAVING)
            heap[:alive] = self._heap[:alive]
            self._heap = heap
        if 16 * int(self._state[VALUES]) < len(self._values) > SMALL:
            self._values = resized(self._values, int(self._state[VALUES]))
        if 16 * int(self._state[OWNED]) < len(self._owned) > SMALL:
            self._owned = resized(self._owned, int(self._state[OWNED]))

    def _tidy(self, now: int) -> None:
        """Remove dead occurrences from the ring; the next time is when the ring has about doubled."""
        self.expire(now)
        held = np.arange(self._state[HEAD], self._state[END], dtype=np.int64)
        until = self._until[held & (len(self._ring) - 1)]
        living, until = held[until >= now], until[until >= now]
        end = int(self._state[END])
        places = np.arange(end - len(living), end, dtype=np.int64)
        self._move(living, places, capacity_of(2 * max(len(living), 1)))
        self._state[HEAD] = end - len(living)
        # A sorted array is a heap.
        order = np.argsort(until, kind="stable")
        self._heap["until"][: len(living)], self._heap["at"][: len(living)] = until[order], places[order]
        chain_living(self._state, self._ring, self._values)
        self._tidy_at = 2 * len(living) + SMALL

    def _move(self, old: Integers, new: Integers, capacity: int) -> None:
        """Move occurrences to their new numbers, in a ring of another capacity."""
        ring, until, mask = (
            np.zeros(capacity, dtype=OCCURRENCE),
            np.zeros(capacity, dtype=np.int64),
            len(self._ring) - 1,
        )
        ring[new & (capacity - 1)] = self._ring[old & mask]
        until[new & (capacity - 1)] = self._until[old & mask]
        self._ring, self._until = ring, until


@numba.njit(cache=True)
def push(until, at, state, heap):  # type: ignore[no-untyped-def]
    """Add an occurrence to the heap."""
    place = state[ALIVE]
    state[ALIVE] += 1
    while place > 0 and heap[(place - 1) >> 1].until > until:
        heap[place] = heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    heap[place].until, heap[place].at = until, at


@numba.njit(cache=True)
def pop(state, heap):  # type: ignore[no-untyped-def]
    """Remove the occurrence that leaves first; the heap is not empty."""
    first = heap[0].at
    state[ALIVE] -= 1
    size = state[ALIVE]
    until, at = heap[size].until, heap[size].at
    place, child = 0, 1
    while child < size:
        if child + 1 < size and heap[child + 1].until < heap[child].until:
            child += 1
        if heap[child].until >= until:
            break
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    heap[place].until, heap[place].at = until, at
    return first


@numba.njit(cache=True)
def leave(now, state, ring, until, heap, values, owned):  # type: ignore[no-untyped-def]
    """Stop counting occurrences whose windows have ended; the ring drops them at its head."""
    mask = len(ring) - 1
    while state[ALIVE] > 0 and heap[0].until < now:
        at = pop(state, heap)
        forget(ring[at & mask].number, ring[at & mask].source, state, values, owned)
    while state[HEAD] < state[END] and until[state[HEAD] & mask] < now:
        state[HEAD] += 1


@numba.njit(cache=True)
def probe_own(  # type: ignore[no-untyped-def]
    times,
    numbers,
    sources,
    lasting,
    start,
    state,
    ring,
    until,
    heap,
    values,
    owned,
    newest,
    oldest,
    partners,
    others,
):
    """Probe the rows from `start` on; returns the row before which a table must grow, or the number of
    rows."""
    mask = len(ring) - 1
    for row in range(start, len(times)):
        if 2 * state[VALUES] >= len(values) or 2 * state[OWNED] >= len(owned):
            return row
        now, number, source = times[row], numbers[row], sources[row]
        leave(now, state, ring, until, heap, values, owned)
        value, mine = place_of(number, 0, values), place_of(number, source, owned)
        there, known = values[value].used, owned[mine].used
        newest[row] = values[value].newest if there else -1
        oldest[row] = state[HEAD]
        partners[row] = (values[value].count if there else 0) - (owned[mine].count if known else 0)
        others[row] = (values[value].distinct if there else 0) - known
        end = state[END]
        ring[end & mask].time, ring[end & mask].number = now, number
        ring[end & mask].source, ring[end & mask].previous = source, newest[row]
        until[end & mask] = lasting[row]
        state[END] = end + 1
        if lasting[row] < now:
            continue
        push(lasting[row], end, state, heap)
        if not there:
            values[value].used, values[value].key, values[value].source = 1, number, 0
            values[value].count, values[value].distinct = 0, 0
            state[VALUES] += 1
        if not known:
            owned[mine].used, owned[mine].key, owned[mine].source, owned[mine].count = 1, number, source, 0
            state[OWNED] += 1
        values[value].newest = end
        values[value].count += 1
        values[value].distinct += 1 - known
        owned[mine].count += 1
    return len(times)


@numba.njit(cache=True)
def chain_living(state, ring, values):  # type: ignore[no-untyped-def]
    """Chain the occurrences of the ring. All of them are alive, so each value has an entry."""
    mask = len(ring) - 1
    for place in range(len(values)):
        values[place].newest = -1
    for at in range(state[HEAD], state[END]):
        value = place_of(ring[at & mask].number, 0, values)
        ring[at & mask].previous = values[value].newest
        values[value].newest = at


@numba.njit(cache=True)
def expand_own(newest, oldest, sources, times, ends, ring, until, found):  # type: ignore[no-untyped-def]
    """Walk the chains back, and fill `found` from each row's end with the occurrences that were alive."""
    mask = len(ring) - 1
    for row in range(len(newest)):
        place = ends[row]
        start = ends[row - 1] if row else 0
        at = newest[row]
        while place > start and at >= oldest[row]:
            if ring[at & mask].source != sources[row] and until[at & mask] >= times[row]:
                place -= 1
                found[place] = at
            at = ring[at & mask].previous
