"""The order in which a probing sequence visits the heads: always the nearest one not visited yet.

>>> tour(np.array([[0.0, 9.0, 1.0], [9.0, 0.0, 2.0], [1.0, 2.0, 0.0]]), 0).tolist()
[2, 1]
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from nilometer.kernels.arrays import Floats, Integers
from nilometer.laboratory.radio_network import Network


def head_distances(network: Network, heads: Integers) -> Floats:
    """Expected transmissions between each pair of heads."""
    return np.array([network.routes(head).transmissions[heads] for head in heads.tolist()])


def tour(distances: Floats, origin: int) -> Integers:
    """The other heads, by place, in the order of a walk that starts at the origin."""
    waiting = np.ones(len(distances), dtype=np.bool_)
    here, order = origin, []
    for _ in range(len(distances) - 1):
        waiting[here] = False
        here = int(np.argmin(np.where(waiting, distances[here], np.inf)))
        order.append(here)
    return np.array(order, dtype=np.int64)


def longest_tour(network: Network, heads: Integers, tours: list[Integers], size: int) -> int:
    """Microseconds until a message of that size has reached the last head of the longest tour. A query's
    `delay` must cover it."""
    longest = 0
    for origin, order in enumerate(tours):
        nodes = heads[np.concatenate((np.array([origin], dtype=np.int64), order))].tolist()
        longest = max(longest, sum(network.delay(a, b, size) for a, b in pairwise(nodes)))
    return longest
