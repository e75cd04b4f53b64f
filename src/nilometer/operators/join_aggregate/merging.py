"""The components of an aggregate over a join: those of a group are merged, and the answers are read from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from nilometer.operators.evaluate.overflow import overflow_in
from nilometer.operators.frames import Dtypes
from nilometer.operators.join_aggregate.answers import answered
from nilometer.operators.join_aggregate.partial_windows import PartialWindows
from nilometer.operators.join_aggregate.weighing import Weighed
from nilometer.operators.window_aggregate.components import ROWS
from nilometer.types import INT_MAXIMUM

if TYPE_CHECKING:
    from nilometer.operators.join_aggregate.join_aggregate import Item, JoinAggregate


class Merging:
    """`rows` is the column that says for how many joined rows the components stand; `columns` are all of them."""

    def __init__(self, spec: JoinAggregate, sides: Sequence[PartialWindows]) -> None:
        self._sides = sides
        self.weighed = [Weighed(side.prefix, side.components) for side in sides]
        self.rows = f"pair{len(spec.pairings) - 1}.{ROWS}"
        self._added = [pl.col(self.rows).sum(), *(e for each in self.weighed for e in each.added())]
        self._values = [
            answered(item.name, item.aggregate, sides[item.side].prefix, self._number(item), self.rows)
            for item in spec.items
        ]

    @property
    def columns(self) -> Dtypes:
        """The columns of the components."""
        found: Dtypes = {self.rows: pl.Int64()}
        for each in self.weighed:
            found |= each.dtypes
        return found

    def merged(self, components: pl.DataFrame, groups: Sequence[str]) -> pl.DataFrame:
        """One row for each group."""
        return components.group_by(groups, maintain_order=True).agg(self._added)

    def answers(self, merged: pl.DataFrame) -> list[pl.Series]:
        """The aggregates of each row. NULLs stand for no joined row."""
        return [value(merged) for value in self._values]

    def check(self, components: pl.DataFrame, groups: Sequence[str]) -> None:
        """Refuse components of more joined rows in a group than an INT can count."""
        counts = components.group_by(groups).agg(pl.col(self.rows).cast(pl.Float64).sum())
        most = counts.get_column(self.rows).max()
        if most is not None and float(most) >= INT_MAXIMUM:  # type: ignore[arg-type]
            raise overflow_in("COUNT(*) of a join")

    def _number(self, item: Item) -> str | None:
        """The number in the names of an aggregate's components."""
        return None if item.place is None else self._sides[item.side].number_at(item.place)
