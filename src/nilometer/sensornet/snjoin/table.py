"""A head's SNJoin table: finds the occurrences in its cluster that a tuple joins with (SNJoin section 4.1).

It holds the paper's three lists as arrays. The rows are in time order: that is the clean-sweep list, and
expiry cuts off its front. A stable sort by value puts each value's rows into a run, again by time: that is
the value-occurrence list. The distinct values are the tuple-value list. A probe finds its run, and its window
within the run, by binary search.

The window is tested at both ends: an occurrence later than the tuple never matches. Fig. 4 tests one end only
and would join a late tuple with occurrences however far ahead. Nearly equal values are found by the kernel that
SIMILAR has on the gateway (kernels/similar_pairs.py). A probe looks as far back as the longest window; each
occurrence is then tested against its own (section 4.2.1).
"""

from __future__ import annotations

import numpy as np

from nilometer.errors import InternalError
from nilometer.kernels.arrays import Booleans, Integers
from nilometer.kernels.ranges import expand
from nilometer.kernels.similar_pairs import SimilarRows, similar_pairs
from nilometer.kernels.stable_order import stable_order
from nilometer.sensornet.snjoin.matches import NO_MATCHES, Matches
from nilometer.sensornet.snjoin.readings import NO_READINGS, Readings, Values, concatenated


class Table:
    """The readings of one cluster that may still be joined with. Values match if they differ by at most `within`."""

    def __init__(self, within: float = 0.0) -> None:
        self.rows = NO_READINGS
        self.kept_from: int | None = None
        self._within = within
        self._index: _Index | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def distinct(self) -> int:
        """The number of distinct values."""
        return len(self._indexed().values)

    def insert(self, new: Readings) -> None:
        """Insert readings in their order. None may be earlier than the readings in the table."""
        if not len(new):
            return
        if len(self.rows) and new.time[0] < self.rows.time[-1]:
            raise InternalError("a reading was inserted behind a later one")
        self.rows = concatenated((self.rows, new))
        self._index = None

    def expire(self, before: int) -> None:
        """Drop readings older than that time."""
        self.kept_from = before if self.kept_from is None else max(self.kept_from, before)
        gone = int(np.searchsorted(self.rows.time, before, side="left"))
        if gone:
            self.rows = self.rows.take(slice(gone, None))
            self._index = None

    def probe_newest(self, count: int, window: int) -> Matches:
        """The matches of the newest rows in their own cluster: occurrences in other streams, earlier in the
        order. Probes are numbered from 0."""
        newest = np.arange(len(self.rows) - count, len(self.rows))
        if self._within:
            probe, found = similar_pairs(self._similar(self.rows, window), newest)
            return self._listed(probe - newest[0] if count else probe, found)
        index = self._indexed()
        time = self.rows.time[newest]
        low = index.first(index.code[newest], time - window)
        # The runs keep the order of the head, so the rows before a row in its run are the earlier ones.
        owners, places = expand(low, index.rank[newest])
        return self._allowed(self.rows.take(newest), owners, index.order[places])

    def probe(self, probing: Readings, window: int) -> Matches:
        """The matches of another cluster's tuples here: those that are earlier in the order. Probes are numbered
        from 0."""
        if self._within:
            return self._near(probing, window)
        index = self._indexed()
        code, known = index.codes(probing.value)
        probes = np.flatnonzero(known)
        if not len(probes):
            # Phenomena are local: most clusters do not have most values.
            return NO_MATCHES
        code, time = code[probes], probing.time[probes]
        owners, places = expand(index.first(code, time - window), index.first(code, time + 1))
        return self._allowed(probing, probes[owners], index.order[places])

    def _near(self, probing: Readings, window: int) -> Matches:
        """Nearly equal values, by the kernel of SIMILAR, which wants tuples and occurrences in one order."""
        both = concatenated((self.rows, probing))
        order = both.order()
        asked = order >= len(self.rows)
        probe, other = similar_pairs(self._similar(both.take(order), window), np.flatnonzero(asked))
        here = ~asked[other]
        return self._listed(order[probe[here]] - len(self.rows), order[other[here]])

    def _similar(self, rows: Readings, window: int) -> SimilarRows:
        return SimilarRows(
            rows.time, rows.stream, rows.value, self._within, np.minimum(rows.reach, window).astype(np.int64)
        )

    def _allowed(self, probing: Readings, owners: Integers, found: Integers) -> Matches:
        """Of pairs within the longest window: those of other streams, in order, within the occurrence's own window."""
        time, stream = probing.time[owners], probing.stream[owners]
        rows = self.rows
        earlier = (rows.time[found] < time) | (rows.stream[found] < stream)
        holds = earlier & (rows.stream[found] != stream) & (time - rows.time[found] <= rows.reach[found])
        return self._listed(owners[holds], found[holds])

    def _indexed(self) -> _Index:
        if self._index is None:
            self._index = _Index(self.rows)
        return self._index

    def _listed(self, owners: Integers, rows: Integers) -> Matches:
        stream, time, sequence = self.rows.stream[rows], self.rows.time[rows], self.rows.sequence[rows]
        order = np.lexsort((sequence, time, stream, owners))
        return Matches(owners[order], stream[order], time[order], sequence[order])


class _Index:
    """The runs of equal values. A run's code and a time in the table are combined into one number, ascending
    over all runs."""

    def __init__(self, rows: Readings) -> None:
        if rows.value.dtype == np.float64:
            self.order = np.argsort(rows.value, kind="stable").astype(np.int64)
        else:
            self.order = stable_order(rows.value.astype(np.int64, copy=False))
        self.rank = np.empty(len(rows), dtype=np.int64)
        self.rank[self.order] = np.arange(len(rows))
        ordered = rows.value[self.order]
        begins = np.ones(len(rows), dtype=np.bool_)
        begins[1:] = ordered[1:] != ordered[:-1]
        self.values = ordered[begins]
        ordered_code = np.cumsum(begins) - 1
        self.code = np.empty(len(rows), dtype=np.int64)
        self.code[self.order] = ordered_code
        self.start = int(rows.time[0]) if len(rows) else 0
        # Two more than the number of times: one bound before and one after all of them.
        self.span = int(rows.time[-1]) - self.start + 2 if len(rows) else 2
        self.keys: Integers = ordered_code * self.span + (rows.time[self.order] - self.start)

    def codes(self, values: Values) -> tuple[Integers, Booleans]:
        """The runs of these values, and whether each exists."""
        if not len(self.values):
            return np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=np.bool_)
        code = np.minimum(np.searchsorted(self.values, values), len(self.values) - 1)
        return code, self.values[code] == values

    def first(self, code: Integers, time: Integers) -> Integers:
        """The place in each run of the first row that is not before the time, or the run's end."""
        inside = np.minimum(np.maximum(time - self.start, 0), self.span - 1)
        return np.searchsorted(self.keys, code * self.span + inside, side="left")
