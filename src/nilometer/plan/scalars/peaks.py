"""PEAKS, spectrum by spectrum: what it means. `kernels/peaks.py` explains the steps and computes the same."""

from __future__ import annotations

import math
from typing import Any

HALF_WINDOW = 1.5
REFERENCE = 662.0


def peaks(
    vector: tuple[Any, ...], e0: float, gain: float, least: float = 5.0, width: float = 0.0
) -> list[dict[str, float]]:
    """The peaks of a spectrum, in the order of their energies."""
    if not gain > 0:
        return []
    counts = [max(float(count), 0.0) for count in vector]
    size = len(counts)

    def half(channel: int) -> int:
        length = (
            width / 2 * math.sqrt(max(e0 + gain * channel, 1.0) / REFERENCE) if width > 0 else HALF_WINDOW
        )
        return min(max(1, math.floor(length / gain + 0.5)), size)

    def around(channel: int, reach: int) -> range:
        return range(max(channel - reach, 0), min(channel + reach + 1, size))

    base = _baseline(counts, [half(channel) for channel in range(size)], around)
    windows = [around(channel, half(channel)) for channel in range(size)]
    gross = [sum(counts[place] for place in window) for window in windows]
    below = [sum(base[place] for place in window) for window in windows]
    sigma = [(g - b) / math.sqrt(g + b) if g + b > 0 else 0.0 for g, b in zip(gross, below, strict=True)]
    found = []
    for channel in range(size):
        if sigma[channel] < least or sigma[channel] <= 0:
            continue
        near = around(channel, 2 * half(channel))
        if next(place for place in near if sigma[place] == max(sigma[p] for p in near)) != channel:
            continue
        net = {place: max(counts[place] - base[place], 0.0) for place in windows[channel]}
        centre = sum(each * place for place, each in net.items()) / sum(net.values())
        area = gross[channel] - below[channel]
        found.append({"energy": e0 + gain * centre, "area": area, "sigma": sigma[channel]})
    return found


def _baseline(counts: list[float], halves: list[int], around: Any) -> list[float]:
    """SNIP: clip at the mean of two neighbours, from far neighbours to near ones."""
    smooth = [
        sum(counts[place] for place in around(channel, half)) / len(around(channel, half))
        for channel, half in enumerate(halves)
    ]
    level = [math.log(math.log(math.sqrt(each + 1) + 1) + 1) for each in smooth]
    for reach in range(max(2 * half for half in halves), 0, -1):
        level = [
            min(own, (level[channel - reach] + level[channel + reach]) / 2)
            if reach <= channel < len(level) - reach and reach <= 2 * halves[channel]
            else own
            for channel, own in enumerate(level)
        ]
    return [(math.exp(math.exp(each) - 1) - 1) ** 2 - 1 for each in level]
