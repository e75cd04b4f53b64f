"""Readings by slot and source -> a block of slots x sources, with gaps filled as far as FILL allows.

>>> known, last = np.full(2, NEVER), np.zeros(2)
>>> block = np.full((4, 2), np.nan)
>>> fill_block(np.array([7, 7]), np.array([0, 1]), np.array([1.0, 2.0]), 7, 1, np.nan, block, known, last)
>>> block.T.tolist()
[[1.0, 1.0, nan, nan], [2.0, 2.0, nan, nan]]
"""

from __future__ import annotations

import numba

NEVER = -(2**62)
"""The slot of a source's last reading before there is one."""


@numba.njit(cache=True)
def fill_block(slots, sources, values, first, fill, gap, block, known, last):  # type: ignore[no-untyped-def]
    """Puts values, in the order in which later ones count, into a block of gaps that begins with slot `first`. `known`
    and `last` are the slot and the value of each source's last reading, and stay so. A gap is -1, or NaN."""
    for number in range(len(slots)):
        block[slots[number] - first, sources[number]] = values[number]
    for row in range(block.shape[0]):
        slot = first + row
        for source in range(block.shape[1]):
            value = block[row, source]
            if value == value and value != gap:
                known[source] = slot
                last[source] = value
            elif slot - known[source] <= fill:
                block[row, source] = last[source]
