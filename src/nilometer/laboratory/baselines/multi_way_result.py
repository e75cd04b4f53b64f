"""The answer of a multi-way join to a batch: the number of results per arrival, and the results themselves if
they were built.

It is the outer join of k streams on one attribute (SNJoin, section 4). A newly arriving tuple t of stream s
joins, in every other stream j, with L_j: the tuples of equal value that came before it and are at most the
window older. Its results are

    {t} x product over j != s of ( L_j, or {NULL} where L_j is empty )

So there is at least one result: t among NULLs if no tuple has its value. Each result is as wide as the number
of streams. Without the NULLs, and apart from that one, these are the tuples of the variable-arity join
(Definition 1). A result is reported once, by the last of its members to arrive, and never taken back: a later
arrival makes another result. The inner join has the same results if no L_j is empty, and none otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.kernels.arrays import Floats, Integers

CELLS_LIMIT = 500_000_000
"""The most cells of a batch's results, 4 GB of them. For more, ask only for the count or feed smaller
batches."""


@dataclass(frozen=True)
class MultiWayResult:
    """`logarithms` are those of the counts, which overflow to infinity: 3 tuples in each of 2000 streams have
    3**1999 results.

    `listed` is the sum of |L_j|, the size of a factorised result besides t (0 from a tree that builds: it has
    products, not lists). `rows`, if built, has a column for each stream, -1 for NULL, in the order of
    arrivals.
    """

    counts: Floats
    logarithms: Floats
    listed: Integers
    rows: Integers | None


def room_for(arrivals: int) -> MultiWayResult:
    """An empty result that a kernel fills in."""
    return MultiWayResult(
        np.zeros(arrivals), np.full(arrivals, -np.inf), np.zeros(arrivals, dtype=np.int64), None
    )
