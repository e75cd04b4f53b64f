"""A hash index over rows in time order: for each probe, the rows of equal number whose time lies in a range.

The buckets are static: one array holds the rows, another the beginnings of the buckets, like a sparse matrix
in CSR form. A counting sort fills them, so that building costs O(rows). Each bucket stays in time order, so
that a probe is one binary search. The law: `matches` returns exactly the pairs (probe, row) with equal
numbers and low <= time <= high, in the order of the probes and, for one probe, of the rows, in chunks of at
most `limit`; `last` returns the last of them.

>>> index = HashIndex(np.array([7, 9, 7], dtype=np.uint64), None, np.array([1, 2, 3]))
>>> probes = np.array([7, 8], dtype=np.uint64)
>>> list(index.matches(probes, None, np.array([0, 0]), np.array([9, 9]), 10))
[(array([0, 0]), array([0, 2]))]
"""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np

from nilometer.kernels.arrays import Booleans, Integers, Words
from nilometer.kernels.ranges import first_size
from nilometer.kernels.read_only import read_only

_ALL = read_only(np.ones(0, dtype=np.bool_))


class HashIndex:
    """Indexes rows whose `times` never descend; rows that are not `known` (None: all are) equal nothing."""

    def __init__(self, numbers: Words, known: Booleans | None, times: Integers) -> None:
        bits = min(max(len(numbers), 16).bit_length(), 20)
        self._shift = np.uint64(64 - bits)
        self._starts, self._rows, self._numbers, self._times = into_buckets(
            read_only(numbers), _ALL if known is None else read_only(known), read_only(times), bits
        )

    def matches(
        self, numbers: Words, known: Booleans | None, low: Integers, high: Integers, limit: int
    ) -> Iterator[tuple[Integers, Integers]]:
        """The pairs of probe and row."""
        probes = (
            read_only(numbers),
            _ALL if known is None else read_only(known),
            read_only(low),
            read_only(high),
        )
        probe, place = 0, np.int64(-1)
        size = first_size(len(numbers), limit)
        while probe < len(numbers):
            owners, rows = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
            probe, place, count = find(
                *probes,
                self._starts,
                self._rows,
                self._numbers,
                self._times,
                self._shift,
                probe,
                place,
                owners,
                rows,
            )
            size = limit
            if count:
                yield owners[:count], rows[:count]

    def last(self, numbers: Words, known: Booleans | None, high: Integers) -> Integers:
        """For each probe the last row of equal number with time <= high, or -1."""
        found: Integers = find_last(
            read_only(numbers),
            _ALL if known is None else read_only(known),
            read_only(high),
            self._starts,
            self._rows,
            self._numbers,
            self._times,
            self._shift,
        )
        return found


@numba.njit(cache=True)
def into_buckets(numbers, known, times, bits):  # type: ignore[no-untyped-def]
    """Where each bucket starts; and, bucket by bucket, the rows, their numbers and times."""
    shift = np.uint64(64 - bits)
    masked = len(known) > 0
    starts = np.zeros((1 << bits) + 1, dtype=np.int64)
    for row in range(len(numbers)):
        if not masked or known[row]:
            starts[np.int64((numbers[row] * np.uint64(0x9E3779B97F4A7C15)) >> shift) + 1] += 1
    for place in range(1 << bits):
        starts[place + 1] += starts[place]
    count = starts[-1]
    ends = starts[:-1].copy()
    rows = np.empty(count, dtype=np.int64)
    sorted_numbers = np.empty(count, dtype=np.uint64)
    sorted_times = np.empty(count, dtype=np.int64)
    for row in range(len(numbers)):
        if not masked or known[row]:
            bucket = np.int64((numbers[row] * np.uint64(0x9E3779B97F4A7C15)) >> shift)
            place = ends[bucket]
            ends[bucket] = place + 1
            rows[place] = row
            sorted_numbers[place] = numbers[row]
            sorted_times[place] = times[row]
    return starts, rows, sorted_numbers, sorted_times


@numba.njit(cache=True)
def find(  # type: ignore[no-untyped-def]
    numbers, known, low, high, starts, rows, row_numbers, row_times, shift, probe, place, owners, found
):
    """Fill `owners` and `found`, starting at this probe and within it at this place (-1: its first). Returns
    where it stopped, and how many pairs it found."""
    masked = len(known) > 0
    count = 0
    while probe < len(numbers):
        if masked and not known[probe]:
            probe, place = probe + 1, np.int64(-1)
            continue
        number, last = numbers[probe], high[probe]
        bucket = np.int64((number * np.uint64(0x9E3779B97F4A7C15)) >> shift)
        stop = starts[bucket + 1]
        if place < 0:
            place, after, earliest = starts[bucket], stop, low[probe]
            while place < after:
                middle = (place + after) >> 1
                if row_times[middle] < earliest:
                    place = middle + 1
                else:
                    after = middle
        while place < stop and row_times[place] <= last:
            if row_numbers[place] == number:
                if count == len(owners):
                    return probe, place, count
                owners[count] = probe
                found[count] = rows[place]
                count += 1
            place += 1
        probe, place = probe + 1, np.int64(-1)
    return probe, place, count


@numba.njit(cache=True)
def find_last(numbers, known, high, starts, rows, row_numbers, row_times, shift):  # type: ignore[no-untyped-def]
    """For each probe the last row of its number that is not later, or -1."""
    masked = len(known) > 0
    found = np.full(len(numbers), -1, dtype=np.int64)
    for probe in range(len(numbers)):
        if masked and not known[probe]:
            continue
        bucket = np.int64((numbers[probe] * np.uint64(0x9E3779B97F4A7C15)) >> shift)
        first = place = starts[bucket]
        after, latest = starts[bucket + 1], high[probe]
        while place < after:
            middle = (place + after) >> 1
            if row_times[middle] <= latest:
                place = middle + 1
            else:
                after = middle
        place -= 1
        while place >= first and row_numbers[place] != numbers[probe]:
            place -= 1
        if place >= first:
            found[probe] = rows[place]
    return found
