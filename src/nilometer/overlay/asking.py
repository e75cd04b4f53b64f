"""The results of a question at the peer that asked it: each once, by the positions of its members."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from nilometer.overlay.join_plan import JoinPlan
from nilometer.overlay.names import position, time

FORGETS_AT = 50_000
"""Old positions are dropped when this many have come since."""


class Asked:
    """What came of one question. `fresh` are the results that nobody has taken yet."""

    def __init__(self, plan: JoinPlan) -> None:
        self.plan = plan
        self._ids = [position(one) for one in range(len(plan.inputs))]
        self._times = [time(one) for one in range(len(plan.inputs))]
        self._seen: pl.DataFrame | None = None
        self._new = 0
        self.fresh: list[pl.DataFrame] = []
        self.count = 0

    def take(self, rows: pl.DataFrame) -> int:
        """Results have come. Returns how many of them were known."""
        height = rows.height
        rows = rows.unique(self._ids, keep="first", maintain_order=True)
        if self._seen is not None:
            rows = rows.join(self._seen, on=self._ids, how="anti")
        if rows.height:
            seen = rows.select(*self._ids, pl.max_horizontal(self._times).alias("@last"))
            self._seen = seen if self._seen is None else pl.concat([self._seen, seen])
            self._new += rows.height
            self.count += rows.height
            self.fresh.append(rows)
        return height - rows.height

    def forget(self, watermarks: Mapping[str, int], slack: int) -> None:
        """Drop the positions of results that no peer can find again: peers keep rows for a window and some slack."""
        if self._seen is None or self._new < FORGETS_AT:
            return
        reached = [watermarks.get(one.stream.lower()) for one in self.plan.inputs]
        if all(one is not None for one in reached):
            horizon = min(one for one in reached if one is not None) - 2 * self.plan.reach - 10 * slack
            self._seen = self._seen.filter(pl.col("@last") >= horizon)
            self._new = 0

    def taken(self) -> list[pl.DataFrame]:
        """The results since the last call."""
        fresh, self.fresh = self.fresh, []
        return fresh
