"""Readings of NAB's series -> scores by two detectors with a published result, so that ours stand beside them on the same
series.

Windowed Gaussian: how many standard deviations a reading is from the mean of the readings before it: all of them up to 6,400,
then the last 6,400, renewed every 100 readings. NAB's authors score the tail of the normal distribution, which is the same
order. Random: a number of its own for each reading.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.laboratory.nab_score import Labelled

WINDOW, STEP = 6_400, 100
SMALL = 1e-6
"""The standard deviation of readings that are all alike."""


def windowed_gaussian(labelled: Labelled) -> pl.DataFrame:
    """The score of each reading."""
    parts = []
    for series in labelled.windows:
        own = labelled.readings.filter(pl.col("id") == series).sort("time", maintain_order=True)
        values = own["value"].to_numpy()
        means, spreads = _before(values)
        scores = np.abs(values - means) / spreads
        scores[0] = 0.0
        parts.append(own.select("time", "id", pl.Series("score", scores)))
    return pl.concat(parts)


def _before(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of the readings with which each one is compared."""
    places = np.arange(len(values))
    full = WINDOW + np.maximum(places - WINDOW, 0) // STEP * STEP
    ends = np.where(places < WINDOW, places, full)
    begins = np.maximum(ends - WINDOW, 0)
    shifted = values - values.mean()  # sums of squares lose less
    sums, squares = (np.concatenate([[0.0], np.cumsum(each)]) for each in (shifted, shifted * shifted))
    counts = np.maximum(ends - begins, 1)
    means = (sums[ends] - sums[begins]) / counts
    spreads = np.sqrt(np.maximum((squares[ends] - squares[begins]) / counts - means * means, 0.0))
    return means + values.mean(), np.where(spreads > SMALL, spreads, SMALL)


def random_scores(labelled: Labelled, seed: int) -> pl.DataFrame:
    """A score for each reading that says nothing."""
    drawn = np.random.default_rng(seed).random(labelled.readings.height)
    return labelled.readings.select("time", "id", pl.Series("score", drawn))
