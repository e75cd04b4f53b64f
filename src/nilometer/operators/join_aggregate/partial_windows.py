"""One input of an aggregated join: stream rows -> at each tick, one partial aggregate per key of the window's
rows.

The window slides over slices like the window of any aggregate (window_aggregate/sliding.py). It returns the
components themselves instead of the answers computed from them.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.expressions import type_of
from nilometer.kernels.arrays import Integers
from nilometer.operators.frames import dtype
from nilometer.operators.latest import LatestWindow
from nilometer.operators.logic import EVALUATION, TICK, Progress
from nilometer.operators.window_aggregate.components import ROWS
from nilometer.operators.window_aggregate.partials import value_columns
from nilometer.operators.window_aggregate.sliding import SlidingLogic
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.types import FLOAT, INT, Column, Schema


class PartialWindows(SlidingLogic):
    """The sliding state of an input, and its latest window as partial aggregates. It holds the counts of all
    arguments.
    """

    def __init__(self, spec: WindowAggregate, number: int) -> None:
        super().__init__(spec)
        self._lifting.hold_counts()
        self._begin()
        self._items = spec.items
        self.prefix = f"{number}."
        self.components = tuple(c for c in self._lifting.components if c.name != ROWS)
        self.keys = {name: dtype(type_of(expression)) for name, expression in spec.keys}
        values = tuple(
            Column(self.prefix + column.name, INT if column.dtype == pl.Int64() else FLOAT)
            for column in value_columns(self._nothing, self._lifting.components)
        )
        keys = tuple(Column(name, type_of(expression)) for name, expression in spec.keys)
        self._latest = LatestWindow(Schema(keys + values))

    @property
    def _nothing(self) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
        return {c.name: np.empty((len(c.parts) or 1, 0), dtype=c.dtype) for c in self._lifting.components}

    def __len__(self) -> int:
        """The greatest possible number of keys in a window."""
        return len(self._groups)

    def number_at(self, place: int) -> str:
        """The number in the names of an aggregate's components."""
        argument = self._items[place][1].argument
        assert argument is not None, "COUNT(*) has no component of its own"
        return self._lifting.number_of(argument)

    def settle(self, watermark: int) -> None:
        """Record that event time has reached the watermark: evaluations below it may be requested."""
        self._ticks.due(Progress(watermark))
        self._settle(watermark)
        self._since = max(self._since, watermark)

    def slide(self, ticks: pl.DataFrame) -> None:
        """Move the window over these evaluations."""
        if ticks.height:
            self._latest.take(self._windows(ticks.get_column(TICK).to_numpy()))
        self._latest.settle(ticks)

    def at(self, ticks: Integers) -> pl.DataFrame:
        """Returns the partial aggregates of the latest window at each tick, leaving out those without a
        row.
        """
        rows = self._latest.rows(ticks)
        return rows.filter(pl.col(self.prefix + ROWS) > 0)

    def forget(self, *, round_is_over: bool = False) -> None:
        """Keep only the latest window."""
        self._latest.forget()
        if round_is_over:
            self._forget_groups()

    def _windows(self, ticks: Integers) -> pl.DataFrame:
        answers = self._slid(ticks)
        at = np.repeat(ticks, np.diff(answers.ends, prepend=0))
        values = value_columns(answers.found, self._lifting.components)
        return pl.DataFrame(
            [
                pl.Series(EVALUATION, at),
                pl.Series(TICK, at),
                *self._groups.decode(answers.groups),
                *(column.alias(self.prefix + column.name) for column in values),
            ]
        )

    def _hold(self, name: str) -> None:
        """Does nothing, because all counts are held from the beginning."""

    def snapshot(self) -> dict[str, bytes]:
        return super().snapshot() | self._latest.to_panes("latest")

    def restore(self, panes: dict[str, bytes]) -> None:
        super().restore(panes)
        self._latest.from_panes("latest", panes)
