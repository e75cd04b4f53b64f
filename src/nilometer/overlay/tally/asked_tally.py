"""The answers of an aggregate at the peer that asked: the parts of all buckets, merged, tick by tick in order.

The law: a tick is answered once, when every bucket's part of it is whole. A tick that stays incomplete while one `slack`
later is complete is given up, and counted.
"""

from __future__ import annotations

import polars as pl

from nilometer.overlay.names import KEY
from nilometer.overlay.tally.arithmetic import ROWS, group_names, merged
from nilometer.overlay.tally.claims import BEGUN, TICK
from nilometer.overlay.tally.store import PARTS
from nilometer.overlay.tally.tally_plan import TallyPlan

MOST_TICKS = 10_000
"""So many ticks may wait for their last part."""


class TallyAsked:
    """What came of one question. `first` is its first tick; None: it was asked in an earlier life of this peer."""

    def __init__(self, plan: TallyPlan, first: int | None, slack: int) -> None:
        self.plan = plan
        self._next, self._slack = first, slack
        self._pending: dict[int, pl.DataFrame] = {}
        self._whole: set[int] = set()
        self._begun = first is None
        self._fresh: list[tuple[int, pl.DataFrame]] = []
        self.answered = self.lost = 0

    def take(self, rows: pl.DataFrame) -> int:
        """Parts have come. Returns how many of their rows were known."""
        doubles = 0
        for (tick,), part in rows.partition_by(TICK, as_dict=True, maintain_order=True).items():
            doubles += self._add(int(tick), part)
        while len(self._pending) > MOST_TICKS:
            oldest = min(self._pending)
            del self._pending[oldest]
            self.lost += 1
        self._answer()
        return doubles

    def taken(self) -> list[tuple[int, pl.DataFrame]]:
        """The answers since the last call: a tick, and its merged rows (arithmetic.merged)."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def _add(self, tick: int, part: pl.DataFrame) -> int:
        if (self._next is not None and tick < self._next) or tick in self._whole:
            return part.height
        known = self._pending.get(tick)
        both = part if known is None else pl.concat([known, part], how="diagonal_relaxed")
        names = [name for name in group_names(self.plan) if name in both.columns]
        distinct = both.unique([KEY, *names], keep="first", maintain_order=True)
        self._pending[tick] = distinct
        buckets = distinct.group_by(KEY).agg(pl.len().alias("rows here"), pl.col(PARTS).first())
        if (
            buckets.height == self.plan.buckets
            and buckets.select((pl.col("rows here") >= pl.col(PARTS)).all()).item()
        ):
            self._whole.add(tick)
        return both.height - distinct.height

    def _answer(self) -> None:
        if self._next is None and self._whole:
            self._next = min(self._whole)
        while self._next is not None and self._whole:
            tick = self._next
            if tick in self._whole:
                self._whole.remove(tick)
                rows = self._pending.pop(tick)
                self._begun = self._begun or bool(rows.get_column(BEGUN).any())
                if self._begun:
                    self.answered += 1
                    self._fresh.append((tick, merged(self.plan, self._filled(rows))))
            elif max(self._whole) > tick + self._slack:
                self._pending.pop(tick, None)
                self.lost += 1
            else:
                break
            self._next = tick + self.plan.slide
        if self._next is not None:
            for tick in [one for one in self._pending if one < self._next]:
                del self._pending[tick]

    def _filled(self, rows: pl.DataFrame) -> pl.DataFrame:
        """With all columns, also those that no bucket had."""
        wanted = [*group_names(self.plan), f"{ROWS}.high", f"{ROWS}.low"]
        for at, item in enumerate(self.plan.items):
            if item.column is not None:
                wanted += [f"count{at}.high", f"count{at}.low"]
                value = f"{item.function}{at}"
                wanted += (
                    [f"{value}.high", f"{value}.low"] if item.whole and item.function == "sum" else [value]
                )
        missing = [name for name in wanted if name not in rows.columns]
        return rows.with_columns(pl.lit(None, pl.Int64).alias(name) for name in missing)
