"""Counts of equal symbols at every distance up to P, kept while slots come and go (Elfeky et al., STEAM's [16]).

A slot that arrives is compared with the P before it, one that leaves with the P behind it: O(P) each. `counts[s, a, q]` is
F2(a, l, p) of source s, where q = p (p - 1) / 2 + l and l = slot mod p; of segments there is one "symbol", and q = p.
The naive twin is a product of FFTs, symbol by symbol, in tests/mining.
"""

from __future__ import annotations

import numba
import numpy as np

NONE = -(2**62)


@numba.njit(cache=True)
def leave(ring, counts, begins, first, last, end, longest, segments):  # type: ignore[no-untyped-def]
    """Slots `first` ... `last` - 1 leave; the ring holds those up to `end` - 1."""
    length = ring.shape[1]
    for slot in range(first, last):
        most = min(longest, end - 1 - slot)
        for source in range(ring.shape[0]):
            code = ring[source, slot % length]
            if code < 0:
                continue
            for period in range(1, most + 1):
                if ring[source, (slot + period) % length] == code:
                    if segments:
                        counts[source, 0, period] -= 1
                    else:
                        counts[source, code, period * (period - 1) // 2 + slot % period] -= 1
            ring[source, slot % length] = -1
            if begins[source] == slot:
                following = slot + 1
                while following < end and ring[source, following % length] < 0:
                    following += 1
                begins[source] = following if following < end else NONE


@numba.njit(cache=True)
def arrive(block, first, oldest, ring, counts, begins, longest, segments):  # type: ignore[no-untyped-def]
    """The block's slots arrive, the first of which is `first`; the ring holds those from `oldest` on."""
    length = ring.shape[1]
    for row in range(block.shape[0]):
        slot = first + row
        most = min(longest, slot - oldest)
        for source in range(block.shape[1]):
            code = block[row, source]
            if code < 0:
                continue
            for period in range(1, most + 1):
                if ring[source, (slot - period) % length] == code:
                    if segments:
                        counts[source, 0, period] += 1
                    else:
                        counts[source, code, period * (period - 1) // 2 + slot % period] += 1
            ring[source, slot % length] = code
            if begins[source] == NONE:
                begins[source] = slot


@numba.njit(cache=True)
def _found(counts, begin, end, source, code, period, place, least):  # type: ignore[no-untyped-def]
    """The count, and how many there could be if the confidence is enough; else 0."""
    count = counts[source, code, period * (period - 1) // 2 + place]
    of = -((begin - end + (place - begin) % period) // period) - 1
    return count, of if of >= 1 and count / of >= least else 0


@numba.njit(cache=True)
def _put(row, source, period, code, place, count, of):  # type: ignore[no-untyped-def]
    row[0], row[1], row[2] = source, period, code
    row[3], row[4], row[5] = place, count, of


@numba.njit(cache=True)
def of_symbols(counts, begins, end, longest, least, every, found):  # type: ignore[no-untyped-def]
    """Fills `found` with rows (source, period, code, position, count, of); returns how many rows there are, also beyond
    those for which there is room."""
    rows = 0
    for source in range(counts.shape[0]):
        begin = begins[source]
        if begin == NONE:
            continue
        for period in range(1, min(longest, (end - begin) // 2) + 1):
            for code in range(counts.shape[1]):
                for place in range(period):
                    if counts[source, code, period * (period - 1) // 2 + place] == 0 and least > 0:
                        continue
                    count, of = _found(counts, begin, end, source, code, period, place, least)
                    if of == 0 or count == 0:
                        continue
                    if not every:
                        divided = False
                        for divisor in range(1, period // 2 + 1):
                            if period % divisor == 0:
                                n, m = _found(
                                    counts, begin, end, source, code, divisor, place % divisor, least
                                )
                                divided |= m > 0 and n > 0
                        if divided:
                            continue
                    if rows < len(found):
                        _put(found[rows], source, period, code, place, count, of)
                    rows += 1
    return rows


@numba.njit(cache=True)
def of_segments(counts, begins, end, longest, least, every, peaks, found):  # type: ignore[no-untyped-def]
    """As `of_symbols`, of whole sequences: code and position are -1."""
    rows = 0
    enough = np.zeros(longest + 2, dtype=np.bool_)
    for source in range(counts.shape[0]):
        begin = begins[source]
        if begin == NONE:
            continue
        length = end - begin
        most = min(longest, length // 2)
        enough[:] = False
        for period in range(1, most + 1):
            count = counts[source, 0, period]
            enough[period] = count > 0 and count / (length - period) >= least
        if peaks:
            start = 1
            while start <= most:
                if not enough[start]:
                    start += 1
                    continue
                best, stop = start, start
                while stop <= most and enough[stop]:
                    # Compared as fractions, so that no rounding decides.
                    one, other = counts[source, 0, stop], counts[source, 0, best]
                    if one * (length - best) > other * (length - stop):
                        best = stop
                    stop += 1
                enough[start:stop] = False
                enough[best] = True
                start = stop
        for period in range(1, most + 1):
            if not enough[period]:
                continue
            divided = False
            if not every:
                for divisor in range(1, period // 2 + 1):
                    divided |= period % divisor == 0 and enough[divisor]
            if divided:
                continue
            if rows < len(found):
                _put(found[rows], source, period, -1, -1, counts[source, 0, period], length - period)
            rows += 1
    return rows
