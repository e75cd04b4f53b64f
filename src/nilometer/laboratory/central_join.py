"""The join computed in one place that has all readings. Distributed runs are compared with it.

Each tuple joins with the occurrences of its value in other streams that are earlier in the order of the readings,
within the window.
"""

from __future__ import annotations

import numpy as np

from nilometer.kernels.ranges import expand
from nilometer.sensornet.snjoin.matches import NO_MATCHES, Answers, Matches, ordered_answers
from nilometer.sensornet.snjoin.readings import Readings


def central_answers(readings: Readings, window: int) -> Answers:
    """All matches of equal values, at once."""
    rows = readings.take(np.lexsort((readings.sequence, readings.stream, readings.time, readings.value)))
    if not len(rows):
        return ordered_answers(rows, NO_MATCHES)
    start = int(rows.time.min())
    span = int(rows.time.max()) - start + 1
    code = np.unique(rows.value, return_inverse=True)[1].astype(np.int64)
    keys = code * span + (rows.time - start)
    low = np.searchsorted(keys, code * span + np.maximum(rows.time - window - start, 0), side="left")
    owners, places = expand(low, np.arange(len(rows)))
    other = rows.stream[owners] != rows.stream[places]
    owners, places = owners[other], places[other]
    return ordered_answers(
        rows, Matches(owners, rows.stream[places], rows.time[places], rows.sequence[places])
    )
