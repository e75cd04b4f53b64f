"""Similar pairs: values in time order -> (probe, earlier) pairs of other sources with like values (SNJoin, Definition 1).

The law: rows 0, 1, ... are in the order (time, id, position); probe p pairs with every q < p with source q != source p,
time p - time q <= window (one for all, or q's own) and |value p - value q| <= epsilon, each pair once. Candidates are one range per probe: of
equal values in time order if epsilon is 0, else whichever of value order and time order promises fewer; what a range
cannot say is tested pair by pair, in chunks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nilometer.kernels.candidates import expand_in_chunks, group_order, group_ranges
from nilometer.kernels.ranges import Integers

Values = npt.NDArray[np.int64] | npt.NDArray[np.float64]

PAIRS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class _Ranges:
    """Per probe a range of `order`, a permutation of the rows."""

    low: Integers
    high: Integers
    order: Integers


def similar_pairs(
    times: Integers,
    sources: Integers,
    values: Values,
    probes: Integers,
    epsilon: float,
    window: int | Integers,
) -> tuple[Integers, Integers]:
    """The pairs of the given probes, in order of probes and, of one probe, of the earlier row's number."""
    lowest, highest = value_bounds(values, epsilon)
    longest = window if isinstance(window, int) else int(window.max(initial=0))
    oldest = np.searchsorted(times, times[probes] - longest, side="left").astype(np.int64)
    ranges = _candidates(values, probes, oldest, lowest, highest, epsilon)
    found: list[tuple[Integers, Integers]] = []
    for owners, places in expand_in_chunks(ranges.low, ranges.high, PAIRS_AT_ONCE):
        probe, other = probes[owners], ranges.order[places]
        holds = (other < probe) & (other >= oldest[owners]) & (sources[other] != sources[probe])
        if not isinstance(window, int):
            holds &= times[probe] - times[other] <= window[other]
        if values.dtype == np.int64:
            holds &= (values[other] >= lowest[probe]) & (values[other] <= highest[probe])
        else:
            holds &= np.abs(values[probe] - values[other]) <= epsilon
        found.append((probe[holds], other[holds]))
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    probe = np.concatenate([pair[0] for pair in found])
    other = np.concatenate([pair[1] for pair in found])
    order = np.lexsort((other, probe))
    return probe[order], other[order]


def value_bounds(values: Values, epsilon: float) -> tuple[Values, Values]:
    """The least and the greatest value that each may pair with: exact for integers, a little too wide for floats."""
    if values.dtype == np.int64:
        # Counted from the least integer, unsigned: no difference of two is too large then.
        reach, places = reach_of(epsilon), from_least(values.astype(np.int64, copy=False))
        lowest = places - np.minimum(places, reach)
        highest = places + np.minimum(~places, reach)
        lowest, highest = (from_least(bound.view(np.int64)) for bound in (lowest, highest))
        return lowest.view(np.int64), highest.view(np.int64)
    slack = (np.abs(values) + epsilon) * 2.0**-50
    return values - epsilon - slack, values + epsilon + slack


def reach_of(epsilon: float) -> np.uint64:
    """How far apart whole numbers may be: whole numbers differ by whole numbers."""
    return np.uint64(min(int(min(epsilon, 2.0**64)), 2**64 - 1))


def from_least(values: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Integers as their distance from the least one; and the other way round, for it turns one bit.

    >>> from_least(np.array([-(2**63), 0])).tolist()
    [0, 9223372036854775808]
    """
    turned: npt.NDArray[np.uint64] = np.ascontiguousarray(values).view(np.uint64) ^ np.uint64(1 << 63)
    return turned


def _candidates(
    values: Values, probes: Integers, oldest: Integers, lowest: Values, highest: Values, epsilon: float
) -> _Ranges:
    everything = np.arange(len(values), dtype=np.int64)
    if epsilon < 1 if values.dtype == np.int64 else epsilon == 0:
        codes = np.unique(values, return_inverse=True)[1].astype(np.int64)
        order = group_order(codes, everything)
        low, high = group_ranges(codes[order], everything[order], codes[probes], oldest, probes - 1)
        return _Ranges(low, high, order)
    by_value = np.argsort(values, kind="stable").astype(np.int64)
    ordered = values[by_value]
    low = np.searchsorted(ordered, lowest[probes], side="left").astype(np.int64)
    high = np.searchsorted(ordered, highest[probes], side="right").astype(np.int64)
    if (probes - oldest).sum() <= (high - low).sum():
        return _Ranges(oldest, probes, everything)
    return _Ranges(low, high, by_value)
