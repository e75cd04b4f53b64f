"""Which of many points lie within a closed ring: the even-odd rule, edge by edge, for all points at once.

The arithmetic is that of `algebra/geojson.within`, so that both decide alike on a border.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Floats


def within_ring(x: Floats, y: Floats, ring: Sequence[tuple[float, float]]) -> npt.NDArray[np.bool_]:
    """For each point whether it is within the ring, whose last corner is its first.

    >>> within_ring(np.array([1.0, 3.0]), np.array([0.5, 0.5]), [(0, 0), (2, 0), (1, 1), (0, 0)]).tolist()
    [True, False]
    """
    inside = np.zeros(len(x), dtype=np.bool_)
    heights = [corner[1] for corner in ring]
    near = np.flatnonzero((y >= min(heights)) & (y <= max(heights)))
    if not len(near):
        return inside
    mine, height = x[near], y[near]
    odd = np.zeros(len(near), dtype=np.bool_)
    for (x1, y1), (x2, y2) in pairwise(ring):
        if y1 != y2:
            crossed = (y1 > height) != (y2 > height)
            odd ^= crossed & (mine < x1 + (height - y1) / (y2 - y1) * (x2 - x1))
    inside[near] = odd
    return inside
