"""Rows -> the few of them that decide the aggregates of their windows: FIRST, LAST, ARG_MAX, ARG_MIN, MIN and MAX.

All windows hold the same slices (kernels/slices.py), and such an aggregate of a window is one of its slices' own.
So of each slice and group only the deciding rows are kept; which rows came in which batch changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from nilometer.kernels.arrays import Integers
from nilometer.operators.aggregate_items import Grouping
from nilometer.operators.evaluate.evaluate import compile_predicate
from nilometer.operators.group_functions import SELECTIVE
from nilometer.operators.logic import TICK
from nilometer.operators.window_aggregate.components import of_vectors

if TYPE_CHECKING:
    from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate


def selects(spec: WindowAggregate) -> bool:
    """Whether a few rows decide all aggregates, and the other rows do not decide when windows are evaluated."""
    return (
        spec.completeness is None
        and spec.scope.period is not None
        and all(a.function in SELECTIVE and not of_vectors(a) for _, a in spec.items)
    )


class Selection:
    """Keeps the deciding rows of a batch."""

    def __init__(self, spec: WindowAggregate) -> None:
        self._scope = spec.scope
        self._predicate = compile_predicate(spec.predicate)
        self._grouping = Grouping(spec.keys, spec.items)

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows that may decide an aggregate."""
        seen = self._scope.ever_seen(rows.get_column(TICK).to_numpy())
        if seen is not None:
            rows = rows.filter(pl.Series(seen))
        rows = self._predicate(rows)
        if not rows.height:
            return rows
        return self._grouping.selected(rows, pl.Series(self._slices(rows.get_column(TICK).to_numpy())))

    def _slices(self, ticks: Integers) -> Integers:
        """The right edge of each tick's slice."""
        period, end, other = self._scope.slicing
        named = self._scope.sliced(ticks)
        return np.minimum(_next_edge(named, period, end), _next_edge(named, period, other))


def _next_edge(ticks: Integers, period: int, offset: int) -> Integers:
    """The smallest multiple of the period minus the offset, at or after each tick."""
    return -(-(ticks + offset) // period) * period - offset
