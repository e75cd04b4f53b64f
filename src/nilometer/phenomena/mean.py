"""The mean of readings from the sums of their sources. As AVG has it, a sum beyond the numbers has none.

>>> mean_of([2.0, 4.0], 3), mean_of([1e308, 1e308], 2)
(2.0, None)
"""

from __future__ import annotations

import math
from collections.abc import Iterable


def mean_of(sums: Iterable[float], count: int) -> float | None:
    """The mean of `count` readings."""
    try:
        total = math.fsum(sums)
    except (OverflowError, ValueError):
        return None
    return total / count if math.isfinite(total) else None
