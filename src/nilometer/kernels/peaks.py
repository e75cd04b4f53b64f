"""The peaks of spectra: counts per channel -> energy, area and significance of each peak.

1. The baseline is SNIP's: the spectrum is smoothed by a mean over one window, compressed by log(log(sqrt(x + 1) + 1) + 1),
   and clipped at the mean of its neighbours p channels away, for p from twice the half window down to 1 (Ryan et al.,
   Nuclear Instruments and Methods B34, 1988; Morhac et al., A401, 1997). Smoothing first keeps noise from pulling the
   baseline down: a minimum over noise lies below its mean.
2. A window stands around each channel. Its significance is (gross - base) / sqrt(gross + base).
3. A peak is a channel whose significance is at least `least`, and the greatest within a window's width. Of several
   equal ones it is the first. Its energy is the centroid of what stands above the baseline.

The half window is 1.5 (keV: that of a germanium detector), or half of the detector's width FWHM(E), which grows with
the root of the energy.

>>> counts = np.full(64, 4.0)
>>> counts[30:33] = 40.0, 90.0, 40.0
>>> starts, found = peaks_of(
...     counts.reshape(1, -1), np.zeros(1), np.full(1, 0.5), np.full(1, 5.0), np.zeros(1)
... )
>>> starts, found[0].round(2)
(array([0, 1]), array([ 15.5, 158. ,  10.8]))
"""

from __future__ import annotations

import math

import numba
import numpy as np

HALF_WINDOW = 1.5
"""Half of the window around a peak of a germanium detector, in keV."""
REFERENCE = 662.0
"""The energy at which a detector's width is given, in keV: that of Cs-137."""


@numba.njit(cache=True)
def half_windows(size, e0, gain, width):  # type: ignore[no-untyped-def]
    """Half of the window around each channel, in channels."""
    halves = np.empty(size, dtype=np.int64)
    for channel in range(size):
        half = HALF_WINDOW
        if width > 0.0:
            half = width / 2.0 * math.sqrt(max(e0 + gain * channel, 1.0) / REFERENCE)
        halves[channel] = min(max(1, int(half / gain + 0.5)), size)
    return halves


@numba.njit(cache=True)
def baseline(counts, halves):  # type: ignore[no-untyped-def]
    """SNIP's baseline of a smoothed spectrum."""
    size = len(counts)
    level = np.empty(size)
    most = 1
    for channel in range(size):
        half = halves[channel]
        most = max(most, 2 * half)
        total = 0.0
        first, last = max(channel - half, 0), min(channel + half + 1, size)
        for place in range(first, last):
            total += counts[place]
        level[channel] = math.log(math.log(math.sqrt(total / (last - first) + 1.0) + 1.0) + 1.0)
    clipped = level.copy()
    for reach in range(most, 0, -1):
        for channel in range(reach, size - reach):
            if reach <= 2 * halves[channel]:
                clipped[channel] = min(
                    level[channel], (level[channel - reach] + level[channel + reach]) / 2.0
                )
        level[:] = clipped
    for channel in range(size):
        root = math.exp(math.exp(level[channel]) - 1.0) - 1.0
        level[channel] = root * root - 1.0
    return level


@numba.njit(cache=True)
def _peaks(counts, e0, gain, least, width):  # type: ignore[no-untyped-def]
    size = len(counts)
    halves = half_windows(size, e0, gain, width)
    base = baseline(counts, halves)
    significance, area = np.zeros(size), np.zeros(size)
    for channel in range(size):
        gross = below = 0.0
        for place in range(max(channel - halves[channel], 0), min(channel + halves[channel] + 1, size)):
            gross += counts[place]
            below += base[place]
        area[channel] = gross - below
        if gross + below > 0.0:
            significance[channel] = (gross - below) / math.sqrt(gross + below)
    found = np.empty((size, 3))
    count = 0
    for channel in range(size):
        own = significance[channel]
        if own < least or own <= 0.0:
            continue
        reach = 2 * halves[channel]
        greatest = True
        for place in range(max(channel - reach, 0), min(channel + reach + 1, size)):
            if significance[place] > own or (significance[place] == own and place < channel):
                greatest = False
                break
        if not greatest:
            continue
        above = moment = 0.0
        for place in range(max(channel - halves[channel], 0), min(channel + halves[channel] + 1, size)):
            net = max(counts[place] - base[place], 0.0)
            above += net
            moment += net * place
        found[count, 0] = e0 + gain * (moment / above)
        found[count, 1] = area[channel]
        found[count, 2] = own
        count += 1
    return found[:count].copy()


@numba.njit(cache=True)
def peaks_of(spectra, e0, gain, least, width):  # type: ignore[no-untyped-def]
    """The peaks of each row of a matrix of counts: those of row i are found[starts[i]:starts[i + 1]], each with its
    energy, area and significance. Counts below 0 are taken as 0; a gain that is not above 0 has no peaks.
    """
    rows = spectra.shape[0]
    starts = np.zeros(rows + 1, dtype=np.int64)
    parts = [np.empty((0, 3))]
    for row in range(rows):
        starts[row + 1] = starts[row]
        if gain[row] > 0.0:
            part = _peaks(np.maximum(spectra[row], 0.0), e0[row], gain[row], least[row], width[row])
            parts.append(part)
            starts[row + 1] += len(part)
    found = np.empty((starts[rows], 3))
    place = 0
    for part in parts:
        found[place : place + len(part)] = part
        place += len(part)
    return starts, found
