"""DDSketch: values -> the numbers of their buckets, and back to the value that stands for a bucket.

Positive buckets count from 1, bucket 0 is zero, and negative buckets mirror the positive ones. So the numbers
have the order of the values. `kernels.sketches` says where the bounds are.
"""

from __future__ import annotations

import functools

import numpy as np

from nilometer.kernels import sketches
from nilometer.kernels.arrays import Floats, Integers


@functools.cache
def _bounds() -> Floats:
    return np.array(sketches.bounds(), dtype=np.float64)


@functools.cache
def _middles() -> Floats:
    return np.array([sketches.middle(bucket) for bucket in range(len(sketches.bounds()))], dtype=np.float64)


def buckets_of(values: Floats) -> Integers:
    """The bucket of each value."""
    places = np.searchsorted(_bounds(), np.abs(values), side="left").astype(np.int64)
    return np.where(values > 0, places, -places)


def middles_of(buckets: Integers) -> Floats:
    """The value that stands for each bucket."""
    return np.copysign(_middles()[np.abs(buckets)], buckets)
