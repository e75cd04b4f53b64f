"""The tuples of SIMILAR that can still be joined with, in panes.

With one window for all sensors, the panes are ordered by time. Where every sensor has its own window (SNJoin
section 4.2.1), the column UNTIL says when a tuple expires. Tuples whose windows are equal to a factor of two
then share panes. A pane is dropped when its last tuple expires, and a few long-lived tuples must not keep
many short-lived ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from nilometer.kernels.arrays import Integers
from nilometer.kernels.near_table import until_of
from nilometer.operators import frames
from nilometer.operators.logic import TIME
from nilometer.operators.panes import Pane, Panes
from nilometer.types import INT_MINIMUM, OwnWindow

UNTIL = "@until"

_PANES_PER_WINDOW = 16
_LONGEST = 2**62


class Recent:
    """Rows of the given columns, and UNTIL where each sensor has its own window."""

    def __init__(self, window: int | OwnWindow, columns: frames.Dtypes) -> None:
        self._window = window
        self.columns = columns if isinstance(window, int) else columns | {UNTIL: pl.Int64()}
        self._sizes: dict[int, Panes] = {}

    def __len__(self) -> int:
        return sum(map(len, self._sizes.values()))

    def __iter__(self) -> Iterator[Pane]:
        """All panes."""
        for size in sorted(self._sizes):
            yield from self._sizes[size]

    def dated(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows with the column UNTIL, where it is used."""
        if isinstance(self._window, int):
            return rows
        until = until_of(rows[TIME].to_numpy(), lengths(rows[self._window.column], self._window.unit))
        return rows.with_columns(pl.Series(UNTIL, until))

    def windows(self, rows: pl.DataFrame) -> int | Integers:
        """How long the rows, which have UNTIL where it is used, can be joined with."""
        if isinstance(self._window, int):
            return self._window
        found: Integers = (rows[UNTIL] - rows[TIME]).to_numpy()
        return found

    def append(self, rows: pl.DataFrame) -> None:
        """Append rows that `dated` returned."""
        if isinstance(self._window, int):
            self._of_size(0).append(rows)
            return
        windows = self.windows(rows)
        sizes = np.frexp(np.maximum(windows, 0).astype(np.float64))[1]
        for size in np.unique(sizes[windows >= 0]).tolist():
            self._of_size(size).append(rows.filter(pl.Series((sizes == size) & (windows >= 0))))

    def reaching(self, first: int) -> Iterator[Pane]:
        """Yields the panes with a row that can be joined with at that time or later."""
        bound = self._bound(first)
        return (pane for pane in self if pane.last >= bound)

    def expire(self, watermark: int) -> None:
        """Drop expired rows: no tuple before the watermark comes any more."""
        bound = self._bound(watermark)
        for panes in self._sizes.values():
            panes.expire(bound)

    def snapshot(self, prefix: str) -> dict[str, bytes]:
        """Returns the rows as panes."""
        found: dict[str, bytes] = {}
        for size, panes in self._sizes.items():
            found |= panes.snapshot(self._named(prefix, size))
        return found

    def restore(self, prefix: str, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""
        if isinstance(self._window, int):
            self._of_size(0).restore(prefix, panes)
            return
        stored = {name.rpartition("/")[0] for name in panes}
        for size in sorted(int(name.rpartition(" ")[2]) for name in stored if name.startswith(f"{prefix} ")):
            self._of_size(size).restore(self._named(prefix, size), panes)

    def _named(self, prefix: str, size: int) -> str:
        return prefix if isinstance(self._window, int) else f"{prefix} {size}"

    def _bound(self, time: int) -> int:
        """The least order of the rows that a tuple of this time can be joined with."""
        return max(time - self._window, INT_MINIMUM) if isinstance(self._window, int) else time

    def _of_size(self, size: int) -> Panes:
        if size not in self._sizes:
            order, window = (TIME, self._window) if isinstance(self._window, int) else (UNTIL, 1 << size)
            self._sizes[size] = Panes(order, self.columns, window // _PANES_PER_WINDOW)
        return self._sizes[size]


def lengths(counts: pl.Series, unit: int) -> Integers:
    """Converts counts of units to microseconds. NULL and negative counts become -1, which means no window at
    all.

    >>> lengths(pl.Series([1.5, None, -3.0, float("inf")]), 1_000_000).tolist()
    [1500000, -1, -1, 4611686018427387904]
    """
    if counts.dtype.is_float():
        with np.errstate(over="ignore"):  # an overflow means the longest window
            exact = counts.fill_null(-1).to_numpy() * float(unit)
        return np.rint(np.clip(exact, -1, float(_LONGEST))).astype(np.int64)
    most = _LONGEST // unit
    whole: Integers = np.clip(counts.fill_null(-1).cast(pl.Int64).to_numpy(), -1, most) * unit
    return np.maximum(whole, -1)
