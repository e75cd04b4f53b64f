"""Finds the pairs of places with equal keys on two sides, in chunks. The joins use it for whole parts read
from disk.

>>> [[c.tolist() for c in chunk] for chunk in equal_pairs(np.array([7, 8]), np.array([8, 7, 8]))]
[[[0, 1, 1], [1, 0, 2]]]
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nilometer.kernels.arrays import Integers
from nilometer.kernels.candidates import expand_in_chunks

PAIRS_AT_ONCE = 1_000_000


def equal_pairs(left: Integers, right: Integers) -> Iterator[tuple[Integers, Integers]]:
    """The pairs in the order of the left side, and for one place there in the order of the right side."""
    order = np.argsort(right, kind="stable")
    ordered = right[order]
    low = np.searchsorted(ordered, left, side="left").astype(np.int64)
    high = np.searchsorted(ordered, left, side="right").astype(np.int64)
    for owners, places in expand_in_chunks(low, high, PAIRS_AT_ONCE):
        yield owners, order[places]
