"""Window joins: windows ⋈ windows at the union of their ticks; windows ⋈ table at the windows' ticks.

    at T:  left's latest window at or before T  ⋈  right's latest window at or before T

This is the rule of language.md, "Window joins". Rows join within a tick. Equal keys are found by hash. The
residual condition (NOW is the tick) is tested on pairs in bounded chunks (operators/matching.py). On both
ports, a round has all evaluations below the watermark, so every tick of their union can be evaluated in the
round in which it arrives. The state is each side's latest window.

>>> from nilometer.types import INT, Column, Schema
>>> a, b = Schema((Column("a.x", INT),)), Schema((Column("b.x", INT),))
>>> logic = WindowsJoin(a, b).build()
>>> logic.update(0, pl.DataFrame([(1, 1, 7), (3, 3, 8)], frames.window_dtypes(a), orient="row"))
>>> logic.update(1, pl.DataFrame([(2, 2, 70)], frames.window_dtypes(b), orient="row"))
>>> sides = (frames.evaluations(pl.Series([1, 3])), frames.evaluations(pl.Series([2])))
>>> logic.advance(Progress(4, evaluations=sides)).rows.select("@tick", "a.x", "b.x").rows()
[(2, 7, 70), (3, 8, 70)]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from nilometer.kernels.candidates import split
from nilometer.operators import frames
from nilometer.operators.limits import check_built, operator
from nilometer.operators.logic import WINDOW_COLUMNS, Output, Progress
from nilometer.operators.lookup import Lookup
from nilometer.operators.matching import JoinSpec
from nilometer.operators.window_pair import WindowPair

ROWS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class WindowsJoin(JoinSpec):
    """A join of windows (port 0) with windows (port 1)."""

    by_tick: ClassVar[bool] = True

    def build(self) -> WindowsJoinLogic:
        return WindowsJoinLogic(self)


class WindowsJoinLogic(WindowPair):
    """Both sides' latest windows."""

    def __init__(self, spec: WindowsJoin) -> None:
        super().__init__(spec.left, spec.right)
        self._matcher = spec.matching.build()
        self._columns = frames.window_dtypes(spec.schema)

    @operator("a join of windows")
    def advance(self, progress: Progress) -> Output:
        left, right = self.sides
        ticks = self.settle(progress)
        sizes = left.sizes(ticks) + right.sizes(ticks)
        joined = []
        total = 0
        for part in split(sizes, ROWS_AT_ONCE):
            joined.append(self._matcher(left.rows(ticks[part]), right.rows(ticks[part])))
            total += joined[-1].height
            check_built(total, len(self._columns))
        self.forget()
        return Output(frames.concatenate(joined, self._columns), frames.evaluations(pl.Series(ticks)))


@dataclass(frozen=True)
class WindowsTableJoin(JoinSpec):
    """A join of windows with a table, which is at port `table` (0 only for INNER)."""

    table: int = 1

    def __post_init__(self) -> None:
        _ = self.build()

    def build(self) -> Lookup:
        return Lookup(self.matching, frames.window_dtypes(self.schema), WINDOW_COLUMNS, self.table)
