"""Readings as columns: the discrete value, the time it was sensed, the stream (its sensor's node) and its
place in the stream.

The order of a head is (time, stream, sequence). It depends on what was sensed, not on how the radio carried
it, so that late arrivals change no answer. Between heads a smaller head comes after a greater one at the same
time (SNJoin section 5.1 gives the join of equal times to the smaller head; reference/algorithms.md 1.4 b).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nilometer.kernels.arrays import Booleans, Integers


@dataclass(frozen=True, eq=False)
class Readings:
    """Columns of equal length."""

    value: Integers
    time: Integers
    stream: Integers
    sequence: Integers

    def __len__(self) -> int:
        return len(self.value)

    def take(self, rows: Integers | Booleans | slice) -> Readings:
        """A selection of the rows."""
        return Readings(self.value[rows], self.time[rows], self.stream[rows], self.sequence[rows])

    def order(self) -> Integers:
        """The rows in the order of a head."""
        return np.lexsort((self.sequence, self.stream, self.time))


NO_READINGS = Readings(*(np.empty(0, dtype=np.int64) for _ in range(4)))


def sensed(
    streams: Sequence[int] | Integers, times: Sequence[int] | Integers, values: Sequence[int] | Integers
) -> Readings:
    """Readings with their places in their streams: by time; readings of equal time keep their order."""
    stream, time, value = (np.asarray(column, dtype=np.int64) for column in (streams, times, values))
    order = np.lexsort((time, stream))
    ordered = stream[order]
    first = np.searchsorted(ordered, ordered, side="left")
    sequence = np.empty(len(stream), dtype=np.int64)
    sequence[order] = np.arange(len(stream)) - first
    return Readings(value, time, stream, sequence)


def concatenated(parts: Sequence[Readings]) -> Readings:
    """The parts one after the other."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return NO_READINGS
    return Readings(
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.time for part in parts]),
        np.concatenate([part.stream for part in parts]),
        np.concatenate([part.sequence for part in parts]),
    )
