"""Group keys <-> small integers: the kernels address groups by their positions in arrays.

The law: equal keys (NULL = NULL) have one code, and `decode(encode(keys))` is `keys`. `renumber` releases the
codes that no partial uses any more, so that the dictionary grows with the groups in the window and not with
all groups ever heard.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.kernels.arrays import Integers
from nilometer.kernels.codes import Codes
from nilometer.operators.blocks import Blocks
from nilometer.operators.frames import Dtypes, concatenate, empty

_CODE = "@group"


class GroupCodes:
    """A dictionary of the current groups. Without key columns there is one group, 0."""

    def __init__(self, columns: Dtypes) -> None:
        self._columns = columns
        self._keys = empty(columns)
        self._blocks = Blocks()
        # A single integer column, such as sensor ids, has its own hash table, which is four times as fast as
        # a join.
        self._integers = Codes() if list(columns.values()) == [pl.Int64()] else None

    def __len__(self) -> int:
        return self._keys.height if self._columns else 1

    def encode(self, keys: pl.DataFrame, height: int) -> Integers:
        """Returns the code of each row's group. New groups get new codes."""
        if not self._columns:
            return np.zeros(height, dtype=np.int64)
        if self._integers is not None:
            return self._encode_integers(self._integers, keys)
        codes = self._lookup(keys)
        if codes.null_count():
            new = keys.filter(codes.is_null()).unique(maintain_order=True)
            self._keys = pl.concat([self._keys, new], rechunk=True)
            codes = self._lookup(keys)
        return codes.to_numpy().astype(np.int64, copy=False)

    def decode(self, codes: Integers) -> list[pl.Series]:
        """Returns the key columns of each code."""
        if self._integers is not None and not self._keys.to_series().null_count():
            column = self._keys.to_series()
            return [pl.Series(column.name, column.to_numpy()[codes])]
        return self._keys[codes].get_columns() if self._columns else []

    def renumber(self, alive: Integers) -> Integers:
        """Keep only these codes (distinct, ascending), renumbered 0, 1, ... Returns the new code of each old
        one, or -1.
        """
        changed = np.full(len(self), -1, dtype=np.int64)
        changed[alive] = np.arange(len(alive), dtype=np.int64)
        self._take(self._keys[alive])
        self._blocks.forget()
        return changed

    def snapshot(self) -> dict[str, bytes]:
        """Returns the dictionary as panes."""
        if not self._columns:
            return {}
        return self._blocks.snapshot(
            "groups", 0, self._keys.height, lambda low, high: self._keys.slice(low, high - low)
        )

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back a snapshot."""
        if self._columns:
            self._take(concatenate(self._blocks.restore("groups", panes), self._columns))

    def _take(self, keys: pl.DataFrame) -> None:
        """Replace the groups by these, in this order."""
        self._keys = keys
        if self._integers is not None:
            self._integers = Codes()
            column = keys.to_series()
            if column.null_count():
                self._integers.null = int(column.is_null().arg_max() or 0)
            known = column.drop_nulls().to_numpy()
            self._integers.assign(known, np.flatnonzero(column.is_not_null().to_numpy()))

    def _encode_integers(self, table: Codes, keys: pl.DataFrame) -> Integers:
        column = keys.to_series()
        known = column.is_not_null().to_numpy() if column.null_count() else None
        values = column if known is None else column.fill_null(0)
        codes, new = table.encode(values.to_numpy(), known)
        if len(new):
            added = pl.DataFrame({column.name: pl.Series(new, dtype=pl.Int64)})
            if table.null is not None and table.null >= self._keys.height:
                place = table.null - self._keys.height
                added = added.with_row_index("@row").select(
                    pl.when(pl.col("@row") != place).then(pl.col(column.name)).alias(column.name)
                )
            self._keys = pl.concat([self._keys, added], rechunk=True)
        return codes

    def _lookup(self, keys: pl.DataFrame) -> pl.Series:
        numbered = self._keys.with_row_index(_CODE)
        found = keys.join(
            numbered, on=list(self._columns), how="left", nulls_equal=True, maintain_order="left"
        )
        return found.get_column(_CODE)
