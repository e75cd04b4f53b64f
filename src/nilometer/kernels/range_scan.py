"""Nested loops over ranges: for each probe, compares every row of a range and returns those with its number.

This is a step of STEAM's NLW-join (section 6.2.2): time has narrowed the other stream to a range, and every
row in it is compared. The law: the pairs are those of `ranges.expand` whose numbers are equal and known, in
its order, in chunks of at most `limit`.

>>> ones = np.array([7, 8, 7], dtype=np.uint64)
>>> list(equal_in_ranges(ones[:1], None, np.array([0]), np.array([3]), ones, None, 10))
[(array([0, 0]), array([0, 2]))]
"""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np

from nilometer.kernels.arrays import Booleans, Integers, Words
from nilometer.kernels.ranges import first_size
from nilometer.kernels.read_only import read_only

_ALL = read_only(np.ones(0, dtype=np.bool_))


def equal_in_ranges(
    numbers: Words,
    known: Booleans | None,
    first: Integers,
    end: Integers,
    row_numbers: Words,
    row_known: Booleans | None,
    limit: int,
) -> Iterator[tuple[Integers, Integers]]:
    """The pairs of probe and row; `known` says which of them have a number at all (None: all)."""
    given = (
        read_only(numbers),
        _ALL if known is None else read_only(known),
        read_only(first),
        read_only(end),
        read_only(row_numbers),
        _ALL if row_known is None else read_only(row_known),
    )
    probe, row = 0, np.int64(-1)
    size = first_size(len(numbers), limit)
    while probe < len(numbers):
        owners, rows = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
        probe, row, count = scan(*given, probe, row, owners, rows)
        size = limit
        if count:
            yield owners[:count], rows[:count]


@numba.njit(cache=True)
def scan(  # type: ignore[no-untyped-def]
    numbers, known, first, end, row_numbers, row_known, probe, row, owners, found
):
    """Fill `owners` and `found`, starting at this probe and within it at this row (-1: its first). Returns
    where it stopped, and how many pairs it found."""
    masked, rows_masked = len(known) > 0, len(row_known) > 0
    count = 0
    while probe < len(numbers):
        if masked and not known[probe]:
            probe, row = probe + 1, np.int64(-1)
            continue
        number, stop = numbers[probe], end[probe]
        if row < 0:
            row = first[probe]
        while row < stop:
            if row_numbers[row] == number and (not rows_masked or row_known[row]):
                if count == len(owners):
                    return probe, row, count
                owners[count] = probe
                found[count] = row
                count += 1
            row += 1
        probe, row = probe + 1, np.int64(-1)
    return probe, row, count
