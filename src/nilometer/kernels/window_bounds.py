"""Window bounds: from the widths between some pairs of streams to the widths that they imply for every pair.

|t_i - t_j| <= w_ij on the edges of a graph implies |t_i - t_j| <= D_ij, the shortest path (STEAM section
6.2): the closure of a simple temporal network (Dechter, Meiri and Pearl, 1991), by the Floyd-Warshall
algorithm. D narrows the candidates and says when a tuple is no longer needed. No D is wider than the bound
given for its pair, so tuples within D join.

>>> implied_widths(3, [(0, 1, 5), (1, 2, 7)]).tolist()
[[0, 5, 12], [5, 0, 7], [12, 7, 0]]
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

UNCONNECTED = 2**61  # two of them still fit into 64 bits
WIDEST = UNCONNECTED - 1
"""No two times are further apart than these 73,000 years, so a wider window means the same."""


def implied_widths(count: int, bounds: Iterable[tuple[int, int, int]]) -> npt.NDArray[np.int64]:
    """All-pairs shortest paths over (left, right, width), none longer than WIDEST; UNCONNECTED if there is no
    path."""
    widths = np.full((count, count), UNCONNECTED, dtype=np.int64)
    np.fill_diagonal(widths, 0)
    for left, right, width in bounds:
        widths[left, right] = widths[right, left] = min(int(widths[left, right]), width, WIDEST)
    return closure(widths)


def closure(widths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The shortest paths: from t_j - t_i <= widths[i, j], which may differ in the two directions, to what they imply."""
    for middle in range(len(widths)):
        to, onward = widths[:, middle, None], widths[None, middle, :]
        connected = (to < UNCONNECTED) & (onward < UNCONNECTED)
        widths = np.minimum(widths, np.where(connected, np.minimum(to + onward, WIDEST), UNCONNECTED))
    return widths
