"""HMJ tree: the outer join of k streams on one attribute, by a left-deep tree of k - 1 outer hash-merge
joins.

It is SNJoin's first rival (sections 4 and 7.2): "in a tree of binary joins, we propagate partial join results
up the tree even if no matching values are found at some tree levels". Level l joins the partial results over
streams 0 to l - 1, in its left hash table, with stream l, in its right one. A tuple of stream s enters at
level s and probes the left table there; if it finds no match, it is padded with NULLs. The results go up. At
each level they are put into the left table, probe the right one, and are multiplied by the matches, or
padded. The results at the root are those of multi_way_result.py, the same as the outer MJoin's.

To make this exact, every left table holds at all times exactly the outer join of the tuples in the window:

- the first tuple of its value in a stream replaces all partial results that had a NULL in its place;
- a tuple that expires is taken out of the partial results by a negative tuple that follows it up the tree, or
  becomes a NULL in them if it was the last of its value in its stream.

All state is bounded by the window and in memory: the tree stays in the hashing phase. An outer join could pad
nothing before its runs on disk were merged, so no result would be early.

If results are built, a tuple of a stream in the middle costs k / 2 probes and k / 2 entries, and memory holds
as many entries for each tuple. If they are only counted, no left tables are kept. The probes of the streams
below replace a left probe, k - 1 in all, and the partial results that a tree would make are counted. That
takes less time than making them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numba
import numpy as np

from nilometer.kernels.arrays import Integers
from nilometer.laboratory.baselines.arrivals import NO_WINDOW, Arrivals, columns
from nilometer.laboratory.baselines.counters import (
    COMPARISONS,
    MOST_IN_MEMORY,
    PARTIALS,
    PROBES,
    Counters,
    counters,
    new_tally,
)
from nilometer.laboratory.baselines.left_tables import NULL, add, clear, empty_left, rehash, retract, write
from nilometer.laboratory.baselines.multi_way_result import CELLS_LIMIT, MultiWayResult, room_for
from nilometer.laboratory.baselines.stream_tables import END, FIRST, StreamTables, bits_of, expire, insert
from nilometer.laboratory.baselines.two_tables import bucket_of
from nilometer.operators.validation import require

ENTRIES_LIMIT = 2**26
"""The most partial results in memory, 2.4 GB of them."""

RING_FULL, ENTRIES_FULL, ROWS_FULL, DONE = range(4)

_ENTRIES = 4096
_CELLS = 1_000_000


@dataclass(frozen=True)
class HashMergeTreeSpec:
    """With `build`, partial and final results are built; otherwise they are only counted."""

    streams: int
    window: int
    build: bool = True

    def __post_init__(self) -> None:
        require(self.streams > 1, f"a join of {self.streams} streams")
        require(0 <= self.window < NO_WINDOW, f"window {self.window}")


class HashMergeTree:
    """Joins streams 0 to k - 1, merged by time. Tuples of equal time are taken in the order of arrival."""

    def __init__(self, spec: HashMergeTreeSpec) -> None:
        self.spec = spec
        self._tables = StreamTables(spec.streams)
        self._left = empty_left(_ENTRIES, spec.streams)
        self._rows: Integers = np.empty((max(_CELLS // spec.streams, 1), spec.streams), dtype=np.int64)
        self._tally = new_tally()
        self._arrivals = 0
        self._outputs = 0.0

    def feed(self, arrivals: Arrivals) -> MultiWayResult:
        """The results of a batch."""
        self._tables.require_order(arrivals)
        result = room_for(len(arrivals))
        if self.spec.build:
            result = replace(result, rows=self._climb(arrivals, result))
        else:
            self._count(arrivals, result)
        self._arrivals += len(arrivals)
        self._outputs += float(result.counts.sum())
        return result

    @property
    def counters(self) -> Counters:
        """The counters so far. `in_memory` counts the tuples, not the partial results."""
        return counters(self._tally, self._arrivals, self._outputs, self.spec.streams, len(self._tables))

    @property
    def entries(self) -> int:
        """The number of partial results in the left tables of all levels."""
        return len(self._left.keys) - int(self._left.free_count[0])

    def _climb(self, arrivals: Arrivals, result: MultiWayResult) -> Integers:
        found = [np.empty((0, self.spec.streams), dtype=np.int64)]
        matches = np.empty(len(self._tables.tables.keys), dtype=np.int64)
        total = done = 0
        while done < len(arrivals):
            done, count, status, needed = climb(
                self._tables.tables,
                self._left,
                *columns(arrivals),
                done,
                self.spec.window,
                matches,
                self._rows,
                result.counts,
                result.logarithms,
                self._tally,
            )
            total += count
            wanted = (total + (needed if status == ROWS_FULL else 0)) * self.spec.streams
            require(
                wanted <= CELLS_LIMIT,
                f"{wanted:.3g} cells in one batch's results; count them, or feed less at once",
            )
            found.append(self._rows[:count].copy())
            if status == RING_FULL:
                self._tables.grow()
                matches = np.empty(len(self._tables.tables.keys), dtype=np.int64)
            elif status == ENTRIES_FULL:
                self._widen(needed)
            elif status == ROWS_FULL and needed > len(self._rows):
                self._rows = np.empty((int(needed), self.spec.streams), dtype=np.int64)
        return np.concatenate(found)

    def _widen(self, needed: float) -> None:
        """Make room for `needed` more entries."""
        old = self._left
        wanted = self.entries + needed
        require(wanted <= ENTRIES_LIMIT, f"{wanted:.3g} partial results in the tree; count them")
        room = len(old.keys)
        while room < wanted:
            room *= 2
        self._left = empty_left(room, self.spec.streams)
        rehash(old, self._left)

    def _count(self, arrivals: Arrivals, result: MultiWayResult) -> None:
        done = 0
        while done < len(arrivals):
            done = count_levels(
                self._tables.tables,
                *columns(arrivals),
                done,
                self.spec.window,
                result.counts,
                result.logarithms,
                result.listed,
                self._tally,
            )
            if self._tables.full:
                self._tables.grow()


@numba.njit(cache=True)
def climb(  # type: ignore[no-untyped-def]
    tables, left, times, sources, keys, own, start, window, matches, rows, counts, logarithms, tally
):
    """Process arrivals from `start` on, until they end or a buffer is full. Returns the next arrival, the
    rows filled, which buffer was full, and how much room this arrival needs in it."""
    bits, left_bits = bits_of(tables), bits_of(left)
    slots = len(tables.keys)
    mask = slots - 1
    streams = tables.heads.shape[1]
    ends = np.empty(streams, dtype=np.int64)
    top = np.int64(0)
    for arrival in range(start, len(times)):
        source, key, time = sources[arrival], keys[arrival], times[arrival]
        while tables.limits[FIRST] < tables.limits[END]:
            number = tables.limits[FIRST]
            if tables.times[number & mask] >= time - window:
                break
            retract(tables, left, number, bits, left_bits)
            tables.held[tables.streams[number & mask]] -= 1
            tables.limits[FIRST] = number + 1
        first = tables.limits[FIRST]
        if tables.limits[END] - first == slots:
            return arrival, top, RING_FULL, 0.0
        bucket, left_bucket = bucket_of(key, bits), bucket_of(key, left_bits)
        compared = 0
        # Probe the left table, and count the results of its matches.
        current, coming = left.current, left.coming
        width = 0
        if source > 0:
            entry = left.heads[left_bucket, source]
            while entry >= 0:
                compared += 1
                if left.keys[entry] == key:
                    current[width] = entry
                    width += 1
                entry = left.following[entry]
        if width == 0:
            current[0] = NULL
            width = 1
        results, partials, used = float(width), 0.0, 0
        for level in range(source + 1, streams):
            partials += results
            began = used
            number = tables.heads[bucket, level]
            while number >= first:
                compared += 1
                if tables.keys[number & mask] == key:
                    matches[used] = number
                    used += 1
                number = tables.previous[number & mask]
            ends[level] = used
            if used > began:
                results *= used - began
        if partials > left.free_count[0]:
            return arrival, top, ENTRIES_FULL, partials
        if results > len(rows) - top:
            return arrival, top, ROWS_FULL, results
        new = True
        number = tables.heads[bucket, source]
        while number >= first and new:
            compared += 1
            new = tables.keys[number & mask] != key
            number = tables.previous[number & mask]
        me = insert(tables, bucket, source, key, time, own[arrival])
        begin = 0
        for level in range(source + 1, streams + 1):
            # Put the results of level - 1 into the left table of `level`; at the root they are the answer.
            if new and level < streams:
                clear(left, left_bucket, level, key)
            matched = 1 if level == source + 1 or ends[level - 1] == begin else ends[level - 1] - begin
            made = 0
            for place in range(width):
                for which in range(matched):
                    if level == source + 1:
                        member = me
                    elif ends[level - 1] == begin:
                        member = np.int64(NULL)
                    else:
                        member = matches[begin + which]
                    if level < streams:
                        coming[made] = add(left, left_bucket, level, key, current[place], member)
                        made += 1
                    else:
                        write(tables, left, rows, top, current[place], level - 1)
                        rows[top, level - 1] = tables.rows[member & mask] if member >= 0 else NULL
                        top += 1
            if level > source + 1:
                begin = ends[level - 1]
            current, coming, width = coming, current, made
        counts[arrival] = results
        logarithms[arrival] = np.log(results)
        tally[PROBES] += (1 if source > 0 else 0) + streams - 1 - source
        tally[COMPARISONS] += compared
        tally[PARTIALS] += partials
        tally[MOST_IN_MEMORY] = max(tally[MOST_IN_MEMORY], tables.limits[END] - first)
    return len(times), top, DONE, 0.0


@numba.njit(cache=True)
def count_levels(  # type: ignore[no-untyped-def]
    tables, times, sources, keys, own, start, window, counts, logarithms, listed, tally
):
    """Process arrivals from `start` on, until they end or the ring is full, and only count the results of
    each level. Returns the next arrival."""
    bits = bits_of(tables)
    slots = len(tables.keys)
    mask = slots - 1
    streams = tables.heads.shape[1]
    for arrival in range(start, len(times)):
        source, key, time = sources[arrival], keys[arrival], times[arrival]
        expire(tables, time - window)
        first = tables.limits[FIRST]
        if tables.limits[END] - first == slots:
            return arrival
        bucket = bucket_of(key, bits)
        heads = tables.heads[bucket]
        results, logarithm, partials = 1.0, 0.0, 0.0
        used, compared = 0, 0
        for stream in range(streams):
            if stream == source:
                continue
            if stream > source:
                partials += results
            found = 0
            number = heads[stream]
            while number >= first:
                compared += 1
                slot = number & mask
                if tables.keys[slot] == key:
                    found += 1
                number = tables.previous[slot]
            if found:
                used += found
                results *= found
                logarithm += np.log(found)
        insert(tables, bucket, source, key, time, own[arrival])
        counts[arrival] = results
        logarithms[arrival] = logarithm
        listed[arrival] = used
        tally[PROBES] += streams - 1
        tally[COMPARISONS] += compared
        tally[PARTIALS] += partials
        tally[MOST_IN_MEMORY] = max(tally[MOST_IN_MEMORY], tables.limits[END] - first)
    return len(times)
