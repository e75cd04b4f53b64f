"""One table for all streams: finds the readings in the window that equal each reading (SNJoin section 4).

The paper's three lists are columns here: a hash table with separate chaining, whose entries lie in a ring
buffer. The clean-sweep list is a ring of all occurrences in the window, in time order; expired ones leave at
its front. The tuple-value list is a hash table of the values that occur. A value's occurrence list is a chain
through the ring, from its newest occurrence back. So an occurrence is stored once, however many it matches.
The result of a probe is a range of its value's chain: the newest occurrence before it and the first of the
ring at that moment, O(1) for any arity (algorithms, section 9.1).

The law: rows come in order over all calls, with times that never descend. Row p matches every q before it
with an equal number, time p - time q <= window and another source; `partners` is the number of matches,
`sources` the number of their sources. Costs do not depend on the number of sources.

>>> table = OccurrenceTable(window=10)
>>> times, numbers, sources = np.array([1, 2, 3]), np.array([7, 7, 7], dtype=np.uint64), np.array([4, 5, 4])
>>> probes = table.probe(times, numbers, sources)
>>> probes.partners.tolist(), probes.sources.tolist()
([0, 1, 1], [0, 1, 1])
>>> table.expand(probes)
(array([1, 2]), array([0, 1]))
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Integers, Words
from nilometer.kernels.read_only import read_only

Records = npt.NDArray[np.void]

ENTRY = np.dtype(
    [("key", "u8"), ("source", "i8"), ("newest", "i8"), ("count", "i8"), ("distinct", "i4"), ("used", "i4")]
)
"""An entry of a table, named by `key` and `source` together. A value's entry has source 0, its newest
occurrence, and the numbers of its occurrences and of their sources."""
OCCURRENCE = np.dtype([("time", "i8"), ("number", "u8"), ("source", "i8"), ("previous", "i8")])
"""`previous` is the previous occurrence of the same number."""

HEAD, END, VALUES, OWNED = range(4)
"""The places of a state: the head and the end of the ring, and the numbers of entries of the two tables."""

SMALL = 1_024


@dataclass(frozen=True)
class Probes:
    """For each row a range of its value's chain: from occurrence `newest` (-1: none) back to the first that
    is not before `oldest`; and how many in it are of other sources. `first` is the first row's own
    occurrence."""

    newest: Integers
    oldest: Integers
    source: Integers
    partners: Integers
    sources: Integers
    first: int

    def __len__(self) -> int:
        return len(self.newest)


class OccurrenceTable:
    """The occurrences of the last `window` microseconds. The result of `probe` can be expanded until the next
    probe, which may overwrite it."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._values = np.zeros(SMALL, dtype=ENTRY)
        self._owned = np.zeros(SMALL, dtype=ENTRY)
        self._ring = np.zeros(SMALL, dtype=OCCURRENCE)
        self._state = np.zeros(4, dtype=np.int64)

    def __len__(self) -> int:
        """The number of occurrences held."""
        return int(self._state[END] - self._state[HEAD])

    @property
    def bytes(self) -> int:
        """The size in bytes."""
        return self._values.nbytes + self._owned.nbytes + self._ring.nbytes

    def probe(self, times: Integers, numbers: Words, sources: Integers) -> Probes:
        """Finds the matches of each row, and adds each row for those after it."""
        count = len(times)
        self._make_room(count)
        first = int(self._state[END])
        newest, oldest, partners, others = (np.empty(count, dtype=np.int64) for _ in range(4))
        rows = read_only(times), read_only(numbers), read_only(sources)
        given = newest, oldest, partners, others
        done = 0
        while True:
            done = probe(
                *rows, done, self._window, self._state, self._ring, self._values, self._owned, *given
            )
            if done == count:
                return Probes(newest, oldest, sources, partners, others, first)
            self._values = resized(self._values, int(self._state[VALUES]))
            self._owned = resized(self._owned, int(self._state[OWNED]))

    def expand(self, probes: Probes, rows: slice = slice(None)) -> tuple[Integers, Integers]:
        """The pairs (row of the probes, occurrence that it matches), by row and then by occurrence."""
        partners = probes.partners[rows]
        ends = np.cumsum(partners)
        owners = np.repeat(np.arange(len(probes), dtype=np.int64)[rows], partners)
        found = np.empty(len(owners), dtype=np.int64)
        expand(
            read_only(probes.newest[rows]),
            read_only(probes.oldest[rows]),
            read_only(probes.source[rows]),
            read_only(ends),
            self._ring,
            found,
        )
        return owners, found

    def chain(self, newest: int, oldest: int) -> Integers:
        """The occurrences of one value, in order, from its `newest` (-1: none) back to the first that is not
        before `oldest`."""
        return np.asarray(walk(newest, oldest, self._ring), dtype=np.int64)

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
        sweep(now - self._window, self._state, self._ring, self._values, self._owned)

    def _make_room(self, count: int) -> None:
        """Make room for `count` more rows in the ring, so that a probe overwrites nothing; shrink a ring that
        is far too large."""
        needed, capacity = len(self) + count, len(self._ring)
        if needed > capacity or 8 * needed < capacity > SMALL:
            ring = np.zeros(capacity_of(2 * needed), dtype=OCCURRENCE)
            living = np.arange(self._state[HEAD], self._state[END], dtype=np.int64)
            ring[living & (len(ring) - 1)] = self._ring[living & (capacity - 1)]
            self._ring = ring
        if 16 * int(self._state[VALUES]) < len(self._values) > SMALL:
            self._values = resized(self._values, int(self._state[VALUES]))
        if 16 * int(self._state[OWNED]) < len(self._owned) > SMALL:
            self._owned = resized(self._owned, int(self._state[OWNED]))


def capacity_of(needed: int) -> int:
    """The capacity for so many entries: a power of two."""
    return max(SMALL, 1 << (needed - 1).bit_length())


def resized(table: Records, entries: int) -> Records:
    """The same entries, in a table of the size that they need now."""
    moved = np.zeros(capacity_of(4 * max(entries, 1)), dtype=ENTRY)
    move(table, moved)
    return moved


@numba.njit(cache=True, inline="always")
def home(key, source, mask):  # type: ignore[no-untyped-def]
    """The place where the search for an entry begins."""
    mixed = (key ^ (np.uint64(source) * np.uint64(0xC2B2AE3D27D4EB4F))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(mask))


@numba.njit(cache=True, inline="always")
def place_of(key, source, table):  # type: ignore[no-untyped-def]
    """The place of the entry, or the free place where it would be."""
    mask = len(table) - 1
    place = home(key, source, mask)
    while table[place].used and (table[place].key != key or table[place].source != source):
        place = (place + 1) & mask
    return place


@numba.njit(cache=True)
def remove(place, table):  # type: ignore[no-untyped-def]
    """Free a place; entries behind it that it had displaced move up, so that no search meets a gap."""
    mask = len(table) - 1
    gap = place
    place = (place + 1) & mask
    while table[place].used:
        if ((place - home(table[place].key, table[place].source, mask)) & mask) >= ((place - gap) & mask):
            table[gap] = table[place]
            gap = place
        place = (place + 1) & mask
    table[gap].used = 0


@numba.njit(cache=True)
def move(table, larger):  # type: ignore[no-untyped-def]
    """Move all entries into an empty table."""
    for place in range(len(table)):
        if table[place].used:
            larger[place_of(table[place].key, table[place].source, larger)] = table[place]


@numba.njit(cache=True)
def forget(number, source, state, values, owned):  # type: ignore[no-untyped-def]
    """Stop counting an occurrence; a value leaves with its last one."""
    value, mine = place_of(number, 0, values), place_of(number, source, owned)
    owned[mine].count -= 1
    if owned[mine].count == 0:
        remove(mine, owned)
        state[OWNED] -= 1
        values[value].distinct -= 1
    values[value].count -= 1
    if values[value].count == 0:
        remove(value, values)
        state[VALUES] -= 1


@numba.njit(cache=True)
def sweep(bound, state, ring, values, owned):  # type: ignore[no-untyped-def]
    """The clean sweep: occurrences before `bound` leave, and a value leaves with its last one."""
    mask = len(ring) - 1
    head, end = state[HEAD], state[END]
    while head < end and ring[head & mask].time < bound:
        forget(ring[head & mask].number, ring[head & mask].source, state, values, owned)
        head += 1
    state[HEAD] = head


@numba.njit(cache=True)
def probe(  # type: ignore[no-untyped-def]
    times, numbers, sources, start, window, state, ring, values, owned, newest, oldest, partners, others
):
    """Probe the rows from `start` on; returns the row before which a table must grow, or the number of
    rows."""
    mask = len(ring) - 1
    for row in range(start, len(times)):
        if 2 * state[VALUES] >= len(values) or 2 * state[OWNED] >= len(owned):
            return row
        now, number, source = times[row], numbers[row], sources[row]
        if state[HEAD] < state[END] and ring[state[HEAD] & mask].time < now - window:
            sweep(now - window, state, ring, values, owned)
        value, mine = place_of(number, 0, values), place_of(number, source, owned)
        if not values[value].used:
            values[value].used, values[value].key, values[value].source = 1, number, 0
            values[value].newest, values[value].count, values[value].distinct = -1, 0, 0
            state[VALUES] += 1
        known = owned[mine].used
        if not known:
            owned[mine].used, owned[mine].key, owned[mine].source, owned[mine].count = 1, number, source, 0
            state[OWNED] += 1
        newest[row] = values[value].newest
        oldest[row] = state[HEAD]
        partners[row] = values[value].count - owned[mine].count
        others[row] = values[value].distinct - known
        end = state[END]
        ring[end & mask].time, ring[end & mask].number = now, number
        ring[end & mask].source, ring[end & mask].previous = source, values[value].newest
        state[END] = end + 1
        values[value].newest = end
        values[value].count += 1
        values[value].distinct += 1 - known
        owned[mine].count += 1
    return len(times)


@numba.njit(cache=True)
def expand(newest, oldest, sources, ends, ring, found):  # type: ignore[no-untyped-def]
    """Walk the chains back, and fill `found` from each row's end."""
    mask = len(ring) - 1
    for row in range(len(newest)):
        place = ends[row]
        start = ends[row - 1] if row else 0
        at = newest[row]
        while place > start and at >= oldest[row]:
            if ring[at & mask].source != sources[row]:
                place -= 1
                found[place] = at
            at = ring[at & mask].previous


@numba.njit(cache=True)
def walk(newest, oldest, ring):  # type: ignore[no-untyped-def]
    """Walk one chain like `expand`, but with all sources."""
    mask = len(ring) - 1
    count = 0
    at = newest
    while at >= oldest and at >= 0:
        count += 1
        at = ring[at & mask].previous
    found = np.empty(count, dtype=np.int64)
    at = newest
    while count > 0:
        count -= 1
        found[count] = at
        at = ring[at & mask].previous
    return found
