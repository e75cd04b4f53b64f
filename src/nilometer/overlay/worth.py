"""How much a kept row is worth to a join whose memory is bounded: the rows with the least are shed (MEMORY ... SHED).

| policy | worth |
|---|---|
| none given | the newest rows stay |
| RANDOM | a hash of the positions: those kept are a uniform sample, and the same one at every peer |
| PROB | how many rows of the other inputs with its key are kept; of several inputs, the product |
| LIFE | the same times how long the row can still join |

Among equals the newest stay. AGE and SAMPLE are not for peers: the first learns from all matches of a join, the second
has to know how many rows a window would hold.

>>> from dataclasses import replace
>>> plan = JoinPlan.of([("X", ("B",)), ("Y", ("B",))], [((0, "B"), (1, "B"))], 5)
>>> rows = pl.DataFrame({KEY: [1, 2], "@position0": [0, 1], "@time0": [7, 6]})
>>> there = pl.DataFrame({KEY: [2, 2, 3]})
>>> worth_of(replace(plan, policy="PROB"), (0,), rows, [there]).struct.field("worth").to_list()
[0.0, 2.0]
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.names import KEY, position, time

WORTH = "@worth"
POLICIES = ("", "RANDOM", "PROB", "LIFE")


def worth_of(
    plan: JoinPlan, members: Sequence[int], rows: pl.DataFrame, others: Sequence[pl.DataFrame]
) -> pl.Series:
    """The worth of each row of a port with these members: a struct, to be compared field by field. `others` are the rows
    of the other ports."""
    newest = pl.max_horizontal(time(at) for at in members).alias("newest")
    match plan.policy:
        case "RANDOM":
            worth = pl.concat_str([position(at) for at in members], separator=",").hash(0)
        case "PROB" | "LIFE":
            for at, other in enumerate(others):
                counts = other.group_by(KEY).agg(pl.len().cast(pl.Float64).alias(f"@count{at}"))
                rows = rows.join(counts, on=KEY, how="left", maintain_order="left")
            worth = pl.lit(1.0)
            for at in range(len(others)):
                worth = worth * pl.col(f"@count{at}").fill_null(0.0)
            if plan.policy == "LIFE":
                ends = pl.min_horizontal(pl.col(time(at)) + max(plan.widths[at]) for at in members)
                worth = worth * (ends - ends.min() + 1).cast(pl.Float64)
        case _:
            worth = pl.lit(0.0)
    return rows.select(pl.struct(worth.alias("worth"), newest).alias(WORTH)).to_series()
