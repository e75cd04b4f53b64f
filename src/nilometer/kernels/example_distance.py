"""The distance of every subsequence to an example, and the choice of the nearest ones that do not overlap."""

from __future__ import annotations

import math

import numba
import numpy as np

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
def pick(groups, begins, lengths, most, kept):  # type: ignore[no-untyped-def]
    """Of rows by group and distance, keeps the first `most` of each group that overlap none kept before. All rows of a
    group have one length."""
    taken = 0
    begun = np.empty(most, dtype=np.int64)
    for row in range(len(groups)):
        if row > 0 and groups[row] != groups[row - 1]:
            taken = 0
        kept[row] = taken < most
        for earlier in range(taken):
            kept[row] = kept[row] and abs(begins[row] - begun[earlier]) >= lengths[row]
        if kept[row]:
            begun[taken] = begins[row]
            taken += 1
