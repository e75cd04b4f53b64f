"""Classifies vectors by a decision tree, by their nearest neighbours, or by the nearest cluster.

Each kernel gives four numbers per vector: the class (-1: none), the confidence, the second class (-1: there is no
other) and the margin between both. `plan/scalars/classification.py` has the naive twins and says what each means.

>>> vectors, classes = np.array([[0.0], [1.0], [10.0]]), np.array([0, 0, 1])
>>> nearest(np.array([[0.4], [9.0], [99.0]]), vectors, classes, 2, 1, 50.0)[0]
array([ 0.,  1., -1.])
"""

from __future__ import annotations

import math

import numba
import numpy as np


@numba.njit(cache=True)
def tree(matrix, feature, threshold, left, right, shares):  # type: ignore[no-untyped-def]
    """Walks the tree: left where the element is at most the threshold. Elements are compared as single-precision
    numbers, as scikit-learn does. None if no class has half of the leaf.
    """
    rows = matrix.shape[0]
    found = np.empty((4, rows))
    for row in range(rows):
        node = 0
        while left[node] >= 0:
            inside = np.float32(matrix[row, feature[node]]) <= threshold[node]
            node = left[node] if inside else right[node]
        best = second = -1
        for label in range(shares.shape[1]):
            if best < 0 or shares[node, label] > shares[node, best]:
                second = best
                best = label
            elif second < 0 or shares[node, label] > shares[node, second]:
                second = label
        other = shares[node, second] if second >= 0 else 0.0
        found[0, row] = -1 if shares[node, best] < 0.5 else best
        found[1, row] = shares[node, best]
        found[2, row] = second if other > 0.0 else -1
        found[3, row] = shares[node, best] - other
    return found


@numba.njit(cache=True)
def nearest(matrix, vectors, classes, labels, count, above):  # type: ignore[no-untyped-def]
    """The class with the most votes among the `count` nearest vectors; of several, that of the nearer one. None if
    the nearest of all is farther than `above`.
    """
    rows, known = matrix.shape[0], len(vectors)
    found = np.empty((4, rows))
    distances = np.empty(known)
    for row in range(rows):
        for place in range(known):
            total = 0.0
            for element in range(matrix.shape[1]):
                difference = matrix[row, element] - vectors[place, element]
                total += difference * difference
            distances[place] = math.sqrt(total)
        order = np.argsort(distances, kind="mergesort")
        votes = np.zeros(labels)
        closest = np.full(labels, np.inf)
        for place in order[:count]:
            votes[classes[place]] += 1.0
        for place in order:
            closest[classes[place]] = min(closest[classes[place]], distances[place])
        best = second = -1
        for label in range(labels):
            if best < 0 or _better(votes, closest, label, best):
                second = best
                best = label
            elif second < 0 or _better(votes, closest, label, second):
                second = label
        found[0, row] = -1 if distances[order[0]] > above else best
        found[1, row] = votes[best] / min(count, known)
        found[2, row] = second
        found[3, row] = _margin(closest[best], closest[second]) if second >= 0 else 1.0
    return found


@numba.njit(cache=True)
def clusters(matrix, centres, classes, labels, purity, above):  # type: ignore[no-untyped-def]
    """The class of the nearest centre; the confidence is that cluster's purity."""
    found = nearest(matrix, centres, classes, labels, 1, above)
    for row in range(matrix.shape[0]):
        best, least = 0, np.inf
        for place in range(len(centres)):
            total = 0.0
            for element in range(matrix.shape[1]):
                difference = matrix[row, element] - centres[place, element]
                total += difference * difference
            if total < least:
                best, least = place, total
        found[1, row] = purity[best]
    return found


@numba.njit(cache=True)
def _better(votes, closest, one, other):  # type: ignore[no-untyped-def]
    return votes[one] > votes[other] or (votes[one] == votes[other] and closest[one] < closest[other])


@numba.njit(cache=True)
def _margin(own, other):  # type: ignore[no-untyped-def]
    return (other - own) / (other + own) if other + own > 0.0 else 0.0
