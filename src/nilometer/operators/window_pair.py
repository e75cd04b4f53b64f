"""The shared half of operators over two operands' windows: EXCEPT, INTERSECT, UNION and joins of windows.

At the union of the operands' ticks, each side contributes its latest window at or before. The state is these
two windows.

>>> from nilometer.types import INT, Column
>>> pair = WindowPair(Schema((Column("a", INT),)), Schema((Column("b", INT),)))
>>> pair.update(
...     0,
...     pl.DataFrame([(1, 1, 5)], {"@evaluation": pl.Int64, "@tick": pl.Int64, "a": pl.Int64}, orient="row"),
... )
>>> evaluations = [pl.DataFrame({"@evaluation": [tick], "@tick": [tick]}) for tick in (1, 2)]
>>> ticks = pair.settle(Progress(3, evaluations=tuple(evaluations)))
>>> ticks.tolist(), pair.sides[0].rows(ticks)["a"].to_list()
([1, 2], [5, 5])
"""

from __future__ import annotations

import polars as pl

from nilometer.kernels.arrays import Integers
from nilometer.operators.latest import LatestWindow, union_of_ticks
from nilometer.operators.logic import Progress
from nilometer.types import Schema


class WindowPair:
    """Keeps both sides' latest windows. A Logic over it defines `advance`: `settle`, the work, `forget`."""

    def __init__(self, left: Schema, right: Schema) -> None:
        self.sides = (LatestWindow(left), LatestWindow(right))

    def update(self, port: int, rows: pl.DataFrame) -> None:
        self.sides[port].take(rows)

    def settle(self, progress: Progress) -> Integers:
        """Take the round's evaluations. Returns the ticks at which the operator is evaluated."""
        return union_of_ticks(
            *(side.settle(listed) for side, listed in zip(self.sides, progress.evaluations, strict=True))
        )

    def forget(self) -> None:
        """Drop all but the latest windows."""
        for side in self.sides:
            side.forget()

    def snapshot(self) -> dict[str, bytes]:
        return self.sides[0].to_panes("left") | self.sides[1].to_panes("right")

    def restore(self, panes: dict[str, bytes]) -> None:
        self.sides[0].from_panes("left", panes)
        self.sides[1].from_panes("right", panes)
