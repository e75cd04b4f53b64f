"""Samples a list by rank alone: every element has the same chance, none comes twice, evenly spread.

Of m elements it takes the n with the ranks floor((i + u) m / n), i = 0, 1, ... n - 1: a systematic sample,
whose offset u in [0, 1) decides which. The offset follows from a number that belongs to the list (a reading's
time), so that every host takes the same elements, every time. Only the sampled elements need to be read.

>>> in_sample(np.arange(7), np.full(7, 7), np.full(7, 40_000), 3).tolist()
[False, True, False, True, False, False, True]
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Integers

STEPS = 1 << 16
"""The number of offsets. With it, products with the numbers of elements and samples fit whole numbers of 64
bits."""


def offsets_of(numbers: Integers) -> Integers:
    """The offsets, in steps, of lists that belong to these numbers: the upper bits of a product with the
    golden ratio."""
    mixed = numbers.astype(np.int64).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(48)).astype(np.int64)


def in_sample(ranks: Integers, lengths: Integers, offsets: Integers, count: int) -> npt.NDArray[np.bool_]:
    """Whether the element of this rank, in a list of this length and offset, is among the `count` sampled
    ones; a shorter list is taken whole."""
    # The first i with floor((i + u) m / n) >= rank; the element is taken if that equals its rank.
    scaled = count * STEPS
    first = np.maximum(-(-(ranks * scaled - offsets * lengths) // (STEPS * lengths)), 0)
    taken = (first * STEPS + offsets) * lengths // scaled == ranks
    found: npt.NDArray[np.bool_] = (lengths <= count) | (taken & (first < count))
    return found
