"""The distance of every subsequence to an example, and the choice of the nearest ones that do not overlap."""

from __future__ import annotations

import math

import numba

from nilometer.kernels.left_profile import normalise


@numba.njit(cache=True)
def compare(columns, example, raw, means, scales, found):  # type: ignore[no-untyped-def]
    """`columns[s]` are the values of source s, `found[s, i]` the distance of the subsequence that begins at i; NaN if there
    is none. `means` and `scales` are room to work in."""
    length = len(example)
    for source in range(columns.shape[0]):
        values = columns[source]
        for begin in range(found.shape[1]):
            found[source, begin] = math.nan
            whole = True
            for place in range(begin, begin + length):
                whole &= values[place] == values[place]
            if not whole:
                continue
            normalise(values, begin, length, raw, means, scales)
            total = 0.0
            for step in range(length):
                apart = example[step] - (values[begin + step] - means[begin]) * scales[begin]
                total += apart * apart
            found[source, begin] = math.sqrt(total)


@numba.njit(cache=True)
def pick(sources, begins, length, most, kept):  # type: ignore[no-untyped-def]
    """Of rows by source and distance, keeps the first `most` of each source that overlap none kept before."""
    start = 0
    for row in range(len(sources)):
        if row > 0 and sources[row] != sources[row - 1]:
            start = row
        taken, free = 0, True
        for earlier in range(start, row):
            if kept[earlier]:
                taken += 1
                free &= abs(begins[row] - begins[earlier]) >= length
        kept[row] = free and taken < most
