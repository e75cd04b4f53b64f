"""A Bloom filter of eight-byte fingerprints (Bloom, CACM 1970), with double hashing (Kirsch and Mitzenmacher, 2006).

It never says that a print is missing that was added. With n prints in m bits, it says of another that it is there with
the probability (1 - exp(-4 n / m))^4: 1 in 10,000 for 14 million prints in 64 MiB.

>>> bloom = Bloom(10)
>>> bloom.add(np.array([7, 9], dtype=np.uint64))
>>> bloom.has(np.array([7, 8, 9], dtype=np.uint64)).tolist()
[True, False, True]
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Booleans

Prints = npt.NDArray[np.uint64]

HASHES = 4


class Bloom:
    """A filter of 2^`exponent` bits."""

    def __init__(self, exponent: int) -> None:
        self._bits = np.zeros(1 << max(exponent - 6, 0), dtype=np.uint64)
        self._mask = np.uint64((1 << max(exponent, 6)) - 1)

    def add(self, prints: Prints) -> None:
        """Add prints."""
        set_bits(self._bits, self._mask, np.ascontiguousarray(prints))

    def has(self, prints: Prints) -> Booleans:
        """For each print whether it may have been added."""
        found = np.empty(len(prints), dtype=np.bool_)
        test_bits(self._bits, self._mask, np.ascontiguousarray(prints), found)
        return found


@numba.njit(cache=True)
def set_bits(bits: Prints, mask: np.uint64, prints: Prints) -> None:
    """Set the bits of each print."""
    for place in range(len(prints)):
        at, step = prints[place], (prints[place] >> np.uint64(32)) | np.uint64(1)
        for _ in range(HASHES):
            bit = at & mask
            bits[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))
            at += step


@numba.njit(cache=True)
def test_bits(bits: Prints, mask: np.uint64, prints: Prints, found: Booleans) -> None:
    """Whether all bits of each print are set."""
    for place in range(len(prints)):
        at, step = prints[place], (prints[place] >> np.uint64(32)) | np.uint64(1)
        there = True
        for _ in range(HASHES):
            bit = at & mask
            there = there and (bits[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(
                1
            ) == np.uint64(1)
            at += step
        found[place] = there
