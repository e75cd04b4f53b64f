"""A sample of a list by rank alone: every element with the same chance, none twice, evenly spread.

Of m elements n are those whose ranks are floor((i + u) m / n), i = 0, 1, ... n - 1: a systematic sample, whose offset u in [0, 1) decides which. The offset
follows from a number that the list belongs to (a reading's time), so that every host takes the same ones, and takes them again. No element but the sampled
ones need be looked at.

>>> in_sample(np.arange(7), np.full(7, 7), np.full(7, 40_000), 3).tolist()
[False, True, False, True, False, False, True]
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Integers

STEPS = 1 << 16
"""Offsets are so many: with it and the numbers of elements and samples, products stay whole numbers of 64 bits."""


def offsets_of(numbers: Integers) -> Integers:
    """The offsets, in steps, of lists that belong to these numbers: the upper bits of a product mixed by the golden ratio."""
    mixed = numbers.astype(np.int64).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(48)).astype(np.int64)


def in_sample(ranks: Integers, lengths: Integers, offsets: Integers, count: int) -> npt.NDArray[np.bool_]:
    """Whether the element of this rank, in a list of this length and offset, is among the `count` that are taken; of a shorter list all are."""
    # The first i with floor((i + u) m / n) >= rank; it is taken if that is its rank.
    scaled = count * STEPS
    first = np.maximum(-(-(ranks * scaled - offsets * lengths) // (STEPS * lengths)), 0)
    taken = (first * STEPS + offsets) * lengths // scaled == ranks
    found: npt.NDArray[np.bool_] = (lengths <= count) | (taken & (first < count))
    return found
