"""One store of rows for all joins of the same windowed rows, whatever their RANGE: the matches of the widest windows,
each with the place of the narrowest windows that have it.

    rows ─► panes of either side, as far back as the widest window reaches
    evaluations ─► matches of the widest windows ─► ordered by the first of the nested windows that has both rows

`Reach` says how far back the two windows of a join begin. Windows are nested if each reaches at least as far back as the
one before on both sides. A match belongs to the first windows in which both rows are young enough, and to all wider
ones. So the matches of every join are the first ones in that order, and nobody looks for them again.

>>> nested([Reach(3, 3), Reach(1, 9), Reach(5, 5)])
[[Reach(left=1, right=9)], [Reach(left=3, right=3), Reach(left=5, right=5)]]
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from nilometer.kernels.arrays import Integers
from nilometer.kernels.candidates import split
from nilometer.kernels.ranges import between, expand
from nilometer.operators import frames
from nilometer.operators.gathering import gather
from nilometer.operators.join import ROWS_AT_ONCE, WindowsJoin
from nilometer.operators.latest import union_of_ticks
from nilometer.operators.limits import check_built, operator
from nilometer.operators.logic import EVALUATION, TICK
from nilometer.operators.panes import Panes
from nilometer.operators.window_scope import BEGINNING, Scope
from nilometer.types import Schema

_PANES_PER_WINDOW = 16


class Reach(NamedTuple):
    """How far before an evaluation the left and the right window begin."""

    left: int
    right: int


def nested(reaches: Iterable[Reach]) -> list[list[Reach]]:
    """Divide windows into as few lists of nested ones as possible, each from the narrowest to the widest."""
    chains: list[list[Reach]] = []
    for reach in sorted(set(reaches)):
        fitting = [chain for chain in chains if chain[-1].right <= reach.right]
        if fitting:
            max(fitting, key=lambda chain: chain[-1].right).append(reach)
        else:
            chains.append([reach])
    return sorted(chains)


@dataclass(frozen=True)
class Matches:
    """The matches at some evaluations, in one frame: by evaluation, and in each by the windows that have them.
    `ends[e, w]` is the place after the last match of the windows `w` at the evaluation `e`; the first one is at
    `starts[e]`."""

    rows: pl.DataFrame
    starts: Integers
    ends: Integers


class _Side:
    """The rows of one input, sorted by tick."""

    def __init__(self, schema: Schema) -> None:
        self.columns = frames.dtypes(schema)
        self._kept = {TICK: pl.Int64()} | self.columns
        self._panes = Panes(TICK, self._kept, None)
        self._pending: list[pl.DataFrame] = []

    def take(self, rows: pl.DataFrame) -> None:
        self._pending.append(frames.conform(rows, self._kept))

    def settle(self, span: int) -> None:
        """Store the new rows. No pane is longer than a part of the widest window."""
        if self._pending:
            self._panes.span = span // _PANES_PER_WINDOW
            self._panes.append(frames.concatenate(self._pending, self._kept))
            self._pending = []

    def expire(self, bound: int) -> None:
        self._panes.expire(bound)

    def __len__(self) -> int:
        return len(self._panes)

    def seen(self, at: Integers, end: int, reach: int) -> _Seen:
        """The rows of the windows of these evaluations."""
        none = at == BEGINNING
        lows, highs = np.where(none, BEGINNING, at - reach), np.where(none, BEGINNING, at - end)
        known = lows[~none]
        low = int(known.min()) + 1 if len(known) else 0
        rows = self._panes.between(low, int(highs.max()) if len(known) else low - 1)
        ticks = rows.get_column(TICK).to_numpy()
        first, last = between(ticks, lows, highs)
        return _Seen(rows, ticks, at, first, np.where(none, first, np.maximum(last, first)))

    def snapshot(self, prefix: str) -> dict[str, bytes]:
        return self._panes.snapshot(prefix)

    def restore(self, prefix: str, panes: dict[str, bytes]) -> None:
        self._panes.restore(prefix, panes)


@dataclass(frozen=True)
class _Seen:
    """The rows that evaluations see: those from `first` to `last` of `rows`."""

    rows: pl.DataFrame
    ticks: Integers
    at: Integers
    first: Integers
    last: Integers

    @property
    def sizes(self) -> Integers:
        return self.last - self.first

    def window(self, part: slice, ticks: Integers, names: Sequence[str]) -> tuple[pl.DataFrame, Integers]:
        """The rows of some evaluations with the ticks of these, and the age of each row."""
        check_built(float(self.sizes[part].sum()), len(names) + 2)
        owners, members = expand(self.first[part], self.last[part])
        at = pl.Series(ticks[part][owners], dtype=pl.Int64)
        ages = self.at[part][owners] - self.ticks[members]
        found = gather(self.rows.select(names), members)
        return pl.DataFrame([at.alias(EVALUATION), at.alias(TICK), *found]), ages


class WindowMatches:
    """The rows of both sides of a family of joins. `since` is the watermark up to which all were answered."""

    def __init__(self, spec: WindowsJoin) -> None:
        self._spec = spec
        self._matcher = spec.matching.build()
        self._columns = frames.window_dtypes(spec.schema)
        self._sides = (_Side(spec.left), _Side(spec.right))
        self.since = BEGINNING

    @property
    def size(self) -> int:
        """The number of rows held."""
        return sum(map(len, self._sides))

    def update(self, port: int, rows: pl.DataFrame) -> None:
        """Take rows of a stream."""
        self._sides[port].take(rows)

    @operator("a join of windows")
    def settle(self, widest: Reach) -> None:
        """Store the rows that came."""
        for side, reach in zip(self._sides, widest, strict=True):
            side.settle(reach)

    @operator("a join of windows")
    def matches(
        self,
        scopes: tuple[Scope, Scope],
        firsts: tuple[int | None, int | None],
        watermark: int,
        chain: Sequence[Reach],
    ) -> list[Matches]:
        """The matches at the evaluations below the watermark, of windows that are nested in each other, from the
        narrowest to the widest. `scopes` are those of any of them, `firsts` the first ticks of both streams."""
        nothing = np.empty(0, dtype=np.int64)
        listed = [
            scope.evaluations(first, self.since, watermark, nothing)
            for scope, first in zip(scopes, firsts, strict=True)
        ]
        ticks = union_of_ticks(*(pl.Series(each, dtype=pl.Int64) for each in listed))
        if not len(ticks):
            return []
        left, right = (
            side.seen(scope.latest(first, ticks), scope.end, reach)
            for side, scope, first, reach in zip(self._sides, scopes, firsts, chain[-1], strict=True)
        )
        made, total = [], 0
        for part in split(left.sizes + right.sizes, ROWS_AT_ONCE):
            found = self._matched(left, right, part, ticks, chain)
            total += found.rows.height
            check_built(total, len(self._columns))
            made.append(found)
        return made

    def _matched(
        self, left: _Seen, right: _Seen, part: slice, ticks: Integers, chain: Sequence[Reach]
    ) -> Matches:
        lefts, left_ages = left.window(part, ticks, self._spec.left.names)
        rights, right_ages = right.window(part, ticks, self._spec.right.names)
        owners, members = self._matcher.pairs(lefts, rights)
        reaches = np.array(chain, dtype=np.int64)
        # The first windows that reach beyond the age of either row.
        rank = np.maximum(
            np.searchsorted(reaches[:, 0], left_ages[owners], side="right"),
            np.searchsorted(reaches[:, 1], right_ages[members], side="right"),
        )
        at = np.searchsorted(ticks[part], lefts.get_column(TICK).to_numpy()[owners])
        cell = at * len(chain) + rank
        cells = len(ticks[part]) * len(chain)
        if not (cell[:-1] <= cell[1:]).all():
            order = np.argsort(cell, kind="stable")
            owners, members = owners[order], members[order]
        ends = np.cumsum(np.bincount(cell, minlength=cells)).reshape(-1, len(chain))
        starts = np.concatenate([[0], ends[:-1, -1]])
        visible = rights.select(self._spec.right.names)
        joined = pl.DataFrame([*gather(lefts, owners), *gather(visible, members)])
        return Matches(frames.concatenate([joined], self._columns), starts, ends)

    def done(self, watermark: int, needed: tuple[int, int]) -> None:
        """Everything below the watermark was answered. No window sees older rows than `needed` any more."""
        self.since = max(self.since, watermark)
        for side, bound in zip(self._sides, needed, strict=True):
            side.expire(bound)

    def snapshot(self) -> dict[str, bytes]:
        """The rows of both sides, and the watermark."""
        left, right = self._sides
        meta = {"meta": json.dumps({"since": self.since}).encode()}
        return meta | left.snapshot("left") | right.snapshot("right")

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        self.since = json.loads(panes["meta"])["since"]
        for side, prefix in zip(self._sides, ("left", "right"), strict=True):
            side.restore(prefix, panes)
