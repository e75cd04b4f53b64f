"""Segments with their counts -> all frequent sets of letters, depth first (Eclat over positions).

`segments[r, i]` is the symbol of segment r at position i, -1 for none. A letter is a pair of position and symbol. The set
of segments that have the letters chosen so far is kept at each depth, so that one more letter costs one pass over it.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def frequent(segments, weights, least, most_letters, maximal, limit):  # type: ignore[no-untyped-def]
    """The patterns of one source: a matrix of symbols (-1: any), and their counts. More than `limit` are not listed; the
    last value is how many were found."""
    rows, period = segments.shape
    total = weights.sum()
    positions, symbols = _letters(segments, weights, total, least)
    letters = len(positions)
    depth_most = min(most_letters, period)
    covers = np.zeros((depth_most + 1, rows), dtype=np.bool_)
    covers[0] = True
    chosen = np.zeros(depth_most + 1, dtype=np.int64)
    upcoming = np.zeros(depth_most + 2, dtype=np.int64)
    found = np.full((64, period), -1, dtype=np.int32)
    counts = np.zeros(64, dtype=np.int64)
    count, depth = 0, 0
    while depth >= 0:
        letter = upcoming[depth]
        if depth == depth_most or letter == letters:
            depth -= 1
            continue
        upcoming[depth] += 1
        if depth > 0 and positions[letter] <= positions[chosen[depth - 1]]:
            continue
        support = 0
        for row in range(rows):
            has = covers[depth, row] and segments[row, positions[letter]] == symbols[letter]
            covers[depth + 1, row] = has
            support += weights[row] * has
        if support == 0 or support / total < least:
            continue
        chosen[depth] = letter
        depth += 1
        upcoming[depth] = letter + 1
        if (
            maximal
            and depth < depth_most
            and _contained(segments, weights, covers[depth], positions, symbols, chosen, depth, support)
        ):
            continue
        if count < limit:
            if count == len(counts):
                more = np.full((2 * count, period), -1, dtype=np.int32)
                more[:count] = found
                found = more
                grown = np.zeros(2 * count, dtype=np.int64)
                grown[:count] = counts
                counts = grown
            for place in range(depth):
                found[count, positions[chosen[place]]] = symbols[chosen[place]]
            counts[count] = support
        elif count > limit:
            break
        count += 1
    kept = min(count, limit)
    return found[:kept], counts[:kept], count


@numba.njit(cache=True)
def _letters(segments, weights, total, least):  # type: ignore[no-untyped-def]
    """The frequent letters, by position and symbol."""
    period, codes = segments.shape[1], segments.max() + 1
    positions = np.empty(period * codes, dtype=np.int64)
    symbols = np.empty(period * codes, dtype=np.int32)
    count = 0
    for position in range(period):
        supports = np.zeros(codes, dtype=np.int64)
        for row in range(len(segments)):
            if segments[row, position] >= 0:
                supports[segments[row, position]] += weights[row]
        for code in range(codes):
            if supports[code] > 0 and supports[code] / total >= least:
                positions[count], symbols[count] = position, code
                count += 1
    return positions[:count], symbols[:count]


@numba.njit(cache=True)
def _contained(segments, weights, cover, positions, symbols, chosen, depth, support):  # type: ignore[no-untyped-def]
    """Whether one more letter is in all segments of the cover."""
    for letter in range(len(positions)):
        own = False
        for place in range(depth):
            own |= positions[chosen[place]] == positions[letter]
        if own:
            continue
        with_it = 0
        for row in range(len(cover)):
            if cover[row] and segments[row, positions[letter]] == symbols[letter]:
                with_it += weights[row]
        if with_it == support:
            return True
    return False


@numba.njit(cache=True)
def all_frequent(segments, weights, starts, least, most_letters, maximal, limit):  # type: ignore[no-untyped-def]
    """As `frequent`, of several sources: that of number s has the rows from `starts[s]` to `starts[s + 1]`. Returns
    sources, symbols, counts, and how many patterns were found."""
    period = segments.shape[1]
    found = np.empty((64, period), dtype=np.int32)
    counts, owners = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64)
    count = 0
    for source in range(len(starts) - 1):
        first, last = starts[source], starts[source + 1]
        if first == last:
            continue
        own, support, number = frequent(
            segments[first:last], weights[first:last], least, most_letters, maximal, limit - count
        )
        if count + number > limit:
            return owners[:0], found[:0], counts[:0], count + number
        if count + number > len(counts):
            room = 2 * (count + number)
            more_found = np.empty((room, period), dtype=np.int32)
            more_found[:count] = found[:count]
            more_counts, more_owners = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
            more_counts[:count], more_owners[:count] = counts[:count], owners[:count]
            found, counts, owners = more_found, more_counts, more_owners
        found[count : count + number], counts[count : count + number] = own, support
        owners[count : count + number] = source
        count += number
    return owners[:count], found[:count], counts[:count], count
