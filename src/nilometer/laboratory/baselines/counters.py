"""Counters of a baseline join's work, which the reproductions compare. No clock is read here.

Kernels add to a `Tally`, a plain array. `Counters` presents it to a reader.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PROBES, COMPARISONS, PARTIALS, OFFERED, MOST_IN_MEMORY, WRITTEN, READ = range(7)

Tally = npt.NDArray[np.float64]
"""One number for each of the above, whole but possibly huge. OFFERED counts the tuples in the probed
partitions, equal or not."""


def new_tally() -> Tally:
    """All zero."""
    return np.zeros(7)


@dataclass(frozen=True)
class Counters:
    """Counts since the join began. `written` and `read` are tuples moved to disk and read again.

    Output tuples and `partials` (the partial results of all steps before the last) are floats, because a join
    that only counts may exceed the range of integers.
    """

    arrivals: int
    probes: int
    comparisons: int
    partials: float
    output_tuples: float
    output_cells: float
    in_memory: int
    most_in_memory: int
    written: int
    read: int


def counters(tally: Tally, arrivals: int, outputs: float, arity: int, in_memory: int) -> Counters:
    """The counters of a tally, completed by the given values."""
    return Counters(
        arrivals=arrivals,
        probes=int(tally[PROBES]),
        comparisons=int(tally[COMPARISONS]),
        partials=float(tally[PARTIALS]),
        output_tuples=outputs,
        output_cells=outputs * arity,
        in_memory=in_memory,
        most_in_memory=int(tally[MOST_IN_MEMORY]),
        written=int(tally[WRITTEN]),
        read=int(tally[READ]),
    )
