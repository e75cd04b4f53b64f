"""Templates for the sequential test of each class against background, as rows that SQL multiplies.

A box of class c and amplitude a (counts a second) emits s = a T per second in each bin, over the background b. After t
seconds with counts n, the logarithm of the likelihood ratio is

    sum_i n_i ln(1 + s_i / b_i) - t sum_i s_i   =   dot(n, weights) - rate t

so weights and rate are constants of (class, amplitude), and a row of a table. The mean of the ratios over five
amplitudes is the evidence for a class, and the mean over all classes the evidence for any. Wald's bounds for
a = b = 0.01 are +-4.595; a mean of likelihood ratios passes 1/a with probability a at most (Ville), whatever the
number of classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nilometer.laboratory.baggage.spectra import BACKGROUND_RATE, BINS, Halves, Vector

AMPLITUDES = (0.5, 1.0, 2.0, 5.0, 10.0)
"""In units of the background's rate."""
BOUND = math.log(0.99 / 0.01)
SMOOTHED = 2
"""Bins to either side over which the background is smoothed: it has few counts."""


@dataclass(frozen=True)
class Templates:
    """`weights` has a row for each class and amplitude, in this order; `rates` the counts a second."""

    labels: tuple[str, ...]
    weights: Vector
    rates: Vector
    background: Vector
    """Counts a second in each bin."""


def templates(halves: Halves) -> Templates:
    """The templates of the half to learn from."""
    background = BACKGROUND_RATE * _smoothed(halves.background_learned)
    shapes = np.array([halves.learned[label] / halves.learned[label].sum() for label in halves.labels])
    rates = BACKGROUND_RATE * np.array(AMPLITUDES)
    weights = np.log1p(rates[None, :, None] * shapes[:, None, :] / background)
    return Templates(halves.labels, weights.reshape(-1, BINS), np.tile(rates, len(shapes)), background)


def _smoothed(counts: Vector) -> Vector:
    total = np.concatenate([[0.0], np.cumsum(counts)])
    places = np.arange(BINS)
    low, high = np.maximum(places - SMOOTHED, 0), np.minimum(places + SMOOTHED + 1, BINS)
    level = (total[high] - total[low]) / (high - low) + 1e-3 * counts.sum() / BINS
    found: Vector = level / level.sum()
    return found


def evidence(ratios: Vector, classes: int) -> tuple[Vector, Vector]:
    """From logarithms of likelihood ratios, one row per box: the logarithm of the evidence for each class, and for
    any. They are cut at 500, so that their exponentials are finite."""
    linear = np.exp(np.minimum(ratios, 500.0)).reshape(len(ratios), classes, -1).mean(axis=2)
    return np.log(linear), np.log(linear.mean(axis=1))
