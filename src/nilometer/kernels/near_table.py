"""One table for all streams and nearly equal values: finds the readings in the window near each reading.

It follows SNJoin, section 4, with the cell method for fixed-radius near neighbours (a uniform grid, here in
one dimension). It works like occurrence_table.py, with cells instead of values. The number line is cut into
cells slightly wider than epsilon, so the readings within epsilon of a value lie in its cell or a neighbouring
one. A probe's candidates are three chains. Each candidate is tested by its value, so cells affect only the
cost. Values too many cells from 0 to be distinguished share the outermost ones.

The law: rows come in order over all calls, with times that never descend. Row p is near every q before it
with |value p - value q| <= epsilon, time p - time q <= window and another source. Sources are 0, 1, ...: one
stamp is kept for each.

The window is one for all, or each row brings its own (SNJoin section 4.2.1). Then q's window decides, because
it says how long q can be joined. Such rows do not expire in their order, so some rows in the ring may be
dead. A probe skips them, and when they are as many as the living, the ring is rebuilt from the living. So the
table holds at most twice the living rows, however long the longest window is.

>>> table = NearTable(window=10, epsilon=0.5)
>>> probes = table.probe(np.array([1, 2, 3]), np.array([7.0, 7.5, 8.0]), np.array([0, 1, 2]))
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
    SMALL,
    VALUES,
    capacity_of,
    place_of,
    remove,
    resized,
)
from nilometer.kernels.read_only import read_only
from nilometer.kernels.similar_pairs import Values, from_least, reach_of, value_bounds

CELLS = 2.0**31
"""The number of cells on each side of 0. A quotient of that size is exact to 2**-21, which is less than the
excess of a cell's width over epsilon."""
WIDER = 1 + 2.0**-20
SIDES = 3


@dataclass(frozen=True)
class NearProbes:
    """For each row the newest occurrences of its cell and of both neighbours (-1: none), valid from `oldest`
    on; the number of near ones, and of their sources. `first` is the first row's own occurrence."""

    newest: Integers
    oldest: Integers
    values: Values
    low: Values
    high: Values
    times: Integers
    source: Integers
    partners: Integers
    sources: Integers
    first: int

    def __len__(self) -> int:
        return len(self.oldest)


class NearTable:
    """The occurrences of the last `window` microseconds (None: each brings its own). The result of `probe`
    can be expanded until the next probe."""

    def __init__(self, window: int | None, epsilon: float) -> None:
        self._window = window
        self._epsilon = epsilon
        self._tidy_at = SMALL
        self._until: Integers = np.zeros(SMALL, dtype=np.int64)
        self._cells = np.zeros(SMALL, dtype=ENTRY)
        self._ring = np.zeros(SMALL, dtype=OCCURRENCE)
        self._values: Values = np.zeros(SMALL, dtype=np.float64)
        self._stamps = np.full(SMALL, -1, dtype=np.int64)
        self._state = np.zeros(4, dtype=np.int64)

    def __len__(self) -> int:
        """The number of occurrences held."""
        return int(self._state[END] - self._state[HEAD])

    @property
    def bytes(self) -> int:
        """The size in bytes."""
        arrays = self._cells, self._ring, self._values, self._until, self._stamps
        return sum(array.nbytes for array in arrays)

    def probe(
        self, times: Integers, values: Values, sources: Integers, until: Integers | None = None
    ) -> NearProbes:
        """Finds the occurrences near each row, and adds each row for those after it.

        A row can be joined up to the time `until` (None: its time plus the window).
        """
        count = len(times)
        if until is None:
            assert self._window is not None, "every row brings its own window here"
            until = until_of(times, self._window)
        if count:
            self._tidy(int(times[0]))
        self._make_room(count, values.dtype, int(sources.max()) + 1 if count else 0)
        first = int(self._state[END])
        low, high = self._bounds(values)
        oldest, partners, others = (np.empty(count, dtype=np.int64) for _ in range(3))
        newest = np.empty((count, SIDES), dtype=np.int64)
        rows = (
            read_only(times),
            read_only(self._cells_of(values)),
            read_only(values),
            read_only(low),
            read_only(high),
            read_only(sources),
            read_only(until),
        )
        given = newest, oldest, partners, others
        done = 0
        while True:
            done = probe_near(
                *rows,
                self._exact(values),
                done,
                self._state,
                self._ring,
                self._values,
                self._until,
                self._cells,
                self._stamps,
                *given,
            )
            if done == count:
                return NearProbes(newest, oldest, values, low, high, times, sources, partners, others, first)
            self._cells = resized(self._cells, int(self._state[VALUES]))

    def expand(self, probes: NearProbes, rows: slice = slice(None)) -> tuple[Integers, Integers]:
        """The pairs (row of the probes, occurrence near it), by row and then by occurrence."""
        partners = probes.partners[rows]
        ends = np.cumsum(partners)
        owners = np.repeat(np.arange(len(probes), dtype=np.int64)[rows], partners)
        found = np.empty(len(owners), dtype=np.int64)
        expand_near(
            read_only(probes.newest[rows]),
            read_only(probes.oldest[rows]),
            read_only(probes.values[rows]),
            read_only(probes.low[rows]),
            read_only(probes.high[rows]),
            read_only(probes.times[rows]),
            read_only(probes.source[rows]),
            self._exact(probes.values),
            read_only(ends),
            self._ring,
            self._values,
            self._until,
            found,
        )
        return owners, found

    def times(self, occurrences: Integers) -> Integers:
        """Their times."""
        found: Integers = self._ring["time"][occurrences & (len(self._ring) - 1)]
        return found

    def values(self, occurrences: Integers) -> Values:
        """Their values."""
        found: Values = self._values[occurrences & (len(self._ring) - 1)]
        return found

    def sources(self, occurrences: Integers) -> Integers:
        """Their sources."""
        found: Integers = self._ring["source"][occurrences & (len(self._ring) - 1)]
        return found

    def expire(self, now: int) -> None:
        """Drop occurrences that no row from `now` on can match."""
        sweep_cells(now, self._state, self._ring, self._until, self._cells)

    def _bounds(self, values: Values) -> tuple[Values, Values]:
        """The bounds between which a whole number's matches lie; for floats only the difference decides."""
        if values.dtype == np.int64:
            return value_bounds(values, self._epsilon)
        return np.full(len(values), -np.inf), np.full(len(values), np.inf)

    def _exact(self, values: Values) -> float:
        """The test by difference: epsilon for floats; none for whole numbers, whose bounds decide."""
        return np.inf if values.dtype == np.int64 else self._epsilon

    def _cells_of(self, values: Values) -> Words:
        if values.dtype == np.int64:
            return from_least(values.astype(np.int64, copy=False)) // reach_of(self._epsilon)
        with np.errstate(over="ignore", invalid="ignore"):
            places = np.floor(values / (self._epsilon * WIDER))
        within = np.clip(np.nan_to_num(places, nan=0.0), -CELLS, CELLS)
        numbers: Words = within.astype(np.int64).view(np.uint64)
        return numbers

    def _make_room(self, count: int, dtype: np.dtype[np.generic], sources: int) -> None:
        needed, capacity = len(self) + count, len(self._ring)
        if needed > capacity or 8 * needed < capacity > SMALL or self._values.dtype != dtype:
            held = np.arange(self._state[HEAD], self._state[END], dtype=np.int64)
            self._move(held, held, capacity_of(2 * needed), dtype)
        if 16 * int(self._state[VALUES]) < len(self._cells) > SMALL:
            self._cells = resized(self._cells, int(self._state[VALUES]))
        if sources > len(self._stamps):
            more = np.full(capacity_of(sources) - len(self._stamps), -1, dtype=np.int64)
            self._stamps = np.concatenate([self._stamps, more])

    def _tidy(self, now: int) -> None:
        """Remove dead occurrences from the ring; the next time is when the ring has about doubled."""
        if self._window is not None or len(self) < self._tidy_at:
            return
        held = np.arange(self._state[HEAD], self._state[END], dtype=np.int64)
        living = held[self._until[held & (len(self._ring) - 1)] >= now]
        end = int(self._state[END])
        # The numbering continues, because stamps hold numbers too.
        places = np.arange(end - len(living), end, dtype=np.int64)
        self._move(living, places, capacity_of(2 * max(len(living), 1)), self._values.dtype)
        self._state[HEAD] = end - len(living)
        self._cells = np.zeros_like(self._cells)
        self._state[VALUES] = 0
        chain_again(self._state, self._ring, self._cells)
        self._tidy_at = 2 * len(living) + SMALL

    def _move(self, old: Integers, new: Integers, capacity: int, dtype: np.dtype[np.generic]) -> None:
        """Move occurrences to their new numbers, in a ring of another capacity."""
        ring, mask = np.zeros(capacity, dtype=OCCURRENCE), len(self._ring) - 1
        values = np.zeros(capacity, dtype=dtype)
        until = np.zeros(capacity, dtype=np.int64)
        for given, taken in ((ring, self._ring), (values, self._values), (until, self._until)):
            given[new & (capacity - 1)] = taken[old & mask]
        self._ring, self._values, self._until = ring, values, until


def until_of(times: Integers, windows: int | Integers) -> Integers:
    """The time until which tuples of these times can be joined; it is capped at the end of time.

    >>> until_of(np.array([5, 2**63 - 3]), np.array([-1, 7])).tolist()
    [4, 9223372036854775807]
    """
    most = np.iinfo(np.int64).max
    late = times > most - np.maximum(windows, 0)
    return np.where(late, most, np.where(late, 0, times) + np.where(late, 0, windows))


@numba.njit(cache=True)
def sweep_cells(now, state, ring, until, cells):  # type: ignore[no-untyped-def]
    """Dead occurrences leave at the head of the ring, and a cell leaves with its last one."""
    mask = len(ring) - 1
    head, end = state[HEAD], state[END]
    while head < end and until[head & mask] < now:
        cell = place_of(ring[head & mask].number, 0, cells)
        cells[cell].count -= 1
        if cells[cell].count == 0:
            remove(cell, cells)
            state[VALUES] -= 1
        head += 1
    state[HEAD] = head


@numba.njit(cache=True)
def chain_again(state, ring, cells):  # type: ignore[no-untyped-def]
    """Chain the occurrences of the ring again, in empty cells."""
    mask = len(ring) - 1
    for at in range(state[HEAD], state[END]):
        chain(at, ring[at & mask].number, state, ring, cells)


@numba.njit(cache=True, inline="always")
def chain(at, number, state, ring, cells):  # type: ignore[no-untyped-def]
    """Make an occurrence the newest of its cell."""
    cell = place_of(number, 0, cells)
    if not cells[cell].used:
        cells[cell].used, cells[cell].key, cells[cell].source = 1, number, 0
        cells[cell].newest, cells[cell].count = -1, 0
        state[VALUES] += 1
    ring[at & (len(ring) - 1)].previous = cells[cell].newest
    cells[cell].newest = at
    cells[cell].count += 1


@numba.njit(cache=True)
def probe_near(  # type: ignore[no-untyped-def]
    times, numbers, values, low, high, sources, until, epsilon, start, state, ring, ring_values, ring_until, cells, stamps,
    newest, oldest, partners, others,
):  # fmt: skip
    """Probe the rows from `start` on; returns the row before which the table must grow, or the number of
    rows."""
    mask = len(ring) - 1
    for row in range(start, len(times)):
        if 2 * state[VALUES] >= len(cells):
            return row
        now, source, value, least, most = times[row], sources[row], values[row], low[row], high[row]
        if state[HEAD] < state[END] and ring_until[state[HEAD] & mask] < now:
            sweep_cells(now, state, ring, ring_until, cells)
        head, end = state[HEAD], state[END]
        count = distinct = 0
        for side in range(3):
            cell = place_of(numbers[row] + np.uint64(side) - np.uint64(1), 0, cells)
            at = cells[cell].newest if cells[cell].used else np.int64(-1)
            newest[row, side] = at
            while at >= head:
                other = ring_values[at & mask]
                if least <= other <= most and abs(value - other) <= epsilon:
                    theirs = ring[at & mask].source
                    if theirs != source and ring_until[at & mask] >= now:
                        count += 1
                        if stamps[theirs] != end:
                            stamps[theirs] = end
                            distinct += 1
                at = ring[at & mask].previous
        oldest[row], partners[row], others[row] = head, count, distinct
        number = numbers[row]
        ring[end & mask].time, ring[end & mask].number, ring[end & mask].source = now, number, source
        ring_values[end & mask], ring_until[end & mask] = value, until[row]
        chain(end, number, state, ring, cells)
        state[END] = end + 1
    return len(times)


@numba.njit(cache=True)
def expand_near(  # type: ignore[no-untyped-def]
    newest, oldest, values, low, high, times, sources, epsilon, ends, ring, ring_values, ring_until, found
):
    """Walk three chains back at once, the newest occurrence first, and fill `found` from each row's end."""
    mask = len(ring) - 1
    for row in range(len(oldest)):
        place = ends[row]
        start = ends[row - 1] if row else 0
        first, second, third = newest[row, 0], newest[row, 1], newest[row, 2]
        while place > start:
            at = max(first, second, third)
            other = ring_values[at & mask]
            near = low[row] <= other <= high[row] and abs(values[row] - other) <= epsilon
            alive = ring_until[at & mask] >= times[row]
            if near and alive and ring[at & mask].source != sources[row]:
                place -= 1
                found[place] = at
            before = ring[at & mask].previous
            if at == first:
                first = before
            elif at == second:
                second = before
            else:
                third = before
