"""Micro-clusters in one pass: points in order -> clusters (weight, sum, sum of squares, time), and whose each point is.

Fading is exact and lazy: a cluster's sums are those at its own time, and are scaled when it is touched; the centre and
the radius do not depend on the scale.
"""

from __future__ import annotations

import math

import numba
import numpy as np


@numba.njit(cache=True)
def fade(cluster, time, half_life, weights, sums, squares, times):  # type: ignore[no-untyped-def]
    """Brings a cluster's sums to a later time."""
    if half_life > 0 and time > times[cluster]:
        factor = math.exp(-math.log(2.0) * ((time - times[cluster]) / half_life))
        weights[cluster] *= factor
        squares[cluster] *= factor
        for column in range(sums.shape[1]):
            sums[cluster, column] *= factor
    times[cluster] = max(times[cluster], time)


@numba.njit(cache=True)
def squared_radius(weight, total, square):  # type: ignore[no-untyped-def]
    """The mean squared distance from the centre; rounding never makes it negative."""
    centre = 0.0
    for column in range(len(total)):
        centre += (total[column] / weight) * (total[column] / weight)
    return max(square / weight - centre, 0.0)


@numba.njit(cache=True)
def assign(  # type: ignore[no-untyped-def]
    points, moments, radius, half_life, most, count, number, numbers, weights, sums, squares, times, centres,
    chosen, distances, fresh,
):  # fmt: skip
    """Puts every point into a cluster. There is room for most + 1 of them. `number` is the next cluster's. Returns how
    many clusters there are, and the next number."""
    width = points.shape[1]
    merged = np.empty(width)
    for row in range(len(points)):
        best, least = -1, math.inf
        for cluster in range(count):
            distance = 0.0
            for column in range(width):
                apart = points[row, column] - centres[cluster, column]
                distance += apart * apart
            if distance < least:
                best, least = cluster, distance
        square = 0.0
        for column in range(width):
            square += points[row, column] * points[row, column]
        joins = False
        if best >= 0:
            fade(best, moments[row], half_life, weights, sums, squares, times)
            for column in range(width):
                merged[column] = sums[best, column] + points[row, column]
            joins = squared_radius(weights[best] + 1.0, merged, squares[best] + square) <= radius * radius
        if joins:
            weights[best] += 1.0
            squares[best] += square
            sums[best] = merged
            chosen[row], distances[row], fresh[row] = numbers[best], math.sqrt(least), False
        else:
            best = count
            numbers[best], weights[best], squares[best], times[best] = number, 1.0, square, moments[row]
            sums[best] = points[row]
            chosen[row], distances[row], fresh[row] = number, 0.0, True
            count += 1
            number += 1
        centres[best] = sums[best] / weights[best]
        if count > most:
            count = _merge_nearest(count, half_life, numbers, weights, sums, squares, times, centres)
    return count, number


@numba.njit(cache=True)
def _merge_nearest(count, half_life, numbers, weights, sums, squares, times, centres):  # type: ignore[no-untyped-def]
    """Joins the two clusters whose centres are nearest, into the older; the last one takes the place that is free."""
    one, other, least = 0, 1, math.inf
    for first in range(count):
        for second in range(first + 1, count):
            distance = 0.0
            for column in range(centres.shape[1]):
                apart = centres[first, column] - centres[second, column]
                distance += apart * apart
            if distance < least:
                one, other, least = first, second, distance
    time = max(times[one], times[other])
    fade(one, time, half_life, weights, sums, squares, times)
    fade(other, time, half_life, weights, sums, squares, times)
    weights[one] += weights[other]
    squares[one] += squares[other]
    sums[one] += sums[other]
    centres[one] = sums[one] / weights[one]
    for later in range(other, count - 1):  # the order of numbers stays
        numbers[later], weights[later], squares[later], times[later] = (
            numbers[later + 1], weights[later + 1], squares[later + 1], times[later + 1],
        )  # fmt: skip
        sums[later], centres[later] = sums[later + 1], centres[later + 1]
    return count - 1
