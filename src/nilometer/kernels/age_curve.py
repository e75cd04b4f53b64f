"""Learns a tuple's worth by its age while a join runs: Srivastava and Widom's age-based model (VLDB 2004).

p(age) is `matches` per age divided by `exposures` (pairs of a kept tuple of that age and an arriving tuple).
Keeping a tuple from age a to age k brings C(k) - C(a) matches for k - a of memory and time, where C sums p.
So it is worth, at best,

    V(a) = max over k > a of (C(k) - C(a)) / (k - a)

This is the paper's rule in every case. If p falls, the newest tuples are kept; if p rises, the oldest; with a
peak at k*, all up to k*, and those near it first. An age that no kept tuple has reached counts as rich (one
match in one exposure), so that it is tried.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Floats, Integers

AGES = 32
"""The number of ages, of equal length, from 0 to the window's width."""
MEMORY = 1_048_576.0
"""After this many exposures all counts are halved, so that the curve follows a drift and tries lost ages
again."""


class AgeCurve:
    """Matches and exposures by age; `reach` is the greatest age."""

    def __init__(self, reach: int) -> None:
        self._length = max(1, -(-(reach + 1) // AGES))
        self._matches = np.zeros(AGES)
        self._exposures = np.zeros(AGES)

    def places(self, ages: Integers) -> npt.NDArray[np.intp]:
        """The index of each age among the AGES."""
        return np.clip(ages // self._length, 0, AGES - 1).astype(np.intp)

    def matched(self, ages: Integers) -> None:
        """Counts one result for each age: a tuple of that age took part in it."""
        self._matches += np.bincount(self.places(ages), minlength=AGES)

    def exposed(self, ages: Integers, comers: int) -> None:
        """Counts tuples of these ages that were kept while `comers` tuples arrived that they might join."""
        self._exposures += np.bincount(self.places(ages), minlength=AGES) * float(comers)
        if self._exposures.sum() > MEMORY:
            self._exposures /= 2
            self._matches /= 2

    def worth(self, ages: Integers) -> Floats:
        """V of each age."""
        productive = (self._matches + 1.0) / (self._exposures + 1.0)
        sums = np.concatenate([[0.0], np.cumsum(productive)])
        best = np.array(
            [
                ((sums[start + 1 :] - sums[start]) / np.arange(1, AGES - start + 1)).max()
                for start in range(AGES)
            ]
        )
        # Rounded, because ages of equal worth must not differ by the order of the additions.
        return np.asarray(np.round(best, 12)[self.places(ages)], dtype=np.float64)

    def to_bytes(self) -> bytes:
        """The whole state."""
        return self._matches.tobytes() + self._exposures.tobytes()

    def restore(self, data: bytes) -> None:
        """Restore the state that `to_bytes` returned."""
        self._matches, self._exposures = np.frombuffer(data).reshape(2, AGES).copy()
