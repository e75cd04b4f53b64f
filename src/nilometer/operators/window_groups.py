"""Group keys <-> small whole numbers: the kernels know groups as positions in arrays.

The law: equal keys (NULL = NULL) have one code, and `decode(encode(keys))` is `keys`. Codes that no partial mentions any more are
given up by `renumber`, so that the dictionary is as large as what is in the window, not as what was ever heard.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.kernels.ranges import Integers
from nilometer.operators.frames import Dtypes, empty, from_bytes, to_bytes

_CODE = "@group"


class GroupCodes:
    """A dictionary of the groups there are; without key columns there is one group, 0."""

    def __init__(self, columns: Dtypes) -> None:
        self._columns = columns
        self._keys = empty(columns)
        self._data: bytes | None = None

    def __len__(self) -> int:
        return self._keys.height if self._columns else 1

    def encode(self, keys: pl.DataFrame, height: int) -> Integers:
        """The code of each row's group, new groups getting new ones."""
        if not self._columns:
            return np.zeros(height, dtype=np.int64)
        codes = self._lookup(keys)
        if codes.null_count():
            new = keys.filter(codes.is_null()).unique(maintain_order=True)
            self._keys = pl.concat([self._keys, new], rechunk=True)
            self._data = None
            codes = self._lookup(keys)
        return codes.to_numpy().astype(np.int64, copy=False)

    def decode(self, codes: Integers) -> list[pl.Series]:
        """The key columns of each code."""
        return self._keys[codes].get_columns() if self._columns else []

    def renumber(self, alive: Integers) -> Integers:
        """Keep these codes alone (distinct, ascending), as 0, 1, ...; returns the new code of each old one, else -1."""
        changed = np.full(len(self), -1, dtype=np.int64)
        changed[alive] = np.arange(len(alive), dtype=np.int64)
        self._keys = self._keys[alive]
        self._data = None
        return changed

    def snapshot(self) -> dict[str, bytes]:
        """The dictionary, as one pane."""
        if not self._columns:
            return {}
        if self._data is None:
            self._data = to_bytes(self._keys)
        return {"groups": self._data}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        if self._columns:
            self._keys = from_bytes(panes["groups"])
            self._data = panes["groups"]

    def _lookup(self, keys: pl.DataFrame) -> pl.Series:
        numbered = self._keys.with_row_index(_CODE)
        found = keys.join(
            numbered, on=list(self._columns), how="left", nulls_equal=True, maintain_order="left"
        )
        return found.get_column(_CODE)
