"""The Logic of algebraic window aggregates: rows -> partials per (slice, group) -> sliding answers.

The cost of a round depends on its new rows and its answers. Rows at or above the watermark wait as partials,
in panes by slice. Partials of equal slice and group are merged. Slices below the watermark are complete and
go to the sliding state, in order.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from nilometer.errors import InternalError
from nilometer.expressions import type_of
from nilometer.kernels.arrays import Integers
from nilometer.operators.aggregate_sieve import aggregate_sieve
from nilometer.operators.evaluate.evaluate import compile_predicate, compile_projection
from nilometer.operators.frames import dtype, empty, evaluations, window_dtypes
from nilometer.operators.limits import operator
from nilometer.operators.logic import EVALUATION, TICK, Output, Progress, no_evaluations
from nilometer.operators.panes import Panes
from nilometer.operators.row_ticks import RowTicks
from nilometer.operators.set_aside import failing_rows
from nilometer.operators.window_aggregate.completeness import Expectation
from nilometer.operators.window_aggregate.components import ROWS, Lifting
from nilometer.operators.window_aggregate.groups import GroupCodes
from nilometer.operators.window_aggregate.partials import GROUP, SLICE, LiftedRows, Partials
from nilometer.operators.window_aggregate.state import Evaluations, SlidingState
from nilometer.operators.window_scope import BEGINNING
from nilometer.types import INT_MINIMUM, MINUTE

if TYPE_CHECKING:
    from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate

_FEW_GROUPS = 1_024


class SlidingLogic:
    """Waiting partials, the dictionary of groups, and the sliding state."""

    def __init__(self, spec: WindowAggregate) -> None:
        self._scope = spec.scope
        self._slicing = self._scope.slicing
        self._predicate = None if spec.predicate is None else compile_predicate(spec.predicate)
        self._keys = compile_projection(spec.keys)
        self._sieve = aggregate_sieve(spec.keys, spec.items)
        self._output = window_dtypes(spec.schema)
        self._expectation = None
        if spec.completeness is not None:
            self._expectation = Expectation(spec.completeness, self._scope, grouped=bool(spec.keys))
        self._heard = self._expectation is not None and self._predicate is not None
        self._lifting = Lifting(spec.items, self._heard)
        self._groups = GroupCodes({name: dtype(type_of(expression)) for name, expression in spec.keys})
        self._grouped = bool(spec.keys)
        self._begin()
        self._new: list[Partials] = []
        self._ticks = RowTicks(spec.scope)
        self._since = BEGINNING
        self._alive = 0

    def _begin(self) -> None:
        """Start with an empty state of the components that are held."""
        components = self._lifting.components
        self._state = SlidingState(components, pinned=not self._grouped, unbounded=self._scope.reach is None)
        span = self._scope.period or MINUTE
        self._waiting = Panes(SLICE, Partials.dtypes(components), span, self._compacted)

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Turn rows into partials. Input 1 brings summaries of rows (plan/summaries.py), for a window without a
        predicate."""
        if port > 1 or (port == 1 and self._predicate is not None):
            raise InternalError(f"a window has no input {port}")
        self._ticks.add(rows)
        if self._expectation is not None:
            self._expectation.update(rows)
        seen = self._scope.ever_seen(rows.get_column(TICK).to_numpy())
        if seen is not None:
            rows = rows.filter(pl.Series(seen))
        mask = None
        if self._predicate is not None:
            if self._heard:
                mask = self._predicate.mask(rows)
            else:
                rows = self._predicate(rows)
        if self._sieve:
            if mask is None:
                rows = self._sieve(rows)
            elif (failing := self._sieve.failing(rows.filter(mask))) is not None:
                mask = mask.scatter(mask.arg_true().filter(failing), False)
        if rows.height:
            ticks = self._scope.sliced(rows.get_column(TICK).to_numpy())
            groups = self._groups.encode(self._keys(rows), rows.height)
            values = self._lifting.lift(rows, mask) if port == 0 else self._lifting.lift_summaries(rows)
            for name in self._lifting.unheld(values):
                self._hold(name)
            lifted = LiftedRows(ticks, groups, values, self._lifting.components)
            self._new.append(Partials.of_rows(lifted, self._slicing, len(self._groups)))

    @operator("an aggregate of windows")
    def advance(self, progress: Progress) -> Output:
        """Slide over every evaluation below the watermark."""
        self._state.hold_groups(len(self._groups))
        self._settle(progress.watermark)
        new = self._ticks.due(progress)
        ticks = self._scope.evaluations(progress.first_tick, self._since, progress.watermark, new)
        self._since = max(self._since, progress.watermark)
        if not len(ticks):
            return Output(empty(self._output), no_evaluations())
        rows = self._answers(ticks, progress.first_tick)
        self._forget_groups()
        return Output(rows, evaluations(pl.Series(ticks)))

    def snapshot(self) -> dict[str, bytes]:
        """Returns the panes of waiting partials and of entries, the groups, the ticks, and the state of the
        sources.
        """
        self._settle(self._since)
        counts = [c.name for c in self._lifting.components if c.name.startswith("count")]
        meta = {"since": self._since, "counts": counts}
        panes = {"meta": json.dumps(meta).encode()} | self._ticks.snapshot()
        panes |= self._groups.snapshot() | self._waiting.snapshot("waiting") | self._state.snapshot()
        return panes if self._expectation is None else panes | self._expectation.snapshot()

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        meta = json.loads(panes["meta"])
        self._since = meta["since"]
        self._ticks.restore(panes)
        for name in meta["counts"]:
            self._hold(name)
        self._groups.restore(panes)
        self._waiting.restore("waiting", panes, self._since)
        self._state.restore(panes, len(self._groups))
        if self._expectation is not None:
            self._expectation.restore(panes)

    def _hold(self, name: str) -> None:
        """Hold one more component. So far it was equal to the count of rows."""
        component = self._lifting.add(name)
        self._state.add(component)
        self._new = [part.with_count(component) for part in self._new]
        self._waiting.rewrite(
            lambda frame: frame.with_columns(pl.col(ROWS).alias(component.name)),
            Partials.dtypes(self._lifting.components),
        )

    def _settle(self, watermark: int) -> None:
        """Move the partials of complete slices, both new and waiting ones, to the sliding state. The others
        wait.
        """
        components = self._lifting.components
        self._state.hold_groups(len(self._groups))
        new = self._new[0] if len(self._new) == 1 else self._merged(self._new)
        self._new = []
        complete, rest = new.split(watermark)
        if len(self._waiting):
            taken = Partials.of_frame(self._waiting.take(watermark), components)
            if len(taken):
                # Only a slice that was already waiting has partials on both sides. Usually this is one slice
                # with few rows.
                begun, complete = complete.split(int(taken.slices[-1]) + 1)
                self._state.append(self._merged([taken, begun]))
        self._state.append(complete)
        if len(rest):
            self._waiting.append(rest.frame())

    def _merged(self, parts: list[Partials]) -> Partials:
        """Returns one partial per slice and group, in order."""
        return Partials.concatenate(parts, self._lifting.components).ordered().reduced(len(self._groups))

    def _compacted(self, frame: pl.DataFrame) -> pl.DataFrame:
        partials = Partials.of_frame(frame, self._lifting.components)
        return partials.reduced(len(self._groups)).frame()

    def _answers(self, ticks: Integers, first_tick: int | None) -> pl.DataFrame:
        answers = self._slid(ticks)
        counts = np.diff(answers.ends, prepend=0)
        at = np.repeat(ticks, counts)
        tags = [pl.Series(EVALUATION, at), pl.Series(TICK, at)]
        lowered, failing = self._lifting.lower(answers.found)
        keys = self._groups.decode(answers.groups)
        columns = [*tags, *keys, *lowered]
        if self._expectation is not None:
            heard = answers.found["heard" if self._heard else ROWS]
            columns.append(self._expectation.column(at, heard, first_tick))
        rows = pl.DataFrame(columns)
        valueless = failing_rows(pl.DataFrame([*tags, *keys]), failing)
        return rows if valueless is None else rows.filter(~valueless)

    def _slid(self, ticks: Integers) -> Evaluations:
        """Moves the window to each of these ticks and returns its contents at each."""
        low = self._scope.lows(ticks)
        if low is None:
            low = np.full(len(ticks), INT_MINIMUM, dtype=np.int64)
        return self._state.advance(low, ticks - self._scope.end)

    def _forget_groups(self) -> None:
        """Release the codes of unused groups, once they are the majority."""
        if len(self._groups) <= _FEW_GROUPS + 2 * self._alive:
            return
        waiting = self._waiting.between(None, np.iinfo(np.int64).max).get_column(GROUP).to_numpy()
        alive = np.union1d(self._state.alive(), waiting)
        self._alive = len(alive)
        if 2 * self._alive < len(self._groups):
            changed = self._groups.renumber(alive)
            self._state.renumber(changed)
            self._waiting.rewrite(
                lambda frame: frame.with_columns(pl.Series(GROUP, changed[frame[GROUP].to_numpy()]))
            )
