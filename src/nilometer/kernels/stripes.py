"""Divides nearly equal rows among buckets without losing a pair, by stripes of the number line.

It is the range partitioning of a band join, with copies at the borders (DeWitt, Naughton and Schneider, VLDB
1991), by hashed stripes. A value's *home* is the bucket of its stripe. A row that may pair with values
between `low` and `high` has a copy in the bucket of every stripe that these touch, so that a search at a
partner's home finds it. The law rests on one fact alone, that `stripes` never falls as values rise: then low
<= value <= high puts the value's stripe among those of the copies, however values were rounded.
"""

from __future__ import annotations

import numpy as np

from nilometer.kernels.arrays import Floats, Integers
from nilometer.kernels.stable_hash import hash_words, in_buckets

_FARTHEST = 2.0**62


def stripes(values: Floats, width: float) -> Integers:
    """The number of each value's stripe; NaN is in stripe 0, and values too far out are in the last."""
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = np.floor(values / width)
    found: Integers = np.clip(np.nan_to_num(numbers, nan=0.0), -_FARTHEST, _FARTHEST).astype(np.int64)
    return found


def buckets_of(numbers: Integers, buckets: int) -> Integers:
    """The bucket of each stripe."""
    # As in in_buckets: only the upper half of the hash is used.
    upper = hash_words(numbers) >> np.uint64(32)
    return (upper * np.uint64(buckets) >> np.uint64(32)).astype(np.int64)


def spread(low: Integers, high: Integers, buckets: int) -> tuple[Integers, Integers]:
    """Copies rows to the buckets of the stripes low..high.

    Returns the rows bucket by bucket, each bucket's in order and once, and where each bucket begins and the
    last ends. A row of as many stripes as there are buckets goes to all of them.
    """
    everywhere = (high.astype(np.float64) - low) >= buckets - 1
    counts = np.where(everywhere, buckets, np.where(everywhere, low, high) - low + 1)
    if int(counts.max(initial=1)) == 1:
        places, starts = in_buckets(hash_words(low), buckets)
        return places.astype(np.int64), starts
    rows = np.repeat(np.arange(len(low)), counts)
    copies = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    chosen = np.where(everywhere[rows], copies, buckets_of(low[rows] + copies, buckets))
    order = np.argsort(chosen, kind="stable")
    rows, chosen = rows[order], chosen[order]
    first = np.ones(len(rows), dtype=np.bool_)
    first[1:] = (rows[1:] != rows[:-1]) | (chosen[1:] != chosen[:-1])
    rows, chosen = rows[first], chosen[first]
    return rows, np.searchsorted(chosen, np.arange(buckets + 1))
