"""Rows of a stream's recent past, as a sequence of panes: appended, never changed, dropped when no longer
needed.

Design principle 8: the cost of a round depends on its new rows. So a pane holds the rows of one round, sorted
by an order column (the tick, a time, or a row's ordinal). Small neighbours of similar size are merged (as in
a log-structured merge tree), up to `SEALED` rows. So each row is rewritten O(log) times, and a window is held
in a few large panes. The bytes of a pane are made once. Rows at the front of a pane that were taken or have
expired stay there, dead, until the whole pane is dead: a stored pane is not written again because some of its
rows are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from nilometer.kernels.arrays import Booleans, Integers
from nilometer.kernels.stable_order import stable_order
from nilometer.operators.frames import Dtypes, concatenate, from_bytes, to_bytes
from nilometer.operators.gathering import gather
from nilometer.operators.limits import check_kept

SMALL = 1_024
"""Panes of fewer rows are always merged: keeping them apart costs more than rewriting them."""
SEALED = 65_536
"""Panes of more rows are never merged."""


@dataclass
class Pane:
    """Rows in order, of which the first `start` are dead. A reader may cache data derived from the rows in
    `notes`.
    """

    serial: int
    rows: pl.DataFrame
    order: Integers
    start: int = 0
    data: bytes | None = None
    notes: dict[Any, Any] = field(default_factory=dict)

    @property
    def first(self) -> int:
        """The order of the first living row."""
        return int(self.order[self.start])

    @property
    def last(self) -> int:
        """The order of the last row."""
        return int(self.order[-1])

    @property
    def height(self) -> int:
        """The number of living rows."""
        return len(self.order) - self.start

    @property
    def living(self) -> pl.DataFrame:
        """The living rows."""
        return self.rows.slice(self.start) if self.start else self.rows


class Panes:
    """A bag of rows with an Int64 order column without NULLs. `span` bounds the range of that order in one
    pane. `compact` may reduce the rows of panes that were merged.
    """

    def __init__(
        self,
        order: str,
        columns: Dtypes,
        span: int | None,
        compact: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
    ) -> None:
        self._order = order
        self._columns = columns
        self.span = span
        self._compact = compact
        self._panes: list[Pane] = []
        self._serial = 0

    def __len__(self) -> int:
        """The number of rows held."""
        return sum(pane.height for pane in self._panes)

    def __iter__(self) -> Iterator[Pane]:
        """The panes, in the order of their arrival."""
        return iter(self._panes)

    @property
    def begun(self) -> bool:
        """Whether a pane has rows that were taken. If so, `restore` needs the bound up to which they were."""
        return any(pane.start for pane in self._panes)

    def append(self, rows: pl.DataFrame) -> None:
        """Take rows, in any order."""
        if rows.height:
            self.add(self.pane(rows))

    def pane(self, rows: pl.DataFrame) -> Pane:
        """Returns the rows, at least one, as a pane that can be read before it is added."""
        check_kept(len(self) + rows.height)
        self._serial += 1
        return self._make(rows, self._serial - 1)

    def add(self, new: Pane) -> None:
        """Add a pane that `pane` made, and merge it with those before it that are of similar size."""
        while self._panes and self._mergeable(self._panes[-1], new):
            old = self._panes.pop()
            merged = self._sorted(pl.concat([old.living, new.rows], rechunk=True))
            # Under the older one's name: one pane is overwritten, and fewer are deleted.
            new = self._make(merged if self._compact is None else self._compact(merged), old.serial)
        self._panes.append(new)

    def between(self, low: int | None, high: int) -> pl.DataFrame:
        """Returns the rows with low <= order <= high (None: from the beginning), sorted by order."""
        parts = []
        for pane in self._panes:
            if pane.first <= high and (low is None or pane.last >= low):
                start = pane.start if low is None else max(pane.start, int(np.searchsorted(pane.order, low)))
                stop = int(np.searchsorted(pane.order, high, side="right"))
                parts.append(pane.rows.slice(start, stop - start))
        rows = concatenate(parts, self._columns)
        return self._sorted(rows) if len(parts) > 1 else rows

    def take(self, bound: int) -> pl.DataFrame:
        """Removes and returns the rows with order < bound, sorted by order."""
        if not any(pane.first < bound for pane in self._panes):
            return concatenate([], self._columns)
        taken = self.between(None, bound - 1)
        self.expire(bound)
        return taken

    def expire(self, bound: int) -> None:
        """Forget rows with order < bound. Panes with no other rows are dropped at once. In other panes these
        rows are dead and no longer returned.
        """
        kept = []
        for pane in self._panes:
            if pane.last < bound:
                continue
            if pane.first < bound:
                pane.start = int(np.searchsorted(pane.order, bound, side="left"))
            kept.append(pane)
        self._panes = kept

    def retain(self, masks: Iterable[Booleans]) -> None:
        """Forget the living rows that are not in their pane's mask."""
        kept = []
        for pane, mask in zip(self._panes, masks, strict=True):
            if mask.all():
                kept.append(pane)
            elif mask.any():
                kept.append(self._make(pane.living.filter(mask), pane.serial))
        self._panes = kept

    def rewrite(self, change: Callable[[pl.DataFrame], pl.DataFrame], columns: Dtypes | None = None) -> None:
        """Change the rows of every pane, but not their order. `columns` are the new columns, if they
        change.
        """
        self._columns = self._columns if columns is None else columns
        self._panes = [self._make(change(pane.living), pane.serial) for pane in self._panes]

    def snapshot(self, prefix: str) -> dict[str, bytes]:
        """Returns every pane under its name. While a pane lives it keeps its name and, unless it is merged,
        its bytes.
        """
        panes: dict[str, bytes] = {}
        for pane in self._panes:
            if pane.data is None:
                self._save(pane)
            panes[f"{prefix}/{pane.serial:012d}"] = pane.data  # type: ignore[assignment]
        return panes

    def restore(self, prefix: str, panes: dict[str, bytes], bound: int | None = None) -> None:
        """Take back a snapshot with the same prefix. Rows with order < bound had been taken."""
        for name in sorted(panes):
            if name.startswith(prefix + "/"):
                pane = self._make(from_bytes(panes[name]), int(name.removeprefix(prefix + "/")))
                pane.data = panes[name]
                self._panes.append(pane)
        self._serial = max((pane.serial + 1 for pane in self._panes), default=0)
        if bound is not None:
            self.expire(bound)

    def _save(self, pane: Pane) -> None:
        """Make the pane's bytes from its living rows. From then on the rows share the memory of these bytes,
        so that they are held once.
        """
        pane.data = to_bytes(pane.living)
        pane.rows = from_bytes(pane.data)
        pane.order = self._order_of(pane.rows)
        if pane.start:
            pane.start, pane.notes = 0, {}

    def _make(self, rows: pl.DataFrame, serial: int) -> Pane:
        rows = self._sorted(rows)
        return Pane(serial, rows, self._order_of(rows))

    def _order_of(self, rows: pl.DataFrame) -> Integers:
        order: Integers = rows.get_column(self._order).to_numpy()
        return order

    def _sorted(self, rows: pl.DataFrame) -> pl.DataFrame:
        order = rows.get_column(self._order)
        return rows if order.is_sorted() else pl.DataFrame(gather(rows, stable_order(order.to_numpy())))

    def _mergeable(self, old: Pane, new: Pane) -> bool:
        together = old.height + new.height
        if together <= SMALL:
            return True
        if together > SEALED or 2 * new.height < old.height:
            return False
        return self.span is None or max(old.last, new.last) - min(old.first, new.first) <= self.span
