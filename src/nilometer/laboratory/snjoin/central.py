"""The join computed in one place that has all readings. Distributed runs are compared with it.

The total order is (time ascending, head descending, stream, sequence). Each tuple joins with the strictly
earlier occurrences of its value in other streams within the window (reference/algorithms.md 10).
"""

from __future__ import annotations

import numpy as np

from nilometer.kernels.ranges import expand
from nilometer.laboratory.snjoin.clusters import Clusters
from nilometer.laboratory.snjoin.matches import Answers, Matches, ordered_answers
from nilometer.laboratory.snjoin.readings import Readings


def central_answers(readings: Readings, clusters: Clusters, window: int) -> Answers:
    """All matches, at once."""
    head = clusters.head_of[readings.stream]
    rows = readings.take(
        np.lexsort((readings.sequence, readings.stream, -head, readings.time, readings.value))
    )
    if not len(rows):
        return ordered_answers(rows, Matches(rows.value, rows.value, rows.value))
    start = int(rows.time.min())
    span = int(rows.time.max()) - start + 1
    code = np.unique(rows.value, return_inverse=True)[1].astype(np.int64)
    keys = code * span + (rows.time - start)
    low = np.searchsorted(keys, code * span + np.maximum(rows.time - window - start, 0), side="left")
    owners, places = expand(low, np.arange(len(rows)))
    other = rows.stream[owners] != rows.stream[places]
    owners, places = owners[other], places[other]
    return ordered_answers(rows, Matches(owners, rows.stream[places], rows.time[places]))
