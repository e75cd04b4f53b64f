"""The Logic of sliding aggregates over partials that were computed elsewhere (combining.py)."""

from __future__ import annotations

import polars as pl

from nilometer.errors import InternalError
from nilometer.operators.logic import TICK
from nilometer.operators.window_aggregate.partials import Partials, values_of
from nilometer.operators.window_aggregate.sliding import SlidingLogic
from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate
from nilometer.spark.layout.combining import counts_of


class PartialsLogic(SlidingLogic):
    """Slides as usual, but its input is partials of slices, with all counts."""

    def __init__(self, spec: WindowAggregate) -> None:
        super().__init__(spec)
        self._names = [name for name, _ in spec.keys]
        self._held: set[str] = set()
        for name in counts_of(spec, self._lifting):
            self._hold(name)

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take partials."""
        if port != 0:
            raise InternalError(f"a window has no input {port}")
        components = self._lifting.components
        groups = self._groups.encode(rows.select(self._names), rows.height)
        values = values_of(rows, components)
        taken = Partials(rows.get_column(TICK).to_numpy(), groups, values, components)
        self._new.append(taken.ordered().reduced(len(self._groups)))

    def _hold(self, name: str) -> None:
        if name not in self._held:
            self._held.add(name)
            super()._hold(name)
