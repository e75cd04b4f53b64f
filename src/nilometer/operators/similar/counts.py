"""SIMILAR ... COUNTS of nearly equal values: tuples in order -> how many tuples each is like, by
kernels/near_counts.py.
"""

from __future__ import annotations

import polars as pl

from nilometer.kernels.near_counts import NearCounted, NearCounts
from nilometer.operators.frames import dtype
from nilometer.operators.logic import ID, TIME
from nilometer.operators.similar.table import Alike, Codes


class SimilarCounts:
    """Holds the tuples given to `probe` while they are within the window of the next one. `last` is the
    latest time among them.
    """

    def __init__(self, alike: Alike) -> None:
        assert alike.window is not None, "one window for all tuples"
        self._column = alike.column
        self._counts = NearCounts(alike.window, alike.epsilon)
        self._names = Codes(dtype(alike.id_type))
        self.last: int | None = None

    def __len__(self) -> int:
        return len(self._counts)

    @property
    def bytes(self) -> int:
        """The size of the kernel's state in bytes."""
        return self._counts.bytes

    @property
    def crowded(self) -> bool:
        """Whether most of the known sources are gone, so that the state should be rebuilt."""
        return len(self._names) > 4 * len(self) + 10_000

    def probe(self, ordered: pl.DataFrame) -> NearCounted:
        """Returns how many tuples each tuple is like. None may be earlier than `last`."""
        times = ordered[TIME].to_numpy()
        self.last = int(times[-1])
        return self._counts.probe(times, ordered[self._column].to_numpy(), self._names.of(ordered[ID]))

    def expire(self, watermark: int) -> None:
        """Drop the tuples that nothing can match any more: no tuple before the watermark comes."""
        self._counts.expire(watermark)
