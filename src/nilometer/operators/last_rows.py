"""The last rows of each key, in layers: a round writes only the keys that it touched.

This is a log-structured merge tree of small depth. A newer layer's rows of a key replace all older ones.
Layers of similar size are merged, as panes are (panes.py), so that there are few of them and each row is
rewritten O(log) times. The law: `of(keys)` returns, for each of these keys, the rows of the last `put` that
had the key, NULL = NULL. Without key columns there is one key.

>>> last = LastRows(["k"], {"k": pl.Int64(), "at": pl.Int64()}, "at")
>>> last.put(pl.DataFrame({"k": [1, 2], "at": [10, 11]}))
>>> last.put(pl.DataFrame({"k": [2], "at": [12]}))
>>> last.of(pl.DataFrame({"k": [2, 3]})).rows()
[(2, 12)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from nilometer.operators.frames import Dtypes, concatenate, from_bytes, to_bytes
from nilometer.operators.panes import SMALL


@dataclass
class _Layer:
    serial: int
    rows: pl.DataFrame
    latest: int
    data: bytes | None = None


class LastRows:
    """Rows with these columns. `order` names an Int64 column by which rows expire."""

    def __init__(self, keys: Sequence[str], columns: Dtypes, order: str) -> None:
        self._keys = list(keys)
        self._columns = columns
        self._order = order
        self._layers: list[_Layer] = []
        self._serial = 0
        self._bound: int | None = None

    def __len__(self) -> int:
        """The number of rows kept, expired and replaced ones included."""
        return sum(layer.rows.height for layer in self._layers)

    def of(self, keys: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows of these keys, which may repeat."""
        found = []
        wanted = keys.unique(maintain_order=True) if self._keys else keys
        for layer in reversed(self._layers):
            if not self._keys:
                return layer.rows
            if not wanted.height:
                break
            rows = layer.rows.join(wanted, on=self._keys, how="semi", nulls_equal=True, maintain_order="left")
            if rows.height:
                found.append(rows)
                wanted = wanted.join(rows, on=self._keys, how="anti", nulls_equal=True, maintain_order="left")
        return concatenate(found, self._columns)

    def put(self, rows: pl.DataFrame) -> None:
        """Replace all rows of the keys in `rows` by these rows."""
        if not rows.height:
            return
        if not self._keys:
            self._layers = []
        new = self._layer(rows.select(*self._columns), self._serial)
        self._serial += 1
        while self._layers and self._mergeable(self._layers[-1], new):
            old = self._layers.pop()
            kept = old.rows.join(new.rows, on=self._keys, how="anti", nulls_equal=True, maintain_order="left")
            merged = concatenate([self._young(kept), new.rows], self._columns)
            new = self._layer(merged, old.serial)
        self._layers.append(new)

    def expire(self, bound: int) -> None:
        """Mark rows with order < bound as expired. They may stay for a while."""
        self._bound = bound
        self._layers = [layer for layer in self._layers if layer.latest >= bound]

    def snapshot(self, prefix: str) -> dict[str, bytes]:
        """Returns every layer under its name."""
        panes: dict[str, bytes] = {}
        for layer in self._layers:
            if layer.data is None:
                layer.data = to_bytes(layer.rows)
            panes[f"{prefix}/{layer.serial:012d}"] = layer.data
        return panes

    def restore(self, prefix: str, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave under the same prefix."""
        for name in sorted(panes):
            if name.startswith(prefix + "/"):
                layer = self._layer(from_bytes(panes[name]), int(name.removeprefix(prefix + "/")))
                layer.data = panes[name]
                self._layers.append(layer)
        self._serial = max((layer.serial + 1 for layer in self._layers), default=0)

    def _layer(self, rows: pl.DataFrame, serial: int) -> _Layer:
        latest = int(rows.get_column(self._order).max())  # type: ignore[arg-type]
        return _Layer(serial, rows, latest)

    def _young(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows if self._bound is None else rows.filter(pl.col(self._order) >= self._bound)

    def _mergeable(self, old: _Layer, new: _Layer) -> bool:
        return old.rows.height + new.rows.height <= SMALL or 2 * new.rows.height >= old.rows.height
