"""Expands ranges of positions to the positions themselves: windows without a loop per window or tuple.

It is run-length decoding, by prefix sums of the ranges' lengths.

>>> expand(np.array([0, 1, 5]), np.array([2, 3, 5]))
(array([0, 0, 1, 1]), array([0, 1, 1, 2]))
"""

from __future__ import annotations

import numpy as np

from nilometer.kernels.arrays import Integers


def expand(low: Integers, high: Integers) -> tuple[Integers, Integers]:
    """For ranges [low, high): the range of each position, and the position. A range with high <= low is
    empty."""
    counts = np.maximum(high - low, 0)
    owners = np.repeat(np.arange(len(low), dtype=np.int64), counts)
    # Position = its range's start + its rank inside the range = (start - rows before the range) + running number.
    before = np.cumsum(counts) - counts
    positions = np.arange(len(owners), dtype=np.int64) + np.repeat(low - before, counts)
    return owners, positions


def covered(low: Integers, high: Integers, length: int) -> Integers:
    """The positions of 0 ... length - 1 that lie in any of the ranges [low, high), ascending.

    >>> covered(np.array([4, 1]), np.array([6, 2]), 9).tolist()
    [1, 4, 5]
    """
    if 4 * int(np.maximum(high - low, 0).sum()) < length:
        return np.unique(expand(low, high)[1])
    counts = np.bincount(low, minlength=length + 1) - np.bincount(np.maximum(high, low), minlength=length + 1)
    return np.flatnonzero(np.cumsum(counts[:-1]) > 0)


def multiples(step: int, first: int, limit: int) -> Integers:
    """The multiples of `step` in [first, limit)."""
    start = -(-first // step) * step
    return np.arange(start, limit, step, dtype=np.int64) if start < limit else np.empty(0, dtype=np.int64)


def windows(ticks: Integers, evaluations: Integers, reach: int | None, end: int) -> tuple[Integers, Integers]:
    """The ranges [low, high) of the sorted ticks that lie in (T - reach, T - end], for every evaluation T."""
    return between(ticks, None if reach is None else evaluations - reach, evaluations - end)


def between(ticks: Integers, after: Integers | None, until: Integers) -> tuple[Integers, Integers]:
    """The ranges [low, high) of the sorted ticks that lie in (after, until]; without `after`, up to `until`."""
    high = np.searchsorted(ticks, until, side="right")
    if after is None:
        return np.zeros_like(high), high
    return np.searchsorted(ticks, after, side="right"), high


def first_size(probes: int, limit: int) -> int:
    """How many results to allocate at first: few probes seldom have many, and unneeded memory is not
    allocated."""
    return min(limit, max(4_096, 4 * probes))
