"""Which results of a stage each query wants, if queries with different windows share it.

A result goes to a query if no member is earlier than the query's start, and if every two are within its own widths. A wide
stage may find again what a narrow one would have forgotten, and so may the one who asked (asking.py). Such results are not
sent: a stage of the query's own would have none of their rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from nilometer.overlay.flow import Flow, Query
from nilometer.overlay.names import time


def wanted(
    flow: Flow, rows: pl.DataFrame, queries: Sequence[Query], watermarks: Mapping[str, int], kept: int
) -> Iterator[tuple[list[Query], pl.DataFrame]]:
    """The results of a flow for each set of its queries that want the same. `kept` says how long after its window a row may be
    kept."""
    plan = flow.plan
    alike: dict[tuple[int, tuple[tuple[int, ...], ...]], list[Query]] = {}
    for query in queries:
        alike.setdefault((query.start, query.plan.widths), []).append(query)
    count = len(plan.inputs)
    times = [rows.get_column(time(at)).to_numpy() for at in range(count)]
    earliest, latest = np.minimum.reduce(times), np.maximum.reduce(times)
    reached = [watermarks.get(one.stream.lower()) for one in plan.inputs]
    least = min((one for one in reached if one is not None), default=None) if None not in reached else None
    later = {
        (i, j): times[j] - times[i]
        for i in range(count)
        for j in range(count)
        if any(widths[i][j] < plan.widths[i][j] for _, widths in alike)
    }
    for (start, widths), same in alike.items():
        fits = earliest >= start
        for (i, j), distance in later.items():
            fits &= distance <= widths[i][j]
        if least is not None and (widths != plan.widths or start > flow.start):
            fits &= latest >= least - max(map(max, widths)) - kept
        yield same, rows if fits.all() else rows.filter(pl.Series(fits))
