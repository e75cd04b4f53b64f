"""What a multi-way join answers to a batch: per arrival how many results, and the results themselves if they were asked for.

The outer join of k streams on one attribute (SNJoin, section 4). A newly arriving tuple t of stream s joins, of every other stream
j, with L_j: the tuples of equal value that came before it and are at most the window older. Its results are

    {t} x product over j != s of ( L_j, or {NULL} where L_j is empty )

so there is at least one, t among NULLs if nothing is like it; each is as wide as there are streams. Leave out the NULLs and
these are the tuples of the variable-arity join (Definition 1), besides that one. A result is reported once, by the last of its
members to arrive, and never taken back: what a later arrival adds to it is another result. The inner join has the
same results where no L_j is empty, and none elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nilometer.kernels.arrays import Floats, Integers

CELLS_LIMIT = 500_000_000
"""As many cells a batch's results may have, 4 GB of them; beyond, ask for their count or feed smaller batches."""


@dataclass(frozen=True)
class MultiWayResult:
    """`logarithms` are of the counts, which overflow to infinity: 3 tuples in each of 2000 streams have 3**1999 results.

    `listed`: the sum of |L_j|, what a factorised result holds besides t (0 from a tree that builds: it meets products, not lists).
    `rows`, if built, has a column for each stream, -1 for NULL, and stands in the order of arrivals.
    """

    counts: Floats
    logarithms: Floats
    listed: Integers
    rows: Integers | None


def room_for(arrivals: int) -> MultiWayResult:
    """To be filled in by a kernel."""
    return MultiWayResult(
        np.zeros(arrivals), np.full(arrivals, -np.inf), np.zeros(arrivals, dtype=np.int64), None
    )
