"""Rows of a stream's recent past, as a sequence of panes: appended, never changed, dropped when nobody needs them.

Design principle 8: a round costs what is new in it, so a pane is what a round brought, sorted by an order column (the tick, or
a row's ordinal). Small neighbours are merged when they are of like size (as a log-structured merge tree does), so
each row is rewritten O(log) times and a window is held in few, fat panes. The bytes of a pane are made once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from nilometer.operators.frames import Dtypes, concatenate, from_bytes, to_bytes

_SMALL = 4_096
"""Panes of fewer rows are always merged: they cost more to keep apart than to rewrite."""


@dataclass
class _Pane:
    serial: int
    rows: pl.DataFrame
    first: int
    last: int
    data: bytes | None = None


class Panes:
    """A bag of rows with an Int64 order column without NULLs; `span` bounds how much of that order a pane may cover;
    `compact` may make fewer rows of those that have been merged."""

    def __init__(
        self,
        order: str,
        columns: Dtypes,
        span: int | None,
        compact: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
    ) -> None:
        self._order = order
        self._columns = columns
        self._span = span
        self._compact = compact
        self._panes: list[_Pane] = []
        self._serial = 0

    def __len__(self) -> int:
        """The number of rows held."""
        return sum(pane.rows.height for pane in self._panes)

    def append(self, rows: pl.DataFrame) -> None:
        """Take rows, in any order."""
        if rows.height == 0:
            return
        new = self._make(rows)
        while self._panes and self._mergeable(self._panes[-1], new):
            merged = self._sorted(pl.concat([self._panes.pop().rows, new.rows], rechunk=True))
            new = self._make(merged if self._compact is None else self._compact(merged))
        self._panes.append(new)

    def between(self, low: int | None, high: int) -> pl.DataFrame:
        """The rows with low <= order <= high (None: from the beginning), sorted by it."""
        parts = []
        for pane in self._panes:
            if pane.first <= high and (low is None or pane.last >= low):
                ticks = pane.rows.get_column(self._order).to_numpy()
                start = 0 if low is None else int(np.searchsorted(ticks, low, side="left"))
                stop = int(np.searchsorted(ticks, high, side="right"))
                parts.append(pane.rows.slice(start, stop - start))
        rows = concatenate(parts, self._columns)
        return self._sorted(rows) if len(parts) > 1 else rows

    def take(self, bound: int) -> pl.DataFrame:
        """Remove and give the rows with order < bound, sorted by it."""
        taken = self.between(None, bound - 1)
        self.expire(bound, exactly=True)
        return taken

    def expire(self, bound: int, *, exactly: bool = False) -> None:
        """Forget rows with order < bound: whole panes, and those mostly forgotten (with `exactly` every such row)."""
        kept = []
        for pane in self._panes:
            if pane.last < bound:
                continue
            if pane.first < bound:
                ticks = pane.rows.get_column(self._order).to_numpy()
                start = int(np.searchsorted(ticks, bound, side="left"))
                if exactly or 2 * start > pane.rows.height:
                    # A copy, so that the memory of the rest is given back.
                    pane = self._make(pl.concat([pane.rows.slice(start)], rechunk=True).clone())
            kept.append(pane)
        self._panes = kept

    def rewrite(self, change: Callable[[pl.DataFrame], pl.DataFrame], columns: Dtypes | None = None) -> None:
        """Change the rows of every pane, but not their order; `columns` if they become others."""
        self._columns = self._columns if columns is None else columns
        self._panes = [self._make(change(pane.rows)) for pane in self._panes]

    def snapshot(self, prefix: str) -> dict[str, bytes]:
        """Every pane under its name; a pane keeps its name and bytes as long as it lives."""
        panes: dict[str, bytes] = {}
        for pane in self._panes:
            if pane.data is None:
                pane.data = to_bytes(pane.rows)
            panes[f"{prefix}/{pane.serial:012d}"] = pane.data
        return panes

    def restore(self, prefix: str, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave under the same prefix."""
        for name in sorted(panes):
            if name.startswith(prefix + "/"):
                pane = self._make(from_bytes(panes[name]))
                pane.serial = int(name.removeprefix(prefix + "/"))
                pane.data = panes[name]
                self._panes.append(pane)
        self._serial = max((pane.serial + 1 for pane in self._panes), default=0)

    def _make(self, rows: pl.DataFrame) -> _Pane:
        rows = self._sorted(rows)
        order = rows.get_column(self._order)
        pane = _Pane(self._serial, rows, order[0], order[-1])
        self._serial += 1
        return pane

    def _sorted(self, rows: pl.DataFrame) -> pl.DataFrame:
        order = rows.get_column(self._order)
        return rows if order.is_sorted() else rows.sort(self._order, maintain_order=True)

    def _mergeable(self, old: _Pane, new: _Pane) -> bool:
        if old.rows.height + new.rows.height <= _SMALL:
            return True
        covered = max(old.last, new.last) - min(old.first, new.first)
        return 2 * new.rows.height >= old.rows.height and (self._span is None or covered <= self._span)
