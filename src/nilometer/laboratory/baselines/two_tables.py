"""Two hash tables, one for each source, that give the pairs of rows that met in memory. The binary joins
share this part.

Each tuple is put into its own source's table and looked up in the other's (Wilschut and Apers, 1991), so the
later of two partners finds the earlier. Slots are filled in the order of arrival, and a bucket is a chain
from its newest tuple to its oldest. A partition is a range of buckets, so taking one out of memory only
empties their heads.

There are two ways to apply the window |time - time'| <= w. With `prompt`, tuples that the other source has
passed are dropped before every probe, and a probe ends at the first tuple that is too old. Otherwise the
window is only tested pair by pair, and the owner decides when to `drop`. The law: times of one source never
fall; the two sources may interleave in any way.

A tuple may itself be the result of a join below. Then its time is that of its latest member and `oldest` that
of its oldest. Two such tuples join if no two of their members are further apart than the window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np

from nilometer.kernels.arrays import Booleans, Integers
from nilometer.kernels.read_only import read_only
from nilometer.laboratory.baselines.arrivals import Arrivals, columns, require_streams
from nilometer.laboratory.baselines.counters import (
    COMPARISONS,
    MOST_IN_MEMORY,
    OFFERED,
    PROBES,
    Tally,
)
from nilometer.operators.validation import require

NO_LIMIT = 2**62
LEAST_TIME = -(2**61)

_SLOTS = 1024
_BUCKET_BITS = 10
_PAIRS = 4096


class Memory(NamedTuple):
    """For each source (first index) and slot: the tuple, its arrival, the next older tuple of its bucket, and
    whether it is there. For each source: the heads of buckets, the slots in use, the first of them that is
    not expired, the tuples per partition, and the latest time."""

    keys: Integers
    times: Integers
    oldest: Integers
    rows: Integers
    arrived: Integers
    previous: Integers
    there: Booleans
    heads: Integers
    ends: Integers
    firsts: Integers
    sizes: Integers
    latest: Integers


class Tuples(NamedTuple):
    """Tuples of one source, taken out of memory or copied from it."""

    keys: Integers
    times: Integers
    oldest: Integers
    rows: Integers
    arrived: Integers

    def where(self, holds: Booleans | Integers) -> Tuples:
        """The tuples for which the mask holds."""
        return Tuples(*(column[holds] for column in self))


class TwoTables:
    """Both tables, each of `partitions` partitions (a power of two). `clock` numbers arrivals and all other
    events."""

    def __init__(self, partitions: int = 1) -> None:
        require(partitions > 0 and partitions & (partitions - 1) == 0, f"{partitions} partitions")
        self.partitions = partitions
        self.clock = 0
        self._bits = max(partitions.bit_length() - 1, _BUCKET_BITS)
        self._memory = _empty(_SLOTS, self._bits, partitions)
        self._found: Integers = np.empty((_PAIRS, 4), dtype=np.int64)

    @property
    def sizes(self) -> Integers:
        """Tuples in memory per source and partition."""
        return self._memory.sizes

    @property
    def latest(self) -> Integers:
        """Each source's latest time."""
        return self._memory.latest

    def __len__(self) -> int:
        return int(self._memory.sizes.sum())

    def tick(self) -> int:
        """Advance the join's own clock and return its time."""
        self.clock += 1
        return self.clock

    def feed(
        self,
        arrivals: Arrivals,
        window: int,
        tally: Tally,
        *,
        prompt: bool = False,
        limit: int = NO_LIMIT,
        overflow: Callable[[], None] | None = None,
    ) -> Integers:
        """The pairs (row of source 0, row of source 1) that meet. `overflow` is called whenever more than
        `limit` tuples are in memory."""
        return self.feed_results(arrivals, arrivals.times, window, tally, prompt, limit, overflow)[:, :2]

    def feed_results(
        self,
        arrivals: Arrivals,
        oldest: Integers,
        window: int,
        tally: Tally,
        prompt: bool = False,
        limit: int = NO_LIMIT,
        overflow: Callable[[], None] | None = None,
    ) -> Integers:
        """Like `feed`, for tuples that are results themselves. Further columns tell which arrival made a
        pair, and its oldest time."""
        require_streams(arrivals, 2)
        self._require_order(arrivals)
        pairs = []
        done = 0
        while done < len(arrivals):
            before = done
            done, self.clock, count = insert_and_probe(
                self._memory,
                *columns(arrivals),
                read_only(oldest),
                done,
                self.clock,
                window,
                limit,
                prompt,
                self._bits - (self.partitions.bit_length() - 1),
                self._found,
                tally,
            )
            pairs.append(self._found[:count].copy())
            if overflow is not None and len(self) > limit:
                overflow()
            elif int(self._memory.ends.max()) == self._memory.keys.shape[1]:
                self._make_room()
            elif done == before:
                self._found = np.empty((2 * len(self._found), 4), dtype=np.int64)
        return np.concatenate(pairs) if pairs else np.empty((0, 4), dtype=np.int64)

    def tuples(self, source: int, partition: int | None = None) -> Tuples:
        """The tuples in memory, of one partition or of all, in the order of arrival."""
        return self._at(source, self._slots(source, partition))

    def take(self, source: int, partition: int) -> Tuples:
        """The same tuples, removed from memory."""
        slots = self._slots(source, partition)
        taken = self._at(source, slots)
        memory = self._memory
        memory.there[source, slots] = False
        width = memory.heads.shape[1] // self.partitions
        memory.heads[source, partition * width : (partition + 1) * width] = -1
        memory.sizes[source, partition] = 0
        return taken

    def renumber(self, source: int) -> Integers:
        """Give the tuples of a source the rows 0, 1, 2, ... in the order of arrival; returns their former
        rows."""
        slots = self._slots(source, None)
        rows: Integers = self._memory.rows[source, slots]
        self._memory.rows[source, slots] = np.arange(len(slots))
        return rows

    def drop(self, source: int, before: int) -> None:
        """Drop the tuples with a member older than `before`."""
        memory = self._memory
        slots = self._slots(source, None)
        old = slots[memory.oldest[source, slots] < before]
        if len(old):
            memory.there[source, old] = False
            gone = np.bincount(self._partition(memory.keys[source, old]), minlength=self.partitions)
            memory.sizes[source] -= gone
            chain(memory, self._bits)

    def _partition(self, keys: Integers) -> Integers:
        buckets = (keys.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - self._bits)
        partitions: Integers = buckets.astype(np.int64) >> (self._bits - (self.partitions.bit_length() - 1))
        return partitions

    def _slots(self, source: int, partition: int | None) -> Integers:
        memory = self._memory
        first, end = int(memory.firsts[source]), int(memory.ends[source])
        slots: Integers = first + np.flatnonzero(memory.there[source, first:end])
        if partition is not None:
            slots = slots[self._partition(memory.keys[source, slots]) == partition]
        return slots

    def _at(self, source: int, slots: Integers) -> Tuples:
        memory = self._memory
        return Tuples(
            memory.keys[source, slots],
            memory.times[source, slots],
            memory.oldest[source, slots],
            memory.rows[source, slots],
            memory.arrived[source, slots],
        )

    def _make_room(self) -> None:
        """Close the gaps. If more than half of the slots are in use, double them; there is at most one tuple
        per bucket on average."""
        held = [self.tuples(source) for source in (0, 1)]
        most = max(len(tuples.keys) for tuples in held)
        slots = self._memory.keys.shape[1]
        self._bits = max(self._bits, min(most.bit_length(), 24))
        memory = _empty(2 * slots if 2 * most > slots else slots, self._bits, self.partitions)
        for source, tuples in enumerate(held):
            count = len(tuples.keys)
            for column, values in zip(memory[: len(tuples)], tuples, strict=True):
                column[source, :count] = values
            memory.there[source, :count] = True
            memory.ends[source] = count
        memory.sizes[:] = self._memory.sizes
        memory.latest[:] = self._memory.latest
        chain(memory, self._bits)
        self._memory = memory

    def _require_order(self, arrivals: Arrivals) -> None:
        for source in (0, 1):
            times = arrivals.times[arrivals.sources == source]
            if len(times):
                ordered = bool((np.diff(times) >= 0).all()) and int(times[0]) >= int(self.latest[source])
                require(ordered, f"times of source {source} that fall")


def _empty(slots: int, bits: int, partitions: int) -> Memory:
    shape = (2, slots)
    return Memory(
        keys=np.empty(shape, dtype=np.int64),
        times=np.empty(shape, dtype=np.int64),
        oldest=np.empty(shape, dtype=np.int64),
        rows=np.empty(shape, dtype=np.int64),
        arrived=np.empty(shape, dtype=np.int64),
        previous=np.empty(shape, dtype=np.int64),
        there=np.zeros(shape, dtype=np.bool_),
        heads=np.full((2, 1 << bits), -1, dtype=np.int64),
        ends=np.zeros(2, dtype=np.int64),
        firsts=np.zeros(2, dtype=np.int64),
        sizes=np.zeros((2, partitions), dtype=np.int64),
        latest=np.full(2, LEAST_TIME, dtype=np.int64),
    )


@numba.njit(cache=True)
def bucket_of(key, bits):  # type: ignore[no-untyped-def]
    """Fibonacci hashing: the upper bits of a product."""
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))


@numba.njit(cache=True)
def chain(memory, bits):  # type: ignore[no-untyped-def]
    """Rebuild all chains."""
    memory.heads[:] = -1
    for source in range(2):
        for slot in range(memory.firsts[source], memory.ends[source]):
            if memory.there[source, slot]:
                bucket = bucket_of(memory.keys[source, slot], bits)
                memory.previous[source, slot] = memory.heads[source, bucket]
                memory.heads[source, bucket] = slot


@numba.njit(cache=True)
def insert_and_probe(  # type: ignore[no-untyped-def]
    memory, times, sources, keys, rows, oldest, start, clock, window, limit, prompt, width_bits, found, tally
):
    """Process arrivals from `start` on, until they end, the slots or `found` are full, or more than `limit`
    tuples are in memory. Returns the next arrival, the clock and the number of pairs."""
    buckets = memory.heads.shape[1]
    bits = 0
    while 1 << bits < buckets:
        bits += 1
    slots = memory.keys.shape[1]
    there = np.int64(0)
    for size in memory.sizes.flat:
        there += size
    count = 0
    for arrival in range(start, len(times)):
        if there > limit:
            return arrival, clock, count
        source, time, key = sources[arrival], times[arrival], keys[arrival]
        other = 1 - source
        slot = memory.ends[source]
        if slot == slots:
            return arrival, clock, count
        if prompt:
            first = memory.firsts[other]
            while first < memory.ends[other] and memory.times[other, first] < time - window:
                memory.there[other, first] = False
                memory.sizes[other, bucket_of(memory.keys[other, first], bits) >> width_bits] -= 1
                there -= 1
                first += 1
            memory.firsts[other] = first
        bucket = bucket_of(key, bits)
        began, compared = count, 0
        place = memory.heads[other, bucket]
        # A chain may go on into expired slots: these are older than all others.
        while place >= memory.firsts[other]:
            compared += 1
            if memory.keys[other, place] == key:
                first_time = min(oldest[arrival], memory.oldest[other, place])
                if max(time, memory.times[other, place]) - first_time <= window:
                    if count == len(found):
                        return arrival, clock, began
                    found[count, source] = rows[arrival]
                    found[count, other] = memory.rows[other, place]
                    found[count, 2] = arrival
                    found[count, 3] = first_time
                    count += 1
            place = memory.previous[other, place]
        tally[PROBES] += 1
        tally[COMPARISONS] += compared
        tally[OFFERED] += memory.sizes[other, bucket >> width_bits]
        clock += 1
        memory.keys[source, slot] = key
        memory.times[source, slot] = time
        memory.oldest[source, slot] = oldest[arrival]
        memory.rows[source, slot] = rows[arrival]
        memory.arrived[source, slot] = clock
        memory.previous[source, slot] = memory.heads[source, bucket]
        memory.there[source, slot] = True
        memory.heads[source, bucket] = slot
        memory.ends[source] = slot + 1
        memory.sizes[source, bucket >> width_bits] += 1
        memory.latest[source] = time
        there += 1
        tally[MOST_IN_MEMORY] = max(tally[MOST_IN_MEMORY], there)
    return len(times), clock, count
