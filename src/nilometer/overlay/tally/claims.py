"""A home's claims: how many rows of its stream each bucket has in the window of a tick.

An owner that has as many rows as the homes claim has all of them, whatever was lost, sent twice or came out of order.
A claim is made once the stream's watermark is beyond the tick.

>>> from nilometer.overlay.tally.tally_plan import Side
>>> plan = TallyPlan((Side("X", 10), Side("Y", 10)), 5, 1, "b", (), ())
>>> rows = pl.DataFrame({"@time": [1, 4, 9], KEY: pl.Series([plan.bucket_keys[0]] * 3, dtype=pl.UInt64)})
>>> claims_of(plan, 0, rows, [5, 10, 15], begun=4).select(TICK, COUNT, BEGUN).rows()
[(5, 2, True), (10, 3, True), (15, 1, True)]
"""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.overlay.names import KEY
from nilometer.overlay.tally.tally_plan import TallyPlan

TICK, COUNT, BEGUN = "@tick", "count", "begun"


def claims_of(
    plan: TallyPlan, at: int, rows: pl.DataFrame, ticks: list[int], begun: int | None
) -> pl.DataFrame:
    """The claims of a side for some ticks. `rows` are its rows of all their windows, with their buckets' keys; `begun` is
    the time of the stream's first reading."""
    moments = np.array(ticks, dtype=np.int64)
    counts = np.zeros((len(ticks), plan.buckets), dtype=np.int64)
    if rows.height:
        order = np.argsort(plan.bucket_keys)
        ordered = rows.select("@time", KEY).sort("@time")
        times = ordered.get_column("@time").to_numpy()
        keys = ordered.get_column(KEY).to_numpy()
        buckets = order[np.searchsorted(plan.bucket_keys[order], keys)]
        lows = np.searchsorted(times, moments - plan.sides[at].width, side="right")
        highs = np.searchsorted(times, moments, side="right")
        for row, (low, high) in enumerate(zip(lows, highs, strict=True)):
            counts[row] = np.bincount(buckets[low:high], minlength=plan.buckets)
    has_begun = np.zeros(len(ticks), dtype=np.bool_) if begun is None else moments >= begun
    return pl.DataFrame(
        {
            KEY: np.tile(plan.bucket_keys, len(ticks)),
            TICK: np.repeat(moments, plan.buckets),
            COUNT: counts.ravel(),
            BEGUN: np.repeat(has_begun, plan.buckets),
        }
    )
