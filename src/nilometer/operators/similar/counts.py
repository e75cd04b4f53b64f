"""SIMILAR ... COUNTS of values that are nearly equal: tuples in order -> how many each is like, by kernels/near_counts.py."""

from __future__ import annotations

import polars as pl

from nilometer.kernels.near_counts import NearCounted, NearCounts
from nilometer.operators.frames import dtype
from nilometer.operators.logic import ID, TIME
from nilometer.operators.similar.table import Alike, Codes


class SimilarCounts:
    """Holds what `probe` was given, as long as it is within the window of what comes next; `last` is the latest time of it."""

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
        """What the kernel holds."""
        return self._counts.bytes

    @property
    def crowded(self) -> bool:
        """Whether most of the sources it knows have gone: then it had better be made again."""
        return len(self._names) > 4 * len(self) + 10_000

    def probe(self, ordered: pl.DataFrame) -> NearCounted:
        """How many each tuple is like; none may be earlier than `last`."""
        times = ordered[TIME].to_numpy()
        self.last = int(times[-1])
        return self._counts.probe(times, ordered[self._column].to_numpy(), self._names.of(ordered[ID]))

    def expire(self, watermark: int) -> None:
        """No tuple before the watermark comes any more."""
        self._counts.expire(watermark)
