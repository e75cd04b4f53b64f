"""A memory of few rows, row by row: when each is given up for one that is worth more.

Rows come one after the other; a row that comes while the memory is full makes the least of those there, itself among them, go. Rows that are
too old to be of use go first, and are not counted as given up.

>>> times, ranks = np.array([1, 2, 3]), np.array([2, 0, 1])
>>> evictions(times, ranks, np.array([-1, 0, 1]), 1, 10, 0).tolist() == [STAYS, 0, 1]
True
"""

from __future__ import annotations

import numba
import numpy as np

from nilometer.kernels.arrays import Integers

STAYS = 2**63 - 1
"""Of a row that is not given up."""


def evictions(
    times: Integers, ranks: Integers, positions: Integers, bound: int, reach: int, reached: int
) -> Integers:
    """Per row the position of the row for which it goes.

    Parameters
    ----------
    ranks
        The order of what rows are worth, each once; the least goes first.
    positions
        When a row comes; -1: it is there already. Rows that come are in order, behind those that are there.
    reach, reached
        A row is of use while its time is at least that of the last one (but no more than `reached`), less `reach`.
    """
    found: Integers = _evictions(times, ranks, positions, bound, reach, max(reached, -(2**62)))
    return found


@numba.njit(cache=True)
def _evictions(times, ranks, positions, bound, reach, reached):  # type: ignore[no-untyped-def]
    gone = np.full(len(times), 2**63 - 1, dtype=np.int64)
    there = np.zeros(len(times), dtype=np.bool_)
    held = 0
    for row in range(len(times)):
        there[row] = True
        held += 1
        if positions[row] < 0 or held <= bound:
            continue
        horizon = min(reached, times[row]) - reach
        for other in range(row + 1):
            if there[other] and times[other] < horizon:
                there[other] = False
                held -= 1
        while held > bound:
            least = -1
            for other in range(row + 1):
                if there[other] and (least < 0 or ranks[other] < ranks[least]):
                    least = other
            there[least] = False
            gone[least] = positions[row]
            held -= 1
    return gone
