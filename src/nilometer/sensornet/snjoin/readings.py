"""Readings as columns: the value, the time it was sensed, the stream (its sensor's node), its place in the stream,
and how long it can be matched.

Readings are in the order (time, stream, sequence), which is that of SIMILAR: streams are numbered in the order of
their ids. It depends on what was sensed, not on clusters or on how the radio carried it, so neither changes an answer.
(SNJoin section 5.1 gives the join of equal times to the smaller head. That is as good, but clusters change.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Booleans, Integers

Values = npt.NDArray[np.int64] | npt.NDArray[np.float64]

ALWAYS = 2**62
"""A reading without a window of its own."""


@dataclass(frozen=True, eq=False)
class Readings:
    """Columns of equal length. `reach` is a reading's own window, in microseconds (SNJoin section 4.2.1)."""

    value: Values
    time: Integers
    stream: Integers
    sequence: Integers
    reach: Integers

    def __len__(self) -> int:
        return len(self.value)

    def take(self, rows: Integers | Booleans | slice) -> Readings:
        """A selection of the rows."""
        return Readings(
            self.value[rows], self.time[rows], self.stream[rows], self.sequence[rows], self.reach[rows]
        )

    def order(self) -> Integers:
        """The rows in their order."""
        return np.lexsort((self.sequence, self.stream, self.time))


NO_READINGS = Readings(*(np.empty(0, dtype=np.int64) for _ in range(5)))


def sensed(
    streams: Sequence[int] | Integers,
    times: Sequence[int] | Integers,
    values: Sequence[int] | Sequence[float] | Values,
    reach: Sequence[int] | Integers | None = None,
) -> Readings:
    """Readings with their places in their streams: by time; readings of equal time keep their order."""
    stream, time = (np.asarray(column, dtype=np.int64) for column in (streams, times))
    value = np.asarray(values)
    if value.dtype != np.float64:
        value = value.astype(np.int64)
    order = np.lexsort((time, stream))
    ordered = stream[order]
    first = np.searchsorted(ordered, ordered, side="left")
    sequence = np.empty(len(stream), dtype=np.int64)
    sequence[order] = np.arange(len(stream)) - first
    own = np.full(len(stream), ALWAYS) if reach is None else np.asarray(reach, dtype=np.int64)
    return Readings(value, time, stream, sequence, own)


def concatenated(parts: Sequence[Readings]) -> Readings:
    """The parts one after the other."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return NO_READINGS
    if len(parts) == 1:
        return parts[0]
    return Readings(
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.time for part in parts]),
        np.concatenate([part.stream for part in parts]),
        np.concatenate([part.sequence for part in parts]),
        np.concatenate([part.reach for part in parts]),
    )
