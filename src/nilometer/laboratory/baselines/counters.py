"""Counters: what a baseline join did, in numbers that the reproductions compare; no clock is read here.

Kernels add to a `Tally`, a plain array; `Counters` is what a reader sees of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PROBES, COMPARISONS, PARTIALS, OFFERED, MOST_IN_MEMORY, WRITTEN, READ = range(7)

Tally = npt.NDArray[np.float64]
"""One number for each of the above, whole but perhaps huge. OFFERED: tuples in the partitions that were probed, equal or not."""


def new_tally() -> Tally:
    """All zero."""
    return np.zeros(7)


@dataclass(frozen=True)
class Counters:
    """Since the join began; `written` and `read` are tuples moved to disk and read again.

    Output tuples and `partials`, the partial results of all steps before the last, are floats: a join that only counts may
    count beyond all whole numbers.
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
    """What stands in the tally, and beside it."""
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
