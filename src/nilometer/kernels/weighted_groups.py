"""Weighted k-means over the centres of clusters, without randomness: centres and weights -> the group of each.

The first seed is the heaviest centre, each further one the farthest from all seeds (Gonzalez, 1985); ties go to the earlier
centre. Groups are numbered by their seeds. There are fewer than k if there are fewer different centres.

>>> group(np.array([[0.0], [9.0], [1.0], [8.0]]), np.array([1.0, 2.0, 1.0, 1.0]), 2).tolist()
[1, 0, 1, 0]
"""

from __future__ import annotations

import math

import numba
import numpy as np
import numpy.typing as npt

ROUNDS = 100
"""Lloyd's rounds; then the groups are as they are."""


def group(
    centres: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], k: int
) -> npt.NDArray[np.int64]:
    """The number of each centre's group."""
    groups = np.zeros(len(centres), dtype=np.int64)
    if len(centres):
        _group(np.ascontiguousarray(centres), np.ascontiguousarray(weights), k, ROUNDS, groups)
    return groups


@numba.njit(cache=True)
def _apart(one, other):  # type: ignore[no-untyped-def]
    total = 0.0
    for column in range(len(one)):
        total += (one[column] - other[column]) * (one[column] - other[column])
    return total


@numba.njit(cache=True)
def _group(centres, weights, k, rounds, groups):  # type: ignore[no-untyped-def]
    count, width = centres.shape
    means = np.zeros((min(k, count), width))
    nearest = np.full(count, math.inf)
    seeds, chosen = 0, int(np.argmax(weights))
    while seeds < len(means):
        means[seeds] = centres[chosen]
        for place in range(count):
            nearest[place] = min(nearest[place], _apart(centres[place], means[seeds]))
        seeds += 1
        chosen = int(np.argmax(nearest))
        if nearest[chosen] == 0.0:
            break
    totals, sums = np.zeros(seeds), np.zeros((seeds, width))
    for turn in range(rounds):
        changed = turn == 0
        for place in range(count):
            best, least = 0, math.inf
            for mean in range(seeds):
                distance = _apart(centres[place], means[mean])
                if distance < least:
                    best, least = mean, distance
            changed |= groups[place] != best
            groups[place] = best
        if not changed:
            break
        totals[:] = 0.0
        sums[:] = 0.0
        for place in range(count):
            totals[groups[place]] += weights[place]
            for column in range(width):
                sums[groups[place], column] += weights[place] * centres[place, column]
        for mean in range(seeds):
            if totals[mean] > 0.0:  # an empty group stays where it was
                for column in range(width):
                    means[mean, column] = sums[mean, column] / totals[mean]
