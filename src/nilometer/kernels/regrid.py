"""Puts spectra onto another axis: counts per channel -> counts per bin, each channel spread evenly over its width.

Channel j reaches from e0 + gain (j - 1/2) to e0 + gain (j + 1/2), and bin k from k width to (k + 1) width. Counts are
kept, but for those outside of the bins.

>>> regrid(np.array([[4.0, 8.0]]), np.array([1.0]), np.array([2.0]), 3, 2.0)
array([[4., 8., 0.]])
>>> regrid(np.array([[4.0, 8.0]]), np.array([2.0]), np.array([2.0]), 3, 2.0)
array([[2., 6., 4.]])
"""

from __future__ import annotations

import math

import numba
import numpy as np


@numba.njit(cache=True)
def regrid(spectra, e0, gain, bins, width):  # type: ignore[no-untyped-def]
    """The spectra on the new axis. A gain that is not above 0 has no counts anywhere."""
    rows, channels = spectra.shape
    found = np.zeros((rows, bins))
    for row in range(rows):
        if not gain[row] > 0.0:
            continue
        for channel in range(channels):
            count = spectra[row, channel]
            if count == 0.0:
                continue
            low = (e0[row] + gain[row] * (channel - 0.5)) / width
            high = (e0[row] + gain[row] * (channel + 0.5)) / width
            if high <= 0.0 or low >= bins:
                continue
            first, last = max(math.floor(low), 0), min(math.ceil(high), bins)
            for place in range(first, last):
                share = (min(high, place + 1.0) - max(low, float(place))) / (high - low)
                found[row, place] += count * max(share, 0.0)
    return found
