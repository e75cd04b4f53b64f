"""A band index over rows in time order: for each probe, the rows of a range whose values lie in a range.

It uses square-root decomposition: the rows are cut into slices of similar length, each sorted by value. A
probe is a binary search in every slice that its range of rows meets, and a scan of the matching values. So
both ranges narrow the search: a slice costs one search, not its rows. The law: `matches` returns exactly the
pairs (probe, row) with first <= row < end and low <= value <= high, in the order of the probes, in chunks of
at most `limit`.

>>> index = BandIndex(np.array([5, 1, 4, 9]), None, 2)
>>> [found] = index.matches(np.array([0, 1]), np.array([4, 4]), np.array([4, 0]), np.array([5, 3]), 10)
>>> found
(array([0, 0, 1]), array([0, 2, 1]))
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Integers
from nilometer.kernels.ranges import first_size
from nilometer.kernels.read_only import read_only

Values = npt.NDArray[Any]


class BandIndex:
    """Indexes rows 0, 1, ... with whole or real `values`; rows that are not `known` (None: all are) are in no
    range."""

    def __init__(self, values: Values, known: npt.NDArray[np.bool_] | None, slice_rows: int) -> None:
        rows = np.arange(len(values)) if known is None else np.flatnonzero(known)
        order = np.lexsort((values[rows], rows // slice_rows))
        self._slice_rows = slice_rows
        self._rows = read_only(rows[order])
        self._values = read_only(values[self._rows])
        slices = -(-len(values) // slice_rows)
        self._starts = read_only(
            np.searchsorted(self._rows // slice_rows, np.arange(slices + 1)).astype(np.int64)
        )

    def matches(
        self, first: Integers, end: Integers, low: Values, high: Values, limit: int
    ) -> Iterator[tuple[Integers, Integers]]:
        """The pairs of probe and row."""
        probes = (read_only(first), read_only(end), read_only(low), read_only(high))
        probe, place = 0, np.int64(-1)
        size = first_size(len(first), limit)
        while probe < len(first):
            owners, rows = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
            probe, place, count = find(
                *probes, self._starts, self._rows, self._values, self._slice_rows, probe, place, owners, rows
            )
            size = limit
            if count:
                yield owners[:count], rows[:count]


@numba.njit(cache=True)
def find(  # type: ignore[no-untyped-def]
    first, end, low, high, starts, rows, values, slice_rows, probe, place, owners, found
):
    """Fill `owners` and `found`, starting at this probe and within it at this place (-1: its first). Returns
    where it stopped, and how many pairs it found."""
    count = 0
    while probe < len(first):
        begin, stop = first[probe], end[probe]
        if begin >= stop:
            probe, place = probe + 1, np.int64(-1)
            continue
        least, most = low[probe], high[probe]
        piece = begin // slice_rows if place < 0 else rows[place] // slice_rows
        while piece <= (stop - 1) // slice_rows:
            after = starts[piece + 1]
            if place < 0:
                place, upper = starts[piece], after
                while place < upper:
                    middle = (place + upper) >> 1
                    if values[middle] < least:
                        place = middle + 1
                    else:
                        upper = middle
            while place < after and values[place] <= most:
                row = rows[place]
                if begin <= row < stop:
                    if count == len(owners):
                        return probe, place, count
                    owners[count] = probe
                    found[count] = row
                    count += 1
                place += 1
            piece, place = piece + 1, np.int64(-1)
        probe += 1
    return probe, place, count
