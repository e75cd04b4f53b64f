"""Numbers for pairs of a source and a class, and how each pair's readings stood when that was last told."""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.kernels.arrays import Integers
from nilometer.operators import frames
from nilometer.operators.logic import ID, TICK

CLASS = "@class"
KEY = "@key"
X, Y = "@x", "@y"
_STATE = ("n", "sum", "low", "high", X, Y)
_MANY = 1_024


class Keys:
    """Keys 0, 1, ... of (ID, CLASS). A key without readings that is no candidate is forgotten in time."""

    def __init__(self, id_dtype: pl.DataType, class_dtype: pl.DataType) -> None:
        named: frames.Dtypes = {ID: id_dtype, CLASS: class_dtype}
        self._named = frames.empty(named | {KEY: pl.Int64()})
        self._told_columns = named | {"n": pl.Int64()} | {name: pl.Float64() for name in _STATE[1:]}
        self._told = frames.empty(self._told_columns)
        self._saved = frames.Saved()

    def numbers(self, pairs: pl.DataFrame) -> Integers:
        """The keys of pairs (ID, CLASS); new pairs get new ones."""
        found = pairs.join(self._named, on=[ID, CLASS], how="left", maintain_order="left", nulls_equal=True)
        missing = found[KEY].null_count()
        if missing:
            new = found.filter(pl.col(KEY).is_null()).select(ID, CLASS).unique(maintain_order=True)
            start = self._named.height
            new = new.with_columns(pl.int_range(start, start + new.height, dtype=pl.Int64).alias(KEY))
            self._named = pl.concat([self._named, new])
            found = pairs.join(self._named, on=[ID, CLASS], how="left", maintain_order="left")
        return found[KEY].to_numpy()

    def named(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with a KEY, with its ID and CLASS."""
        places = rows[KEY]
        return rows.with_columns(self._named[ID].gather(places), self._named[CLASS].gather(places))

    def of_sources(self, sources: pl.DataFrame) -> pl.DataFrame:
        """The rows of sources (ID) once for each of their keys."""
        return sources.join(self._named, on=ID)

    def changed(self, now: pl.DataFrame) -> pl.DataFrame:
        """The states, by key and tick, that differ from the one before of the same key; they count as told."""
        columns = [KEY, TICK, ID, CLASS, *_STATE]
        numbers = self.numbers(self._told.select(ID, CLASS))
        told = self._told.with_columns(pl.Series(KEY, numbers, dtype=pl.Int64))
        asked = now.select(KEY).unique()
        before = told.join(asked, on=KEY, how="semi").with_columns(pl.lit(None, dtype=pl.Int64).alias(TICK))
        every = pl.concat([before.select(columns), now.select(columns)]).sort(KEY, TICK, nulls_last=False)
        first = (pl.col(KEY) != pl.col(KEY).shift(1)).fill_null(True)
        same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift(1)) for name in _STATE)
        off = pl.col("n") == 0
        quiet = pl.when(first).then(off).otherwise(same | (off & (pl.col("n").shift(1) == 0)))
        rows = every.filter(~quiet & pl.col(TICK).is_not_null())
        last = every.group_by(KEY, maintain_order=True).last().filter(~off)
        others = told.join(asked, on=KEY, how="anti")
        own = list(self._told_columns)
        self._told = pl.concat([others.select(own), last.select(own)]).sort(ID, CLASS)
        return rows

    def renumbered(self, used: Integers) -> Integers | None:
        """If most keys are of no use: new numbers for the old ones, in their order."""
        if self._named.height < _MANY:
            return None
        alive = np.zeros(self._named.height, dtype=np.bool_)
        alive[used] = True
        alive[self.numbers(self._told.select(ID, CLASS))] = True
        if 2 * int(alive.sum()) > self._named.height:
            return None
        numbers = np.cumsum(alive) - 1
        self._named = self._named.filter(pl.Series(alive)).with_columns(
            pl.int_range(int(alive.sum()), dtype=pl.Int64).alias(KEY)
        )
        return numbers

    def snapshot(self) -> dict[str, bytes]:
        """Returns what was told, as a pane; the numbers follow from the slices."""
        return {"told": self._saved(self._told)}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Take back what `snapshot` gave."""
        self._told = self._saved.load(panes["told"])
