"""The parameters of the two sketches of approximate aggregates. plan/reference/sketches.py has its own.

- DDSketch (Masson, Rim, Lee: VLDB 2019) counts values in buckets whose bounds grow by GAMMA. The middle of a
  bucket differs from every value in it by at most ACCURACY of that value. A percentile is the middle of the
  bucket that holds the value of that rank.
- HyperLogLog (Flajolet et al. 2007) keeps, in 2^INDEX_BITS registers, the longest run of leading zeros of
  the hashes that fall into each. The estimate is Ertl's (arXiv 1702.01284, algorithm 6), which
  needs no corrections for small or large numbers.

Both are functions of a set of counts or maxima, so how rows are divided changes nothing. The bounds are
one table of doubles, so that every host puts a value into the same bucket.
"""

from __future__ import annotations

import functools
import math

ACCURACY = 0.01
GAMMA = (1 + ACCURACY) / (1 - ACCURACY)
LEAST = 1e-300
"""Numbers closer to 0 than this count as 0."""

INDEX_BITS = 14
REGISTERS = 1 << INDEX_BITS
RANKS = 64 - INDEX_BITS
"""The most leading zeros of the rest of a hash; a register's value is one more at most."""


@functools.cache
def bounds() -> tuple[float, ...]:
    """The upper bounds of the buckets, ascending: bucket n holds bounds[n - 1] < |x| <= bounds[n].

    They are made by multiplication alone, which is the same on every machine.
    """
    found = [LEAST]
    while math.isfinite(found[-1]):
        found.append(found[-1] * GAMMA)
    return tuple(found)


def middle(bucket: int) -> float:
    """The value that stands for a bucket: positive buckets count from 1, 0 is zero, negative ones mirror them."""
    if bucket == 0:
        return 0.0
    bound = bounds()[abs(bucket)]
    value = bounds()[abs(bucket) - 1] if math.isinf(bound) else bound * 2 / (GAMMA + 1)
    return math.copysign(value, bucket)
