"""Counts values in fixed memory: a count-min sketch (Cormode and Muthukrishnan) whose counts fade.

Each hash adds one to a counter in every row of the sketch, at a place that depends on the row. The smallest
of these counters is the estimate: never below the true count, and above it by at most (all counts) * e /
width, except for a share exp(-depth) of the values. Whenever `memory` more values have been counted, all
counts are halved, so that the sketch follows a drift.
"""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Floats, Words

WIDTH_BITS = 11
MEMORY = 65_536

_ODD = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5], dtype=np.uint64
)

_HEAD = 16


class CountMin:
    """Counts of 64-bit numbers; `total` is the number of values counted, faded like the counts."""

    def __init__(self, width_bits: int = WIDTH_BITS, memory: int = MEMORY) -> None:
        self.total = 0.0
        self._since = 0
        self._memory = memory
        self._shift = np.uint64(64 - width_bits)
        self._counts = np.zeros((len(_ODD), 1 << width_bits), dtype=np.float32)
        self._data: bytes | None = None

    def add(self, numbers: Words) -> None:
        """Count each of them once."""
        for row, places in zip(self._counts, self._places(numbers), strict=True):
            row += np.bincount(places, minlength=len(row)).astype(np.float32)
        self.total += len(numbers)
        self._since += len(numbers)
        self._data = self._data if not len(numbers) else None
        while self._since >= self._memory:
            self._since -= self._memory
            self._counts /= 2
            self.total /= 2

    def share(self, numbers: Words) -> Floats:
        """The estimated share of each number among all that were counted; 0 if nothing was counted."""
        if not self.total:
            return np.zeros(len(numbers))
        places = self._places(numbers)
        least = self._counts[0][places[0]].astype(np.float64)
        for row, chosen in zip(self._counts[1:], places[1:], strict=True):
            np.minimum(least, row[chosen].astype(np.float64), out=least)
        return np.asarray(least / self.total, dtype=np.float64)

    def to_bytes(self) -> bytes:
        """The whole state, serialized again only if it has changed."""
        if self._data is None:
            head = np.array([self.total, self._since])
            self._data = head.tobytes() + zlib.compress(self._counts.tobytes(), 1)
        return self._data

    def restore(self, data: bytes) -> None:
        """Restore the state that `to_bytes` returned."""
        total, since = np.frombuffer(data[:_HEAD])
        self.total, self._since = float(total), int(since)
        counts = np.frombuffer(zlib.decompress(data[_HEAD:]), dtype=np.float32)
        self._counts, self._data = counts.reshape(self._counts.shape).copy(), data

    def _places(self, numbers: Words) -> list[npt.NDArray[np.intp]]:
        # Whole numbers are not hashed before, so their lower bits must reach the upper ones, which give the
        # place.
        mixed = numbers ^ (numbers >> np.uint64(32))
        return [((mixed * odd) >> self._shift).astype(np.intp) for odd in _ODD]
