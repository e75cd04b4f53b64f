"""One store of slices for all windows over the same rows, grouping and aggregates, whatever their RANGE and SLIDE.

    rows ─► partials per (slice, group) ─► blocks of 4, 16, 64, ... slices
    evaluation at T ─► all windows that end there, in one walk back from T (kernels/slice_cover.py)

Rows become partials as for one window (sliding.py). The slices end at the multiples of `step`, minus `shift`; every
edge of every window is one of these. The windows have no state of their own: the store keeps the slices that the
widest one may need, and answers all. The order in which partials are combined depends on the windows asked for. So
only aggregates whose answers do not depend on it are kept here: counts, MIN, MAX, exact sums of INTs, and sums of
FLOATs in two doubles, which are rounded once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.expressions import Expression, may_fail
from nilometer.kernels import slice_cover
from nilometer.kernels.arrays import Integers
from nilometer.kernels.slice_cover import LEVELS, RADIX
from nilometer.operators.limits import check_kept, operator
from nilometer.operators.logic import EVALUATION, TICK
from nilometer.operators.set_aside import failing_rows
from nilometer.operators.window_aggregate.components import (
    MERGED,
    ROWS,
    SUMS,
    Array,
    Arrays,
    Component,
    Lifting,
)
from nilometer.operators.window_aggregate.partials import Partials, filled, identity
from nilometer.operators.window_aggregate.sliding import SlidingLogic
from nilometer.operators.window_aggregate.state import Held
from nilometer.operators.window_scope import BEGINNING, Scope

if TYPE_CHECKING:
    from nilometer.operators.window_aggregate.window_aggregate import WindowAggregate

MOST_SLICES = 64
"""A window whose SLIDE has more slices than this shares nothing: its slices would be too short to save anything."""
FINER_SLICES = 1024
"""A window uses the shorter slices of others if they do not make more than this many of it."""


class Slices:
    """The answers of several windows: the rows of all, and where the rows of each end."""

    def __init__(self, found: Arrays, groups: Integers, ticks: Integers, closes: Integers) -> None:
        self.found = found
        self.groups = groups
        self.ticks = ticks
        self.closes = closes


class SliceStore(SlidingLogic):
    """The slices. `since` is the watermark up to which windows were answered."""

    def __init__(self, spec: WindowAggregate, step: int, shift: int) -> None:
        super().__init__(
            replace(
                spec, start=shift + step, end=shift, slide=step, open_start=True, interval=None, grid=None
            )
        )
        self.step = step
        self.shift = shift
        self._forget_blocks()

    @property
    def since(self) -> int:
        """The watermark up to which everything was answered."""
        return self._since

    @property
    def size(self) -> int:
        """The number of partials held."""
        return len(self._state) + len(self._waiting) + sum(map(len, self._new))

    @operator("an aggregate of windows")
    def check(self) -> None:
        """Refuse to hold more partials than the limit allows."""
        check_kept(self.size)

    @property
    def groups(self) -> int:
        """The number of groups heard of."""
        return len(self._groups)

    def _forget_blocks(self) -> None:
        """The blocks are made again from the slices when they are needed."""
        self._levels = [_Blocks(self._lifting.components) for _ in range(LEVELS - 1)]

    def _hold(self, name: str) -> None:
        super()._hold(name)
        self._forget_blocks()

    @operator("an aggregate of windows")
    def settle(self, watermark: int) -> None:
        """Complete the slices below the watermark, and the blocks of them."""
        self._settle(watermark)
        if watermark == BEGINNING:
            return
        below = self._state.held
        size = self.step
        for block in self._levels:
            size *= RADIX
            until = (watermark - 1 + self.shift) // size * size - self.shift
            if block.built is not None and until <= block.built:
                break
            new = below.between(block.built, until, self._lifting.components)
            if len(new):
                edges = -(-(new.slices + self.shift) // size) * size - self.shift
                block.append(replace(new, slices=edges).reduced(len(self._groups)))
            block.built = until
            below = block.held

    def done(self, watermark: int, reach: int) -> None:
        """Everything below the watermark was answered; no window reaches further back than `reach`."""
        self._since = max(self._since, watermark)
        if watermark > BEGINNING + reach:
            self._state.forget(watermark - reach)
            for block in self._levels:
                block.forget(watermark - reach)
        known = len(self._groups)
        self._forget_groups()
        if len(self._groups) != known:
            self._forget_blocks()

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        super().restore(panes)
        self._forget_blocks()

    def snapshot(self) -> dict[str, bytes]:
        """The panes of an aggregate, and the slices' length and shift."""
        return super().snapshot() | {"slices": json.dumps([self.step, self.shift]).encode()}

    # ---- answers -----------------------------------------------------------------------------------------------------

    @operator("an aggregate of windows")
    def answers(self, ticks: Integers, end: int, reaches: Integers) -> Slices:
        """The answers at these ticks of the windows (T - reach, T - end], from the narrowest to the widest. They are
        grouped by window, and by tick in each."""
        levels = [self._state.held, *(block.held for block in self._levels)]
        names = tuple(level.slices for level in levels)
        built = np.array([0, *(BEGINNING if block.built is None else block.built for block in self._levels)])
        lows = ticks[:, None] - reaches[None, :]
        level, first, last, marks = slice_cover.cover(lows, ticks - end, self.step, self.shift, names, built)
        runs = level, first, last
        groups = tuple(level.groups for level in levels)
        room = len(self._groups)
        counts = tuple(level.values[ROWS] for level in levels)
        total = np.zeros(room, dtype=np.int64)
        walked = (*runs, marks, groups, counts, total, not self._grouped)
        closes, answered, rows = slice_cover.suffix_counts(*walked)
        found: Arrays = {ROWS: rows}
        for c in self._lifting.components:
            if c.name == ROWS:
                continue
            held = tuple(level.values[c.name] for level in levels)
            walk = (*runs, marks, groups, held, filled(c, room), closes, answered)
            if c.operation == SUMS:
                found[c.name] = slice_cover.suffix_sums(*walk)
            else:
                found[c.name] = slice_cover.suffix(c.operation, identity(c), *walk)
        return _by_window(found, answered, ticks, closes)

    def rows_of(self, slices: Slices) -> pl.DataFrame:
        """Answers as rows. Those without a value are set aside."""
        tags = [pl.Series(EVALUATION, slices.ticks), pl.Series(TICK, slices.ticks)]
        known = [*tags, *self._groups.decode(slices.groups)]
        lowered, failing = self._lifting.lower(slices.found)
        rows = pl.DataFrame([*known, *lowered])
        valueless = failing_rows(pl.DataFrame(known), failing)
        return rows if valueless is None else rows.filter(~valueless)


def _by_window(found: Arrays, answered: Integers, ticks: Integers, closes: Integers) -> Slices:
    """Bring answers that are grouped by evaluation into an order by window."""
    evaluations, windows = closes.shape
    counts = np.diff(closes.ravel(), prepend=0).reshape(closes.shape)
    if evaluations == 1:
        at = np.repeat(ticks, counts.sum(axis=1))
        return Slices(found, answered, at, np.cumsum(counts[0]))
    starts = (closes.ravel() - counts.ravel()).reshape(closes.shape).T.ravel()
    lengths = counts.T.ravel()
    ends = np.cumsum(lengths)
    order = np.arange(len(answered)) + np.repeat(starts - (ends - lengths), lengths)
    at = np.repeat(np.tile(ticks, windows), lengths)
    moved = {name: array[..., order] for name, array in found.items()}
    return Slices(moved, answered[order], at, np.cumsum(counts.sum(axis=0)))


def part_of(slices: Slices, start: int, end: int) -> Slices:
    """Some of the answers."""
    found = {name: np.ascontiguousarray(array[..., start:end]) for name, array in slices.found.items()}
    return Slices(found, slices.groups[start:end], slices.ticks[start:end], np.array([end - start]))


class _Blocks:
    """The blocks of one level, in growing arrays. `built` is the edge up to which they are there."""

    def __init__(self, components: Sequence[Component]) -> None:
        self._components = tuple(components)
        self._names: Integers = np.empty(0, dtype=np.int64)
        self._groups: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._values = {c.name: filled(c, 0) for c in self._components}
        self.length = 0
        self.built: int | None = None

    @property
    def held(self) -> Held:
        """The blocks' entries."""
        return Held(self._names[: self.length], self._groups, self._values)

    def append(self, new: Partials) -> None:
        """Append blocks. All are later than those already held."""
        start, end = self.length, self.length + len(new)
        if end > len(self._names):
            self._resize(max(2 * end, 1024))
        self._names[start:end] = new.slices
        self._groups[start:end] = new.groups
        for c in self._components:
            self._values[c.name][..., start:end] = new.values[c.name]
        self.length = end

    def forget(self, low: int) -> None:
        """No window begins before `low` any more."""
        place = int(np.searchsorted(self._names[: self.length], low, side="right"))
        if place < 1024 or 2 * place < self.length:
            return
        kept = self.length - place
        arrays: list[Array] = [self._names, self._groups, *self._values.values()]
        for array in arrays:
            array[..., :kept] = array[..., place : self.length].copy()
        self.length = kept

    def _resize(self, room: int) -> None:
        held = self.length
        names, groups = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int32)
        names[:held], groups[:held] = self._names[:held], self._groups[:held]
        self._names, self._groups = names, groups
        for c in self._components:
            larger = filled(c, room)
            larger[..., :held] = self._values[c.name][..., :held]
            self._values[c.name] = larger


def shareable(spec: WindowAggregate) -> tuple[int, int] | None:
    """The length and the shift of the slices of a window that can share them; None if it cannot."""
    scope = spec.scope
    if not spec.sliding or spec.completeness is not None or scope.period is None or scope.reach is None:
        return None
    if scope.grid is not None and (scope.grid.once or scope.grid.by_calendar):
        return None
    held = Lifting(spec.items, heard=False).components
    if any(c.operation in MERGED or c.size is not None for c in held):
        return None
    length = scope.reach - scope.end
    step = gcd(scope.period, length)
    if length <= 0 or scope.period > MOST_SLICES * step:
        return None
    if scope.period > length and any(map(may_fail, _evaluated(spec))):
        return None  # an expression must not meet the rows between its windows
    return step, (scope.end - scope.offset) % step


def _evaluated(spec: WindowAggregate) -> Iterator[Expression]:
    """The expressions that a row is met with."""
    if spec.predicate is not None:
        yield spec.predicate
    yield from (expression for _, expression in spec.keys)
    yield from (aggregate.argument for _, aggregate in spec.items if aggregate.argument is not None)


def fits_into(scope: Scope, own: tuple[int, int], step: int, shift: int) -> bool:
    """Whether a window with slices of its own could be answered from these."""
    if own == (step, shift):
        return True
    length = (scope.reach or 0) - scope.end
    return own[0] % step == 0 and own[1] % step == shift and length <= FINER_SLICES * step
