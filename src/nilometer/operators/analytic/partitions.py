"""The partitions of ordered rows, and the frame of each row in its partition, as ranges of places.

>>> rows = pl.DataFrame({"k": [1, 1, 1, 2], "v": [5, 5, 6, 1]})
>>> parts = Partitions.of(rows, ["k"], ["v"])
>>> parts.starts.tolist(), parts.ends.tolist(), parts.peers.tolist()
([0, 0, 0, 3], [3, 3, 3, 4], [0, 0, 2, 3])
>>> [side.tolist() for side in parts.frame(Frame(FrameUnit.ROWS, -1, 0))]
[[0, 0, 1, 3], [1, 2, 3, 4]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.algebra.analytic import Frame, FrameUnit
from nilometer.errors import InternalError
from nilometer.kernels.arrays import Booleans, Integers
from nilometer.types import INT_MAXIMUM, INT_MINIMUM

Range = tuple[Integers, Integers]


@dataclass(frozen=True)
class Order:
    """The one value of ORDER BY, ascending within each partition apart from NULLs (which `valid` leaves out)."""

    values: npt.NDArray[Any]
    valid: Booleans

    @classmethod
    def of(cls, column: pl.Series, descending: bool) -> Order:
        """The order of a column; a descending one is turned round."""
        values = column.fill_null(0).to_numpy()
        return cls(-values if descending else values, column.is_not_null().to_numpy())


@dataclass(frozen=True)
class Partitions:
    """For each row, the places of its partition `[starts, ends)` and of its peers `[peers, peer_ends)`.

    A frame without a start begins at `origins`: the partition's start, or its first row that was not seen
    before.
    """

    starts: Integers
    ends: Integers
    peers: Integers
    peer_ends: Integers
    origins: Integers

    @classmethod
    def of(cls, rows: pl.DataFrame, keys: Sequence[str], order: Sequence[str]) -> Partitions:
        """The partitions of rows that are sorted by `keys` and then by `order`."""
        apart = _changes(rows, keys)
        starts, ends = _runs(apart)
        peers, peer_ends = _runs(apart | _changes(rows, order)) if order else (starts, ends)
        return cls(starts, ends, peers, peer_ends, starts)

    def frame(self, frame: Frame, order: Order | None = None) -> Range:
        """The places of each row's frame, `[low, high)`."""
        if frame.unit is FrameUnit.ROWS:
            low, high = self._by_rows(frame)
        elif frame.by_distance:
            if order is None:
                raise InternalError("a RANGE with a distance without an order")
            low, high = self._by_distance(frame, order)
        else:
            low = self.origins if frame.start is None else self.peers
            high = self.ends if frame.end is None else self.peer_ends
        return low, np.maximum(low, high)

    def _by_rows(self, frame: Frame) -> Range:
        place = np.arange(len(self.starts), dtype=np.int64)
        low, high = self.origins, self.ends
        if frame.start is not None:
            low = np.clip(place + int(frame.start), self.starts, self.ends)
        if frame.end is not None:
            high = np.clip(place + int(frame.end) + 1, self.starts, self.ends)
        return low, high

    def _by_distance(self, frame: Frame, order: Order) -> Range:
        from nilometer.kernels.range_folds import first_above, first_not_below

        known = np.concatenate(([0], np.cumsum(order.valid)))
        # NULLs stand at one end of a partition; the values between are ascending.
        count = known[self.ends] - known[self.starts]
        nulls_first = ~order.valid[self.starts]
        first = np.where(nulls_first, self.ends - count, self.starts)
        last = first + count
        low, high = self.origins, self.ends
        if frame.start is not None:
            if frame.start:
                target = _moved(order.values, frame.start)
                low = np.where(order.valid, first_not_below(order.values, first, last, target), self.peers)
            else:
                low = self.peers
        if frame.end is not None:
            if frame.end:
                target = _moved(order.values, frame.end)
                high = np.where(order.valid, first_above(order.values, first, last, target), self.peer_ends)
            else:
                high = self.peer_ends
        return low, high


def _moved(values: npt.NDArray[Any], distance: int | float) -> npt.NDArray[Any]:
    """The values plus a distance; INTs stay within 64 bits."""
    if values.dtype == np.int64:
        whole = int(distance)
        low, high = INT_MINIMUM - min(whole, 0), INT_MAXIMUM - max(whole, 0)
        return np.asarray(np.clip(values, low, high) + whole)
    return np.asarray(values + distance)


def _changes(rows: pl.DataFrame, columns: Sequence[str]) -> Booleans:
    """Whether each row differs from the one before it (NULL = NULL); the first one does."""
    changed = np.zeros(rows.height, dtype=np.bool_)
    changed[:1] = True
    for name in columns:
        column = rows.get_column(name)
        changed |= column.ne_missing(column.shift()).to_numpy()
    changed[:1] = True
    return changed


def _runs(changed: Booleans) -> Range:
    """The start and the end of the run that each row is in."""
    starts = np.flatnonzero(changed)
    lengths = np.diff(np.append(starts, len(changed)))
    return np.repeat(starts, lengths), np.repeat(starts + lengths, lengths)
