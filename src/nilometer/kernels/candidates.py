"""A join as one range [low, high) of candidates per probe; its pairs are enumerated in bounded chunks.

A probe's candidates lie side by side in an array that was sorted for this purpose. So a join is a pair of
arrays, and its pairs can be counted without building them. The law: the pairs of all chunks, in order, are
those of `ranges.expand`, and no chunk holds more than `limit` of them.

>>> [
...     (owners.tolist(), places.tolist())
...     for owners, places in expand_in_chunks(np.array([5, 0]), np.array([7, 1]), 2)
... ]
[([0, 0], [5, 6]), ([1], [0])]
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nilometer.kernels.arrays import Integers
from nilometer.kernels.ranges import expand


def expand_in_chunks(low: Integers, high: Integers, limit: int) -> Iterator[tuple[Integers, Integers]]:
    """The pairs of `expand` in chunks of at most `limit`; a probe with many candidates may span several chunks."""
    counts = np.maximum(high - low, 0)
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    for begin in range(0, total, limit):
        end = min(begin + limit, total)
        first = int(np.searchsorted(ends, begin, side="right"))
        last = int(np.searchsorted(ends, end, side="left")) + 1
        before = ends[first:last] - counts[first:last]
        start = low[first:last] + np.maximum(begin - before, 0)
        stop = low[first:last] + np.minimum(counts[first:last], end - before)
        owners, places = expand(start, stop)
        yield owners + first, places


def split(weights: Integers, limit: int) -> Iterator[slice]:
    """Consecutive slices that cover all weights, each of a total of at most `limit`; a heavier weight stands
    alone."""
    ends = np.cumsum(weights)
    first = 0
    while first < len(weights):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + limit, side="right")))
        yield slice(first, last)
        first = last


def group_order(codes: Integers, positions: Integers) -> Integers:
    """The order by (code, position): each code's elements lie side by side, with ascending positions."""
    return np.lexsort((positions, codes))


def group_ranges(
    codes: Integers,
    positions: Integers,
    probe_codes: Integers,
    lowest: Integers,
    highest: Integers,
) -> tuple[Integers, Integers]:
    """For each probe the range of elements of its code with lowest <= position <= highest.

    `codes` and `positions` are in group order. Negative codes stand for NULL and match nothing. Two searches
    of composite numbers (code, rank of position) replace one search per group.
    """
    distinct, ranks = np.unique(positions, return_inverse=True)
    width = len(distinct) + 1
    composite = codes * width + ranks
    from_ = probe_codes * width + np.searchsorted(distinct, lowest, side="left")
    to = probe_codes * width + np.searchsorted(distinct, highest, side="right")
    low = np.searchsorted(composite, from_, side="left").astype(np.int64)
    high = np.searchsorted(composite, to, side="left").astype(np.int64)
    return low, np.where(probe_codes >= 0, high, low)
