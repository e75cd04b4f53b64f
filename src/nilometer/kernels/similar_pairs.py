"""Similar pairs: the pairs (probe, earlier) of readings of different sources (SNJoin, Definition 1).

It is a band join of the readings with themselves, by sorting and binary search. The law: rows 0, 1, ... are
in the order (time, id, position); probe p pairs with every q < p with source q != source p, time p - time q
<= window (one for all, or q's own) and |value p - value q| <= epsilon, each pair once. Candidates are one
range per probe: a range of equal values in time order if epsilon is 0, else of the value order or the time
order, whichever promises fewer. Conditions that a range cannot express are tested pair by pair, in chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nilometer.kernels.arrays import Integers
from nilometer.kernels.candidates import expand_in_chunks, group_order, group_ranges

Values = npt.NDArray[np.int64] | npt.NDArray[np.float64]

PAIRS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class SimilarRows:
    """Rows in order, when two of them are similar, and how long each can be joined."""

    times: Integers
    sources: Integers
    values: Values
    epsilon: float
    window: int | Integers

    def oldest(self, probes: Integers) -> Integers:
        """The first row that may be within the window of each probe."""
        longest = self.window if isinstance(self.window, int) else int(self.window.max(initial=0))
        return np.searchsorted(self.times, self.times[probes] - longest, side="left").astype(np.int64)


@dataclass(frozen=True)
class _Ranges:
    """For each probe a range of `order`, a permutation of the rows."""

    low: Integers
    high: Integers
    order: Integers


def similar_pairs(rows: SimilarRows, probes: Integers) -> tuple[Integers, Integers]:
    """The pairs of the given probes, ordered by probe and then by the earlier row's number."""
    found = list(_found(rows, probes))
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    probe = np.concatenate([pair[0] for pair in found])
    other = np.concatenate([pair[1] for pair in found])
    order = np.lexsort((other, probe))
    return probe[order], other[order]


def similar_partners(rows: SimilarRows, probes: Integers) -> Integers:
    """The number of pairs of each probe; the pairs are counted, not held."""
    counts = np.zeros(len(rows.times), dtype=np.int64)
    for probe, _ in _found(rows, probes):
        counts += np.bincount(probe, minlength=len(counts))
    return counts[probes]


def similar_candidates(rows: SimilarRows, probes: Integers) -> Integers:
    """An upper bound of each probe's number of pairs, which is cheap to compute."""
    ranges = _candidates(rows, probes)
    found: Integers = np.maximum(ranges.high - ranges.low, 0)
    return found


def _found(rows: SimilarRows, probes: Integers) -> Iterator[tuple[Integers, Integers]]:
    """The pairs, a chunk at a time, in no particular order."""
    times, sources, values, window = rows.times, rows.sources, rows.values, rows.window
    lowest, highest = value_bounds(values, rows.epsilon)
    oldest, ranges = rows.oldest(probes), _candidates(rows, probes)
    for owners, places in expand_in_chunks(ranges.low, ranges.high, PAIRS_AT_ONCE):
        probe, other = probes[owners], ranges.order[places]
        holds = (other < probe) & (other >= oldest[owners]) & (sources[other] != sources[probe])
        if not isinstance(window, int):
            holds &= times[probe] - times[other] <= window[other]
        if values.dtype == np.int64:
            holds &= (values[other] >= lowest[probe]) & (values[other] <= highest[probe])
        else:
            with np.errstate(over="ignore"):  # an overflow means far apart
                holds &= np.abs(values[probe] - values[other]) <= rows.epsilon
        yield probe[holds], other[holds]


def value_bounds(values: Values, epsilon: float) -> tuple[Values, Values]:
    """The least and the greatest value that each may pair with: exact for integers, slightly too wide for
    floats."""
    if values.dtype == np.int64:
        # As unsigned distances from the least integer, no difference of two values overflows.
        reach, places = reach_of(epsilon), from_least(values.astype(np.int64, copy=False))
        lowest = places - np.minimum(places, reach)
        highest = places + np.minimum(~places, reach)
        lowest, highest = (from_least(bound.view(np.int64)) for bound in (lowest, highest))
        return lowest.view(np.int64), highest.view(np.int64)
    with np.errstate(over="ignore"):  # then every greater, or smaller, value is near enough
        slack = (np.abs(values) + epsilon) * 2.0**-50
        return values - epsilon - slack, values + epsilon + slack


def reach_of(epsilon: float) -> np.uint64:
    """The greatest difference between similar whole numbers; it is a whole number, too."""
    return np.uint64(min(int(min(epsilon, 2.0**64)), 2**64 - 1))


def from_least(values: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Integers as their distance from the least one, and back again: it flips one bit.

    >>> from_least(np.array([-(2**63), 0])).tolist()
    [0, 9223372036854775808]
    """
    turned: npt.NDArray[np.uint64] = np.ascontiguousarray(values).view(np.uint64) ^ np.uint64(1 << 63)
    return turned


def _candidates(rows: SimilarRows, probes: Integers) -> _Ranges:
    values, oldest = rows.values, rows.oldest(probes)
    everything = np.arange(len(values), dtype=np.int64)
    if rows.epsilon < 1 if values.dtype == np.int64 else rows.epsilon == 0:
        codes = np.unique(values, return_inverse=True)[1].astype(np.int64)
        order = group_order(codes, everything)
        low, high = group_ranges(codes[order], everything[order], codes[probes], oldest, probes - 1)
        return _Ranges(low, high, order)
    lowest, highest = value_bounds(values, rows.epsilon)
    by_value = np.argsort(values, kind="stable").astype(np.int64)
    ordered = values[by_value]
    low = np.searchsorted(ordered, lowest[probes], side="left").astype(np.int64)
    high = np.searchsorted(ordered, highest[probes], side="right").astype(np.int64)
    if (probes - oldest).sum() <= (high - low).sum():
        return _Ranges(oldest, probes, everything)
    return _Ranges(low, high, by_value)
