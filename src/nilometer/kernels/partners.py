"""The partners of one probe, as a range of its value's list, computed on demand (algorithms, section 9.1).

`partners(table, probes, row)` costs nothing, for any arity, and knows at once how many partners there are,
and of how many sources. Everything else is a walk along the list: the partners, the sublist of a stream, all
sublists, a sample. The number of combinations is a product of whole numbers, exact however large, and no
combination is built. Because an answer is a range, two answers for one value differ only at the ends: `since`
returns what the later one has added at its end, and from where on the earlier one is still valid.

Like the probes from which it is made, it can be read until the table's next probe.

>>> from nilometer.kernels.occurrence_table import OccurrenceTable
>>> table = OccurrenceTable(window=10)
>>> times, numbers, sources = np.array([1, 2, 3, 12]), np.full(4, 7, dtype=np.uint64), np.array([4, 5, 5, 6])
>>> probes = table.probe(times, numbers, sources)
>>> last = partners(table, probes, 3)
>>> len(last), last.sources, last.occurrences().tolist(), last.combinations()
(2, 1, [1, 2], 2)
>>> last.since(partners(table, probes, 2))
Delta(joined=array([2]), kept_from=1)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from nilometer.kernels.arrays import Integers
from nilometer.kernels.occurrence_table import OccurrenceTable, Probes
from nilometer.kernels.spread_sample import in_sample


@dataclass(frozen=True)
class Delta:
    """The change from a value's earlier list to its later one: drop all before `kept_from`, and append
    `joined`."""

    joined: Integers
    kept_from: int


@dataclass(frozen=True)
class Partners:
    """Occurrences of a table: those of one value from `oldest` to `newest`, except those of the probe's own
    `source`."""

    table: OccurrenceTable
    newest: int
    oldest: int
    source: int
    count: int
    sources: int

    def __len__(self) -> int:
        return self.count

    def whole(self) -> Integers:
        """The value's list, including the probe's own source, in order."""
        return self.table.chain(self.newest, self.oldest)

    def occurrences(self) -> Integers:
        """All partners, in order."""
        found = self.whole()
        others: Integers = found[self.table.sources(found) != self.source]
        return others

    def of(self, source: int) -> Integers:
        """The sublist of one stream; it is empty for the probe's own."""
        found = self.occurrences()
        theirs: Integers = found[self.table.sources(found) == source]
        return theirs

    def sublists(self) -> Iterator[tuple[int, Integers]]:
        """Every stream with its sublist, by stream."""
        found = self.occurrences()
        of = self.table.sources(found)
        order = np.argsort(of, kind="stable")
        streams, begins, lengths = np.unique(of[order], return_index=True, return_counts=True)
        ordered = found[order]
        ranges = zip(streams.tolist(), begins.tolist(), (begins + lengths).tolist(), strict=True)
        return ((stream, ordered[low:high]) for stream, low, high in ranges)

    def combinations(self) -> int:
        """The number of rows of the Cartesian product of the sublists."""
        lengths = np.unique(self.table.sources(self.occurrences()), return_counts=True)[1]
        # Only a few different lengths occur, some of them thousands of times.
        each, times = np.unique(lengths, return_counts=True)
        powers = (base**exponent for base, exponent in zip(each.tolist(), times.tolist(), strict=True))
        return prod(powers) if self.count else 0

    def sample(self, count: int, offset: int) -> Integers:
        """An evenly spread sample of `count` partners; the offset is one of `spread_sample.STEPS`."""
        found = self.occurrences()
        ranks = np.arange(len(found), dtype=np.int64)
        return found[in_sample(ranks, np.full_like(ranks, len(found)), np.full_like(ranks, offset), count)]

    def since(self, earlier: Partners) -> Delta:
        """The change of the value's list since an earlier answer for the same value."""
        return Delta(self.table.chain(self.newest, max(self.oldest, earlier.newest + 1)), self.oldest)


def partners(table: OccurrenceTable, probes: Probes, row: int) -> Partners:
    """The partners of one row of the table's last probe."""
    columns = probes.newest, probes.oldest, probes.source, probes.partners, probes.sources
    return Partners(table, *(int(column[row]) for column in columns))
