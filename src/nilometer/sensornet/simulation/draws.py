"""Random draws by name: numbers that identify a draw -> the draw.

A counter-based random number generator (Salmon et al., SC 2011), by hashing. A draw depends on the seed and
on its purpose (this packet of this site in this period), never on the order of draws. So the cutting of a run
into stretches changes nothing.

>>> float(uniform(7, np.array([1, 2]), np.array([0, 0]))[1]) == float(
...     uniform(7, np.array([2]), np.array([0]))[0]
... )
True
"""

from __future__ import annotations

import numpy as np

from nilometer.kernels.arrays import Floats, Integers
from nilometer.kernels.stable_hash import fold, hash_words


def uniform(seed: int, *names: Integers) -> Floats:
    """A number in [0, 1) for each position of the columns."""
    word = (seed + 2**63) % 2**64 - 2**63  # any whole number is a seed
    found = hash_words(np.full(len(names[0]), word, dtype=np.int64))
    for name in names:
        found = fold(found, hash_words(np.ascontiguousarray(name, dtype=np.int64)))
    return (found >> np.uint64(11)).astype(np.float64) * 2.0**-53
