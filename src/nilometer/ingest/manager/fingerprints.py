"""A growing set of fingerprints of eight bytes each.

The set is a list of sorted arrays, each at least twice as long as the next, as in a log-structured merge tree
(O'Neil et al. 1996). Adding n fingerprints costs n log n in any order, and a look-up is a binary search in
each of the few arrays.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Prints = npt.NDArray[np.uint64]


class Fingerprints:
    """A set of fingerprints that only grows."""

    def __init__(self) -> None:
        self._runs: list[Prints] = []

    def __len__(self) -> int:
        return sum(run.size for run in self._runs)

    def add(self, prints: Prints) -> None:
        """Add fingerprints."""
        run = np.unique(prints)
        if not run.size:
            return
        while self._runs and self._runs[-1].size < 2 * run.size:
            run = np.union1d(self._runs.pop(), run)
        self._runs.append(run)

    def has(self, prints: Prints) -> npt.NDArray[np.bool_]:
        """For each fingerprint, whether the set has it."""
        found = np.zeros(prints.size, dtype=np.bool_)
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, prints), run.size - 1)
            found |= run[places] == prints
        return found
