"""A stream's recent rows in arrival order, under permanent numbers: appended at the end, forgotten from the
front.

The rows are in one frame, which grows in place, so that a row is found by its number. Forgotten rows are cut
off when they are more than half. For snapshots the rows are cut into panes, whose bytes are made once. Small
neighbours are merged as in panes.py.

>>> store = RowStore({"x": pl.Int64()})
>>> store.append(pl.DataFrame({"x": [10, 20, 30]}))
>>> store.forget(2)
>>> store.base, store.rows["x"].to_list(), store.end
(2, [30], 3)
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from nilometer.operators.frames import Dtypes, concatenate, empty, from_bytes, to_bytes
from nilometer.operators.limits import check_kept
from nilometer.operators.panes import SEALED, SMALL


@dataclass
class _Piece:
    """Rows `first` to `end` - 1, under a serial number. `data` is set once the bytes have been requested."""

    serial: int
    first: int
    end: int
    data: bytes | None = None


class RowStore:
    """Rows with these columns."""

    def __init__(self, columns: Dtypes) -> None:
        self._columns = columns
        self._rows = empty(columns)
        self._base = 0
        self._first = 0
        self._pieces: list[_Piece] = []
        self._serial = 0

    @property
    def end(self) -> int:
        """The number that the next row will have."""
        return self._base + self._rows.height

    @property
    def rows(self) -> pl.DataFrame:
        """The rows from number `base` on."""
        return self._rows

    @property
    def base(self) -> int:
        """The number of the first row in `rows`."""
        return self._base

    def append(self, rows: pl.DataFrame) -> None:
        """Append rows."""
        check_kept(self._rows.height + rows.height)
        first = self.end
        self._rows = rows.clone() if not self._rows.height else self._rows.extend(rows)
        self._pieces.append(_Piece(self._serial, first, self.end))
        self._serial += 1
        while len(self._pieces) > 1 and self._mergeable(*self._pieces[-2:]):
            new, old = self._pieces.pop(), self._pieces.pop()
            # Under the older one's name: one pane is overwritten, and fewer are deleted.
            self._pieces.append(_Piece(old.serial, old.first, new.end))

    def forget(self, first: int) -> None:
        """Forget the rows with smaller numbers than `first`."""
        self._first = max(first, self._first)
        self._pieces = [piece for piece in self._pieces if piece.end > self._first]
        if 2 * (self._first - self._base) > self._rows.height:
            self._rows = self._rows.slice(self._first - self._base).rechunk()
            self._base = self._first

    def snapshot(self, prefix: str) -> dict[str, bytes]:
        """Returns every pane under its name. While a pane lives it keeps its name and, unless it is merged,
        its bytes.
        """
        for piece in self._pieces:
            if piece.data is None:
                first = max(piece.first, self._first)
                piece.data = to_bytes(self._rows.slice(first - self._base, piece.end - first))
        return {f"{prefix}/{piece.serial:012d}": piece.data for piece in self._pieces if piece.data}

    def restore(self, prefix: str, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave under the same prefix."""
        names = sorted(name for name in panes if name.startswith(prefix + "/"))
        parts = [from_bytes(panes[name]) for name in names]
        for name, part in zip(names, parts, strict=True):
            serial, first = int(name.removeprefix(prefix + "/")), self._pieces[-1].end if self._pieces else 0
            self._pieces.append(_Piece(serial, first, first + part.height, panes[name]))
            self._serial = serial + 1
        self._rows = concatenate(parts, self._columns).rechunk()

    def _mergeable(self, old: _Piece, new: _Piece) -> bool:
        together = new.end - max(old.first, self._first)
        if together <= SMALL:
            return True
        return together <= SEALED and 2 * (new.end - new.first) >= old.end - old.first
