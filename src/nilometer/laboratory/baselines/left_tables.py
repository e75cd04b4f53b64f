"""The left hash tables of a left-deep tree: for each level the partial results over the streams below it, by
value.

A partial result is an entry that points to the entry below it, at the previous level, and to its own level's
tuple. NULL stands for no tuple, and for an entry below that would be all NULLs. So padding a result costs an
entry, not a copy of it. All levels have the same buckets, with the heads of one value side by side.

The law, which the tree keeps by `clear` and `retract`: for one value, a level holds exactly the outer join of
the tuples in the window.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Integers
from nilometer.laboratory.baselines.stream_tables import bits_of
from nilometer.laboratory.baselines.two_tables import bucket_of

NULL = -1
DEAD = -2


class Left(NamedTuple):
    """The left tables: `heads` by bucket and level. Each entry has its key, the entry below (NULL: all
    NULLs), the number of its own level's tuple (or NULL) and the next entry in its bucket. Then come the free
    entries and their number, and two working lists."""

    heads: npt.NDArray[np.int32]
    keys: Integers
    below: npt.NDArray[np.int32]
    members: Integers
    following: npt.NDArray[np.int32]
    free: npt.NDArray[np.int32]
    free_count: Integers
    current: npt.NDArray[np.int32]
    coming: npt.NDArray[np.int32]


def empty_left(entries: int, streams: int) -> Left:
    """Empty left tables. Higher left tables hold more. On average there is a bucket for each entry, and
    mostly two."""
    bits = max(4, (2 * entries // streams).bit_length())
    return Left(
        heads=np.full((1 << bits, streams), NULL, dtype=np.int32),
        keys=np.empty(entries, dtype=np.int64),
        below=np.empty(entries, dtype=np.int32),
        members=np.empty(entries, dtype=np.int64),
        following=np.empty(entries, dtype=np.int32),
        free=np.arange(entries - 1, -1, -1, dtype=np.int32),
        free_count=np.array([entries], dtype=np.int64),
        current=np.empty(entries, dtype=np.int32),
        coming=np.empty(entries, dtype=np.int32),
    )


@numba.njit(cache=True)
def rehash(old, new):  # type: ignore[no-untyped-def]
    """Put all entries into empty tables, under the same numbers."""
    bits = bits_of(new)
    count = len(old.keys)
    new.keys[:count] = old.keys
    new.below[:count] = old.below
    new.members[:count] = old.members
    for bucket in range(old.heads.shape[0]):
        for level in range(old.heads.shape[1]):
            entry = old.heads[bucket, level]
            while entry >= 0:
                place = bucket_of(old.keys[entry], bits)
                new.following[entry] = new.heads[place, level]
                new.heads[place, level] = entry
                entry = old.following[entry]
    free = 0
    for entry in range(len(new.keys) - 1, count - 1, -1):
        new.free[free] = entry
        free += 1
    for place in range(old.free_count[0]):
        new.free[free] = old.free[place]
        free += 1
    new.free_count[0] = free


@numba.njit(cache=True)
def retract(tables, left, number, bits, left_bits):  # type: ignore[no-untyped-def]
    """The negative tuple of an expiring one: removes it from all left tables above it, or makes it a NULL in
    them if it is the last of its value."""
    mask = len(tables.keys) - 1
    slot = number & mask
    key, stream = tables.keys[slot], tables.streams[slot]
    streams = tables.heads.shape[1]
    bucket = bucket_of(key, bits)
    last = True
    other = tables.heads[bucket, stream]
    while other > number:
        if tables.keys[other & mask] == key:
            last = False
            break
        other = tables.previous[other & mask]
    bucket = bucket_of(key, left_bits)
    for level in range(stream + 1, streams):
        died = False
        before = NULL
        entry = left.heads[bucket, level]
        while entry >= 0:
            after = left.following[entry]
            dies = False
            if left.keys[entry] == key:
                if level == stream + 1:
                    if left.members[entry] == number:
                        dies = not last or left.below[entry] == NULL
                        if not dies:
                            left.members[entry] = NULL
                elif left.below[entry] >= 0 and left.members[left.below[entry]] == DEAD:
                    dies = not last or left.members[entry] == NULL
                    if not dies:
                        left.below[entry] = NULL
            if dies:
                died = True
                left.members[entry] = DEAD
                if before == NULL:
                    left.heads[bucket, level] = after
                else:
                    left.following[before] = after
                left.free[left.free_count[0]] = entry
                left.free_count[0] += 1
            else:
                before = entry
            entry = after
        if not died:
            break


@numba.njit(cache=True)
def clear(left, bucket, level, key):  # type: ignore[no-untyped-def]
    """Free all entries of a value in one left table."""
    before = NULL
    entry = left.heads[bucket, level]
    while entry >= 0:
        after = left.following[entry]
        if left.keys[entry] == key:
            if before == NULL:
                left.heads[bucket, level] = after
            else:
                left.following[before] = after
            left.free[left.free_count[0]] = entry
            left.free_count[0] += 1
        else:
            before = entry
        entry = after


@numba.njit(cache=True)
def add(left, bucket, level, key, below, member):  # type: ignore[no-untyped-def]
    """Put a partial result into a left table; returns its entry."""
    left.free_count[0] -= 1
    entry = left.free[left.free_count[0]]
    left.keys[entry] = key
    left.below[entry] = below
    left.members[entry] = member
    left.following[entry] = left.heads[bucket, level]
    left.heads[bucket, level] = entry
    return entry


@numba.njit(cache=True)
def write(tables, left, rows, place, top, level):  # type: ignore[no-untyped-def]
    """Write a partial result over the streams below `level` into a row."""
    mask = len(tables.keys) - 1
    entry = np.int64(top)
    for stream in range(level - 1, -1, -1):
        member = np.int64(NULL)
        if entry >= 0:
            member = left.members[entry]
            entry = np.int64(left.below[entry])
        rows[place, stream] = tables.rows[member & mask] if member >= 0 else NULL
