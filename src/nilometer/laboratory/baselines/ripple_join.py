"""Ripple join: pairs of two relations in random order, and after every batch an estimate of SUM over the
whole join.

Haas and Hellerstein (1999), as in algorithms, section 3.2. Each step takes `betas` new tuples of the
relations (1 and 1: the square ripple, `ripple_order`) and joins them with everything seen so far. The hash
form is the symmetric hash join on such input. The nested-loop form takes any band |value - value'| <= reach.
After n and m tuples of N and M

    estimate = N M / (n m) * sum over the pairs seen of measure * measure'

which is COUNT(*) if all measures are 1. Its confidence interval follows from the central limit theorem: with
y the sum over a tuple's pairs, times N M / m (or N M / n), the variance is var(y) / n (1 - n/N) + var(y') / m
(1 - m/M). The last factors account for drawing without replacement: once all tuples are seen the estimate is
the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from nilometer.kernels.arrays import Floats, Integers
from nilometer.laboratory.baselines.arrivals import NO_WINDOW, Arrivals
from nilometer.laboratory.baselines.counters import Counters, counters, new_tally
from nilometer.laboratory.baselines.nested_loops import NestedLoops
from nilometer.laboratory.baselines.two_tables import TwoTables
from nilometer.operators.validation import require


@dataclass(frozen=True)
class RippleJoinSpec:
    """The sizes of both relations. `reach` selects the nested-loop form for values at most that far apart
    (None: the hash form, equal values)."""

    sizes: tuple[int, int]
    reach: float | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        require(min(self.sizes) > 0, f"relations of {self.sizes} tuples")
        require(self.reach is None or self.reach >= 0, f"reach {self.reach}")
        require(0 < self.confidence < 1, f"confidence {self.confidence}")


@dataclass(frozen=True)
class Estimate:
    """An estimate of a SUM, with the half width of its interval. The width is infinite until two tuples of
    each relation were seen."""

    value: float
    half_width: float


def ripple_order(sizes: tuple[int, int], betas: tuple[int, int] = (1, 1)) -> Integers:
    """The sources of arrivals, step after step, until both relations have ended.

    >>> ripple_order((2, 4), (1, 2)).tolist()
    [0, 1, 1, 0, 1, 1]
    """
    step = np.concatenate([np.arange(size) // beta for size, beta in zip(sizes, betas, strict=True)])
    sources = np.repeat(np.array([0, 1], dtype=np.int64), sizes)
    return sources[np.lexsort((sources, step))]


class RippleJoin:
    """Joins relations 0 and 1. Times are ignored."""

    def __init__(self, spec: RippleJoinSpec) -> None:
        self.spec = spec
        self._tables = TwoTables()
        self._loops: NestedLoops | None = None
        self._rows: list[Integers] = [np.empty(0, dtype=np.int64)] * 2
        self._measures: list[Floats] = [np.empty(0, dtype=np.float64)] * 2
        self._sums: list[Floats] = [np.empty(0, dtype=np.float64)] * 2
        self._tally = new_tally()
        self._arrivals = 0
        self._outputs = 0

    def feed(self, arrivals: Arrivals, measures: Floats | None = None) -> Integers:
        """The new pairs, as rows (row of relation 0, row of relation 1). `measures` has one per arrival
        (None: 1 each)."""
        measures = np.ones(len(arrivals)) if measures is None else measures
        # Internally a tuple's row is its number in the sample: sums are kept by it.
        numbers = np.empty(len(arrivals), dtype=np.int64)
        for source in (0, 1):
            mine = arrivals.sources == source
            before, new = len(self._rows[source]), int(np.count_nonzero(mine))
            require(before + new <= self.spec.sizes[source], f"more tuples than relation {source} has")
            numbers[mine] = np.arange(before, before + new)
            self._rows[source] = np.concatenate((self._rows[source], arrivals.rows[mine]))
            self._measures[source] = np.concatenate((self._measures[source], measures[mine]))
            self._sums[source] = np.concatenate((self._sums[source], np.zeros(new)))
        pairs = self._pairs(
            Arrivals(np.zeros_like(arrivals.times), arrivals.sources, arrivals.values, numbers)
        )
        products = self._measures[0][pairs[:, 0]] * self._measures[1][pairs[:, 1]]
        for source in (0, 1):
            sums = self._sums[source]
            sums += np.bincount(pairs[:, source], weights=products, minlength=len(sums))
        self._arrivals += len(arrivals)
        self._outputs += len(pairs)
        return np.column_stack((self._rows[0][pairs[:, 0]], self._rows[1][pairs[:, 1]]))

    @property
    def estimate(self) -> Estimate:
        """The estimated SUM of measure * measure' over the join of both relations, from the tuples seen so
        far."""
        seen = [len(sums) for sums in self._sums]
        if min(seen) == 0:
            return Estimate(0.0, math.inf)
        size = float(self.spec.sizes[0]) * float(self.spec.sizes[1])
        value = size / (seen[0] * seen[1]) * float(self._sums[0].sum())
        variance = 0.0
        for source in (0, 1):
            left = 1 - seen[source] / self.spec.sizes[source]
            if left > 0:
                if seen[source] < 2:
                    return Estimate(value, math.inf)
                spread = float(np.var(self._sums[source] * (size / seen[1 - source]), ddof=1))
                variance += spread / seen[source] * left
        return Estimate(value, NormalDist().inv_cdf((1 + self.spec.confidence) / 2) * math.sqrt(variance))

    @property
    def counters(self) -> Counters:
        """The counters so far."""
        held = len(self._tables) if self._loops is None else len(self._loops)
        return counters(self._tally, self._arrivals, self._outputs, 2, held)

    def _pairs(self, arrivals: Arrivals) -> Integers:
        if self.spec.reach is None:
            return self._tables.feed(arrivals, NO_WINDOW, self._tally)
        if self._loops is None:
            kind = np.int64 if arrivals.values.dtype == np.int64 else np.float64
            self._loops = NestedLoops(2, kind, self.spec.reach)
        return self._loops.feed(arrivals, NO_WINDOW, self._tally)
