"""A hash table for each of k streams over one window. The multi-way joins probe them.

All streams are fed in time order, so the tuples that came first expire first, whatever their stream. The
tuples are in one ring, numbered 0, 1, 2, ... as they come, and a bucket of a stream's table is a chain from
its newest number to older ones. To expire tuples, `first` is moved on. A chain ends at the first number
before it, so nothing is ever unlinked and no expired tuple is ever met. All tables have the same buckets,
with the heads of one value side by side: a value is hashed once, not once per table.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from nilometer.kernels.arrays import Integers
from nilometer.laboratory.baselines.arrivals import Arrivals, require_merged
from nilometer.laboratory.baselines.two_tables import LEAST_TIME, bucket_of
from nilometer.operators.validation import require

FIRST, END = 0, 1

_SLOTS = 1024
_BUCKET_BITS = 4


class Tables(NamedTuple):
    """The ring, by number modulo its length. `heads` are by bucket and stream. `limits` are the first number
    in the ring and the next one. `held` is the number of tuples per stream."""

    keys: Integers
    times: Integers
    rows: Integers
    streams: Integers
    previous: Integers
    heads: Integers
    limits: Integers
    held: Integers


class StreamTables:
    """The tables, which grow with their contents."""

    def __init__(self, streams: int) -> None:
        require(streams > 1, f"a join of {streams} streams")
        self.streams = streams
        self.tables = _empty(_SLOTS, max(_BUCKET_BITS, (_SLOTS // streams).bit_length()), streams)
        self._latest = LEAST_TIME

    def __len__(self) -> int:
        return int(self.tables.limits[END] - self.tables.limits[FIRST])

    @property
    def full(self) -> bool:
        """Whether the ring is full."""
        return len(self) == len(self.tables.keys)

    def require_order(self, arrivals: Arrivals) -> None:
        """Check that the streams are merged by time: a tuple that came too late would find its partners
        gone."""
        self._latest = require_merged(arrivals, self.streams, self._latest)

    def grow(self) -> None:
        """Double the ring, and make four buckets for each tuple over all tables together: most probes find
        nothing and should end at once."""
        old = self.tables
        bits = old.heads.shape[0].bit_length() - 1
        while self.streams << bits < 4 * len(self) and bits < 24:
            bits += 1
        self.tables = _empty(2 * len(old.keys), bits, self.streams)
        move(old, self.tables)


def _empty(slots: int, bits: int, streams: int) -> Tables:
    return Tables(
        keys=np.empty(slots, dtype=np.int64),
        times=np.empty(slots, dtype=np.int64),
        rows=np.empty(slots, dtype=np.int64),
        streams=np.empty(slots, dtype=np.int64),
        previous=np.empty(slots, dtype=np.int64),
        heads=np.full((1 << bits, streams), -1, dtype=np.int64),
        limits=np.zeros(2, dtype=np.int64),
        held=np.zeros(streams, dtype=np.int64),
    )


@numba.njit(cache=True)
def bits_of(tables):  # type: ignore[no-untyped-def]
    """The binary logarithm of the number of buckets, which is the first dimension of the heads."""
    bits = 0
    while 1 << bits < tables.heads.shape[0]:
        bits += 1
    return bits


@numba.njit(cache=True)
def insert(tables, bucket, stream, key, time, row):  # type: ignore[no-untyped-def]
    """Insert a tuple into its stream's table; returns its number."""
    number = tables.limits[END]
    slot = number & (len(tables.keys) - 1)
    tables.keys[slot] = key
    tables.times[slot] = time
    tables.rows[slot] = row
    tables.streams[slot] = stream
    tables.previous[slot] = tables.heads[bucket, stream]
    tables.heads[bucket, stream] = number
    tables.limits[END] = number + 1
    tables.held[stream] += 1
    return number


@numba.njit(cache=True)
def expire(tables, before):  # type: ignore[no-untyped-def]
    """Drop all tuples older than `before`."""
    mask = len(tables.keys) - 1
    number = tables.limits[FIRST]
    while number < tables.limits[END] and tables.times[number & mask] < before:
        tables.held[tables.streams[number & mask]] -= 1
        number += 1
    tables.limits[FIRST] = number


@numba.njit(cache=True)
def move(old, new):  # type: ignore[no-untyped-def]
    """Put all tuples into empty tables, under the same numbers."""
    bits = bits_of(new)
    mask = len(old.keys) - 1
    new.limits[FIRST] = new.limits[END] = old.limits[FIRST]
    for number in range(old.limits[FIRST], old.limits[END]):
        slot = number & mask
        bucket = bucket_of(old.keys[slot], bits)
        insert(new, bucket, old.streams[slot], old.keys[slot], old.times[slot], old.rows[slot])
